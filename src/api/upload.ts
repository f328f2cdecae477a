// Receives forms with one file: the fields that they may contain, and the result. multipart.ts parses forms; ports for
// the files on disk and for the known formats are passed in.

import { createHash, type Hash } from "node:crypto";
import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { shortened } from "../kit/shortened.ts";
import type { FileFormats } from "../ports/document-reader.ts";
import type { IncomingFile, UploadFiles } from "../ports/upload-files.ts";
import { refuseBadText } from "./body.ts";
import { type FormPart, readForm } from "./multipart.ts";

/** A received form with one file. The file stays on disk until it is kept or discarded. */
export interface Upload {
  /** The values of the form's other fields, as text. */
  readonly fields: Readonly<Record<string, string>>;
  /** SHA-256 of the file, in hexadecimal. */
  readonly sha256: string;
  readonly file: {
    readonly path: string;
    /** Name from the form without folders and control characters; 1 to 255 characters. */
    readonly filename: string;
    /** Media type, recognised by content and name, or the one that the sender named (`FileFormats.mediaTypeOf`). */
    readonly mediaType: string;
    readonly bytes: number;
  };
  /** Removes the file unless it was moved away. Never rejects. */
  discard(): Promise<void>;
}

/** Receives forms with files. */
export interface Uploads {
  /**
   * Streams the file to disk, so that it is never completely in memory. After a refused form, no file is left.
   * @throws Fault `unsupported_media_type` (not a form, or an unsupported format), `payload_too_large`,
   *   `invalid_request` (no file, two files, an empty file, a repeated, too long or malformed field, a form that is cut
   *   off), `overloaded` (too many uploads at the same time)
   */
  receive(request: Request): Promise<Upload>;
}

/** What receiving calls. */
export interface FormDependencies {
  readonly files: UploadFiles;
  readonly formats: FileFormats;
}

/** Name of the form field with the file. */
const FILE = "file";
/**
 * Maximum number of parts of a form: one file, each field of `UploadFields` once, and a few more, so that the error can
 * name a field that is unknown or repeated.
 */
const PARTS_MAX = 16;
/**
 * Maximum size of a field: enough for 50 tags of 256 characters that are all written as JSON escapes, and for metadata
 * with wide indentation.
 */
const FIELD_BYTES_MAX = 256 * 1024;
/** Maximum size of a form: the file plus boundaries, headers and fields. */
const FORM_BYTES_MAX = LIMITS.uploadBytes + 1024 * 1024;
/** Maximum number of files received at the same time; each uses a connection and up to 100 MB of disk space. */
const RECEIVING_MAX = 64;

/** Creates the receiver of forms; one per process. */
export function createUploads(parts: FormDependencies): Uploads {
  let receiving = 0;
  return {
    receive: async (request) => {
      if (receiving === RECEIVING_MAX) {
        throw new Fault("overloaded", "Too many files are being received. Try again in a moment.", {
          retryAfterSeconds: 1,
        });
      }
      receiving += 1;
      try {
        return await receive(request, parts);
      } finally {
        receiving -= 1;
      }
    },
  };
}

async function receive(request: Request, { files, formats }: FormDependencies): Promise<Upload> {
  const form = new Form(files);
  try {
    await readForm(request, { bytes: FORM_BYTES_MAX, parts: PARTS_MAX }, (part) => form.take(part));
    const received = form.complete();
    const mediaType = await formats.mediaTypeOf(received.path, received.filename, received.declared);
    if (mediaType === null) {
      throw new Fault(
        "unsupported_media_type",
        `The format of this file is not supported. Supported: ${formats.names}.`,
        {
          param: FILE,
        },
      );
    }
    const { fields, sha256, path, bytes } = received;
    // The name is shortened only now, because format detection needs the extension at its end.
    const filename = [...received.filename].slice(0, LIMITS.filenameCharacters).join("");
    return { fields, sha256, file: { path, filename, mediaType, bytes }, discard: () => form.discard() };
  } catch (error) {
    await form.discard();
    throw error;
  }
}

/** A form that is being received. */
class Form {
  readonly #files: UploadFiles;
  // The object has no prototype; otherwise a field named __proto__ would be lost.
  readonly #fields: Record<string, string> = Object.create(null);
  readonly #hash: Hash = createHash("sha256");
  #filename: string | null = null;
  /** Media type that the sender named. */
  #declared: string | null = null;
  #file: IncomingFile | null = null;
  #bytes = 0;

  constructor(files: UploadFiles) {
    this.#files = files;
  }

  async take(part: FormPart): Promise<void> {
    if (part.name === FILE) await this.#takeFile(part);
    else await this.#takeField(part);
  }

  /** The complete form. @throws Fault `invalid_request` if it has no file, or an empty one */
  complete() {
    if (this.#file === null || this.#filename === null) {
      throw new Fault("invalid_request", "The form contains no file. Send one in the field 'file'.", { param: FILE });
    }
    if (this.#bytes === 0) throw new Fault("invalid_request", "The file is empty.", { param: FILE });
    return {
      fields: this.#fields,
      sha256: this.#hash.digest("hex"),
      path: this.#file.path,
      filename: this.#filename,
      declared: this.#declared,
      bytes: this.#bytes,
    };
  }

  async discard(): Promise<void> {
    await this.#file?.discard();
  }

  async #takeFile({ filename, mediaType, bytes }: FormPart): Promise<void> {
    if (this.#file !== null) throw new Fault("invalid_request", "Send one file, not two.", { param: FILE });
    const name = filename === null ? "" : cleanName(filename);
    if (name === "") {
      throw new Fault("invalid_request", "'file' must be sent as a file, with a filename.", { param: FILE });
    }
    this.#filename = name;
    this.#declared = mediaType;
    const file = await this.#files.begin();
    this.#file = file;
    for await (const piece of bytes) {
      this.#bytes += piece.byteLength;
      if (this.#bytes > LIMITS.uploadBytes) throw tooLarge();
      this.#hash.update(piece);
      await file.write(piece);
    }
    await file.end();
  }

  async #takeField({ name, filename, bytes }: FormPart): Promise<void> {
    const shown = shortened(name);
    if (filename !== null) {
      throw new Fault("invalid_request", `Send the file in the field 'file', not '${shown}'.`, { param: shown });
    }
    if (Object.hasOwn(this.#fields, name)) {
      throw new Fault("invalid_request", `The field '${shown}' is given twice. Give it once.`, { param: shown });
    }
    const text = decode(await readField(bytes, shown), shown);
    refuseBadText(text, [shown]);
    this.#fields[name] = text;
  }
}

async function readField(bytes: AsyncIterable<Uint8Array>, name: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    length += piece.byteLength;
    if (length > FIELD_BYTES_MAX) {
      throw new Fault("invalid_request", `The field '${name}' is longer than ${FIELD_BYTES_MAX} bytes.`, {
        param: name,
      });
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces, length);
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new Fault("invalid_request", `The field '${name}' is not valid UTF-8.`, { param: name, cause });
  }
}

/** A filename without folders and control characters; empty if nothing is left. */
export function cleanName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const clean = last
    .toWellFormed()
    .replace(/\p{Cc}/gu, "")
    .trim();
  return clean === "." || clean === ".." ? "" : clean;
}

function tooLarge(): Fault {
  return new Fault("payload_too_large", `A file may have at most ${LIMITS.uploadBytes} bytes. Send it in parts.`, {
    param: FILE,
  });
}
