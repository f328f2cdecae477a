// Reads multipart/form-data bodies (RFC 7578) as a stream, one part after the other. upload.ts decides what the parts
// mean and how long each may be.

import Busboy, { type BusboyInstance } from "@fastify/busboy";
import { Fault } from "../domain/fault.ts";
import { mediaTypeIn } from "../kit/media-type.ts";

/** One part of a form. */
export interface FormPart {
  /** Name of the form field; empty if the part has none. */
  readonly name: string;
  /** File name without folders; null if the part is not a file. */
  readonly filename: string | null;
  /** Media type that the sender named; null if it named none. */
  readonly mediaType: string | null;
  /** The bytes of the part; can be read once. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The limits of a form. */
export interface FormLimits {
  /** Maximum number of bytes of the whole body. */
  readonly bytes: number;
  readonly parts: number;
}

/** Maximum number of header lines of one part, and of their bytes in total; three lines are usual. */
const HEADERS_MAX = 16;
const HEADER_BYTES_MAX = 8 * 1024;
/** Number of bytes of a part that are buffered before reading pauses. */
const PART_BUFFER_BYTES = 256 * 1024;

/**
 * Passes the parts of a form to `take`, one at a time and in order. Reading waits for `take` to consume the bytes, so
 * at most a few hundred kilobytes are in memory. An error from `take` ends the reading and is rethrown.
 * @throws Fault `unsupported_media_type` (not a form), `payload_too_large`, `invalid_request` (no boundary, too many
 *   parts, a part with a transfer encoding, body cut off)
 */
export async function readForm(
  request: Request,
  limits: FormLimits,
  take: (part: FormPart) => Promise<void>,
): Promise<void> {
  requireForm(request);
  if (Number(request.headers.get("content-length") ?? 0) > limits.bytes) throw tooLarge(limits);
  const parser = parserOf(request, limits);
  if (request.signal.aborted || request.body === null) throw cutOff(request.signal.reason);
  const reading = new Reading(parser, (request.body as ReadableStream<Uint8Array>).getReader(), limits, take);
  const onHangUp = () => reading.fail(cutOff(request.signal.reason));
  request.signal.addEventListener("abort", onHangUp, { once: true });
  try {
    await reading.run();
  } finally {
    request.signal.removeEventListener("abort", onHangUp);
  }
}

type Piece = { readonly done: false; readonly value: Uint8Array } | { readonly done: true; readonly value?: unknown };
type PieceReader = { read(): Promise<Piece>; cancel(reason: unknown): Promise<void> };

/**
 * Reads one form. A failure ends the current wait directly. Promise.race is not used: its pending promise would stay in
 * memory, and with it the whole file, until it settles.
 */
class Reading {
  readonly #opened: { destroy(error?: Error): unknown }[] = [];
  #turn: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | null = null;
  #endWait: () => void = () => undefined;

  constructor(
    private readonly parser: BusboyInstance,
    private readonly body: PieceReader,
    private readonly limits: FormLimits,
    take: (part: FormPart) => Promise<void>,
  ) {
    parser.on("file", (name: string | undefined, stream, filename: string | undefined, encoding, mediaType) => {
      this.#opened.push(stream);
      stream.on("error", (cause) => this.fail(cutOff(cause)));
      this.#turn = this.#turn.then(async () => {
        if (this.#failure !== null) return;
        try {
          refuseEncoded(name ?? "", encoding);
          await take({ name: name ?? "", filename: filename ?? null, mediaType: mediaType || null, bytes: stream });
        } catch (error) {
          this.fail(error);
        }
      });
    });
    parser.on("filesLimit", () => this.fail(tooManyParts(limits)));
    parser.on("error", (cause) => this.fail(cutOff(cause)));
  }

  /** Ends the reading with this error. Later errors follow from the first and are ignored. */
  fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    for (const stream of this.#opened) stream.destroy(new Error("reading the form was aborted"));
    // It does not matter whether cancelling works; the caller may continue to send.
    this.body.cancel(error).catch((late: unknown) => late);
    this.#endWait();
  }

  /** Resolves when `take` has consumed all parts. */
  async run(): Promise<void> {
    try {
      await this.#feed();
    } catch (error) {
      this.fail(error);
    }
    await this.#turn;
    if (this.#failure !== null) throw this.#failure.error;
  }

  async #feed(): Promise<void> {
    for (let bytes = 0; this.#failure === null; ) {
      const { done, value } = await this.#next();
      if (done) break;
      bytes += value.byteLength;
      if (bytes > this.limits.bytes) throw tooLarge(this.limits);
      if (this.#failure === null && !this.parser.write(value)) await this.#wait("drain");
    }
    if (this.#failure !== null) return;
    const finished = this.#wait("finish");
    this.parser.end();
    await finished;
  }

  // Reads the next bytes. A broken connection counts as a form that was cut off.
  async #next(): Promise<Piece> {
    try {
      return await this.body.read();
    } catch (cause) {
      throw cutOff(cause);
    }
  }

  #wait(event: "drain" | "finish"): Promise<void> {
    return new Promise((resolve) => {
      this.#endWait = resolve;
      this.parser.once(event, resolve);
    });
  }
}

function requireForm(request: Request): void {
  const mediaType = mediaTypeIn(request.headers.get("content-type") ?? "");
  if (mediaType === "multipart/form-data") return;
  throw new Fault(
    "unsupported_media_type",
    `Send the file as multipart/form-data in the field 'file', not '${mediaType}'.`,
    { param: "Content-Type" },
  );
}

function parserOf(request: Request, limits: FormLimits): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": request.headers.get("content-type") ?? "" },
      // Every part is read as raw bytes, because busboy's decoding of fields replaces bytes that are not UTF-8.
      isPartAFile: () => true,
      fileHwm: PART_BUFFER_BYTES,
      limits: { files: limits.parts, headerPairs: HEADERS_MAX, headerSize: HEADER_BYTES_MAX },
    });
  } catch (cause) {
    throw new Fault(
      "invalid_request",
      "The Content-Type of a form must name its boundary: multipart/form-data; boundary=…",
      {
        param: "Content-Type",
        cause,
      },
    );
  }
}

// Refuses parts with a transfer encoding, which RFC 7578, 4.7 deprecates. Nothing decodes them here, so the encoded
// text would be stored.
function refuseEncoded(name: string, encoding: string): void {
  if (["7bit", "8bit", "binary"].includes(encoding)) return;
  throw new Fault(
    "invalid_request",
    `The part '${name.slice(0, 64)}' has the transfer encoding ${encoding.slice(0, 64)}. Send it without one.`,
    {
      param: name,
    },
  );
}

function tooLarge(limits: FormLimits): Fault {
  return new Fault("payload_too_large", `The form is larger than ${limits.bytes} bytes. Send a smaller file.`, {
    param: "file",
  });
}

function tooManyParts(limits: FormLimits): Fault {
  return new Fault(
    "invalid_request",
    `A form holds at most ${limits.parts} parts. Send one file and each field once.`,
    {
      param: "file",
    },
  );
}

function cutOff(cause: unknown): Fault {
  return new Fault("invalid_request", "The form was cut off before its end.", { param: "file", cause });
}
