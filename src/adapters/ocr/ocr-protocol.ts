// The protocol between the server and the child process that recognises the text of a file's pictures, or makes small
// JPEGs of them. The request is one line of JSON on standard input. On standard output, there is one line of JSON per
// picture, in the order of the request (for texts, see documents/recognition.ts). Other lines come from libraries and
// are ignored.

/** A request for small JPEGs of pictures, one line of JSON each (ports/picture-shrinker.ts). */
export interface JpegRequest {
  readonly path: string;
  readonly mediaType: string;
  readonly ids: readonly string[];
}

/** A request for the texts of pictures. */
export interface OcrRequest {
  readonly path: string;
  readonly mediaType: string;
  readonly ids: readonly string[];
  /** Paths of the models. */
  readonly detection: string;
  readonly recognition: string;
}
