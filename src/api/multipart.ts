// Reads forms (multipart/form-data, RFC 7578) while they stream in: part after part, each handed on as it arrives. What the
// parts mean, and how long each may be, is upload.ts's question.

import Busboy, { type BusboyInstance } from "@fastify/busboy";
import { Fault } from "../domain/fault.ts";

/** One part of a form. */
export interface FormPart {
  /** Empty where the part has none. */
  readonly name: string;
  /** Without folders; null where the part is no file. */
  readonly filename: string | null;
  /** Its bytes, once. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** How much a form may hold. */
export interface FormLimits {
  /** All of the body. */
  readonly bytes: number;
  readonly parts: number;
}

/** Header lines of one part, and their bytes in all: three are usual. */
const HEADERS_MAX = 16;
const HEADER_BYTES_MAX = 8 * 1024;
/** Bytes of a part that wait until they are taken. */
const PART_BUFFER_BYTES = 256 * 1024;

/**
 * Hands the parts of a form to `take`, one after the other and in their order, at the pace at which it takes their bytes: no
 * more than a few hundred kilobytes are in memory. What `take` throws ends the reading and is thrown on.
 * @throws Fault `unsupported_media_type` (no form), `payload_too_large`, `invalid_request` (no boundary, too many parts, cut off)
 */
export async function readForm(
  request: Request,
  limits: FormLimits,
  take: (part: FormPart) => Promise<void>,
): Promise<void> {
  refuseOtherBodies(request);
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
 * One form on its way in. A failure ends every wait instead of racing with it: what has lost a race stays in memory as long
 * as the winner may still come, and that would be the whole file.
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
    parser.on("file", (name: string | undefined, stream, filename: string | undefined, encoding) => {
      this.#opened.push(stream);
      stream.on("error", (cause) => this.fail(cutOff(cause)));
      this.#turn = this.#turn.then(async () => {
        if (this.#failure !== null) return;
        try {
          refuseEncoded(name ?? "", encoding);
          await take({ name: name ?? "", filename: filename ?? null, bytes: stream });
        } catch (error) {
          this.fail(error);
        }
      });
    });
    parser.on("filesLimit", () => this.fail(tooManyParts(limits)));
    parser.on("error", (cause) => this.fail(cutOff(cause)));
  }

  /** Ends the reading with the first error; what comes later is a consequence of it. */
  fail(error: unknown): void {
    if (this.#failure !== null) return;
    this.#failure = { error };
    for (const stream of this.#opened) stream.destroy(new Error("the form was given up"));
    // the caller may go on sending: whether the connection could be told is of no use to know
    this.body.cancel(error).catch((late: unknown) => late);
    this.#endWait();
  }

  /** Resolves when all parts were taken. */
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

  // A connection that breaks is a form that ended too early.
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

function refuseOtherBodies(request: Request): void {
  const mediaType = (request.headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase();
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
      // every part as raw bytes: its own decoding of fields would turn what is no UTF-8 into something else
      isPartAFile: () => true,
      fileHwm: PART_BUFFER_BYTES,
      limits: { files: limits.parts, headerPairs: HEADERS_MAX, headerSize: HEADER_BYTES_MAX },
    });
  } catch (cause) {
    throw new Fault(
      "invalid_request",
      "The Content-Type of a form names its boundary: multipart/form-data; boundary=…",
      {
        param: "Content-Type",
        cause,
      },
    );
  }
}

// RFC 7578, 4.7: senders do not encode parts any more, and what is not decoded would be stored as it is.
function refuseEncoded(name: string, encoding: string): void {
  if (["7bit", "8bit", "binary"].includes(encoding)) return;
  throw new Fault(
    "invalid_request",
    `The part '${name.slice(0, 64)}' is encoded as ${encoding.slice(0, 64)}. Send it as it is.`,
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
  return new Fault("invalid_request", "The form ended before it was whole.", { param: "file", cause });
}
