// Interface that takes pictures out of a file, small enough for a language model that looks at them. Implemented by
// adapters/ocr in a child process, because decoders of pictures read hostile files.

/** A picture as JPEG, at most 1,024 pixels wide and high. */
export interface SmallPicture {
  readonly id: string;
  /** In base64. */
  readonly jpeg: string;
}

/** The file whose pictures are taken out. */
export interface ShrinkRequest {
  readonly path: string;
  readonly mediaType: string;
  /** Ids of the pictures, as `UnreadPictures` names them. */
  readonly ids: readonly string[];
}

/** Takes pictures out of files. */
export interface PictureShrinker {
  /**
   * The pictures that can be decoded and are large enough to show something, in order; fewer if they take too much time
   * or memory.
   * @throws signal.reason
   */
  shrink(request: ShrinkRequest, signal: AbortSignal): Promise<readonly SmallPicture[]>;
}
