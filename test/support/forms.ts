// Multipart forms with files, built part by part so that a test can send invalid ones, and streamed so that a large one
// is never in memory as a whole.

/** One part of a form; a part without filename is a field. */
export interface Part {
  readonly name?: string;
  readonly filename?: string;
  readonly content: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Additional header lines, sent as they are. */
  readonly headers?: readonly string[];
}

const BOUNDARY = "----mneme-test-0123456789";

/** Options of a form. */
export interface FormOptions {
  /** Replaces the correct content type. */
  readonly contentType?: string;
  /** Value of the header `content-length`. The header is not sent without this option. */
  readonly contentLength?: number;
  /** Number of bytes after which the form is cut off. */
  readonly cutAt?: number;
  /** Size in bytes of the pieces in which the form is sent. */
  readonly pieceBytes?: number;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes a request with these parts as a form. */
export function formRequest(url: string, parts: readonly Part[], options: FormOptions = {}): Request {
  const { contentType = `multipart/form-data; boundary=${BOUNDARY}`, contentLength, signal, headers } = options;
  return new Request(url, {
    method: "POST",
    headers: {
      "content-type": contentType,
      ...(contentLength !== undefined && { "content-length": String(contentLength) }),
      ...headers,
    },
    body: streamOf(cut(pieces(parts, options.pieceBytes), options.cutAt)),
    ...(signal !== undefined && { signal }),
  });
}

/** A form with one file and these fields. */
export function fileForm(
  filename: string,
  content: string | Uint8Array,
  fields: Readonly<Record<string, string>> = {},
): readonly Part[] {
  const others = Object.entries(fields).map(([name, text]) => ({ name, content: text }));
  return [...others, { name: "file", filename, content }];
}

/** Lines of text, `bytes` bytes in total, generated piece by piece while they are read. */
export async function* lines(bytes: number): AsyncGenerator<Uint8Array> {
  const piece = Buffer.from("The committee met on Tuesday to discuss the budget.\n".repeat(1_280));
  for (let left = bytes; left > 0; left -= piece.byteLength) {
    yield left >= piece.byteLength ? piece : piece.subarray(0, left);
  }
}

function streamOf(all: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await all.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => {
      await all.return(undefined);
    },
  });
}

async function* pieces(parts: readonly Part[], pieceBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (const { name, filename, content, headers = [] } of parts) {
    const disposition =
      name === undefined
        ? []
        : [`Content-Disposition: form-data; name="${name}"${filename === undefined ? "" : `; filename="${filename}"`}`];
    yield Buffer.from(`--${BOUNDARY}\r\n${[...disposition, ...headers].join("\r\n")}\r\n\r\n`);
    if (typeof content === "string" || content instanceof Uint8Array) {
      const bytes = Buffer.from(content);
      for (let at = 0; at < bytes.byteLength; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
    } else yield* content;
    yield Buffer.from("\r\n");
  }
  yield Buffer.from(`--${BOUNDARY}--\r\n`);
}

async function* cut(all: AsyncIterable<Uint8Array>, bytesMax = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array> {
  let left = bytesMax;
  for await (const piece of all) {
    yield piece.subarray(0, left);
    left -= piece.byteLength;
    if (left <= 0) return;
  }
}
