// Collects the files of a container: checks their paths, counts them against the limits, recognises their formats, and
// passes on the bytes of those that Mneme reads.

import { createHash } from "node:crypto";
import { mayContainFiles } from "../../domain/containers.ts";
import { LIMITS } from "../../domain/limits.ts";
import { type DocumentPart, ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";

/** A container that breaks a rule, so that nothing of it is stored. */
export class ContainerRefusal extends ReadFailure {
  constructor(message: string, options?: ErrorOptions) {
    super("unreadable_document", message, options);
  }
}

/**
 * What happens to a container in a container in a container: the whole file is refused, or the innermost one is left
 * out with a warning.
 */
export type DeeperContainers = "refused" | "left out";

/** Receives the bytes of parts. */
export type PartBytes = (bytes: Uint8Array) => void;

/** Counts of a container and of all containers in it. */
interface Counts {
  parts: number;
  bytes: number;
}

/** How parts are recognised and read. */
export interface PartFormats {
  /** The media type of a part; null if it has no known format. */
  recognise(bytes: Uint8Array, filename: string, declared: string | null): Promise<string | null>;
  /** Reads a part that may contain files, which are passed to `parts`. */
  read(
    part: { readonly bytes: Uint8Array; readonly filename: string; readonly mediaType: string },
    parts: Parts,
  ): Promise<ReadDocument | ReadFailure>;
}

/** How the parts of a container are collected. */
export interface PartOptions {
  /** Whether the container is in another one, so that containers in it are not read. */
  readonly isPart: boolean;
  readonly formats: PartFormats;
  /** Receives the bytes of the parts, one after the other; null: they are only counted. */
  readonly write: PartBytes | null;
}

/** Maximum length of a path in characters. */
const PATH_CHARACTERS_MAX = 1_000;

/** Collects the parts of one container. */
export class Parts {
  readonly found: DocumentPart[] = [];
  readonly warnings: string[] = [];
  #at = 0;

  /** @param options null: parts are checked and counted, but not read */
  constructor(
    private readonly options: PartOptions | null = null,
    private readonly counts: Counts = { parts: 0, bytes: 0 },
  ) {}

  /**
   * Checks the path of a part, whose bytes follow by `add`. Returns it with slashes, without `.` steps.
   * @throws ContainerRefusal if the path leads out of the container
   */
  pathOf(name: string): string {
    const path = name
      .replaceAll("\\", "/")
      .toWellFormed()
      .replace(/\p{Cc}/gu, "");
    const steps = path.split("/");
    if (path.startsWith("/") || /^[a-z]:/i.test(path) || steps.includes("..")) {
      throw new ContainerRefusal(`The file is refused: its part ${shown(path)} has a path that leads out of it.`);
    }
    return [...steps.filter((step) => step !== "" && step !== ".").join("/")].slice(-PATH_CHARACTERS_MAX).join("");
  }

  /** Counts unpacked bytes. @throws ContainerRefusal if there are too many */
  addBytes(bytes: number): void {
    this.counts.bytes += bytes;
    if (this.counts.bytes <= LIMITS.unpackedBytes) return;
    const limit = Math.round(LIMITS.unpackedBytes / 1024 / 1024);
    throw new ContainerRefusal(`The file is refused: it is unpacked to more than ${limit} MB, the limit for a file.`);
  }

  /** Counts a part. @throws ContainerRefusal if there are too many */
  addPart(): void {
    this.counts.parts += 1;
    if (this.counts.parts <= LIMITS.partsPerContainer) return;
    const limit = LIMITS.partsPerContainer.toLocaleString("en-US");
    throw new ContainerRefusal(`The file is refused: it contains more than ${limit} files, the limit for a file.`);
  }

  /** Adds a warning about a part that becomes no memory. */
  leaveOut(path: string, why: string): void {
    this.warnings.push(`${shown(path)} was not read: ${why}.`);
  }

  /**
   * Adds a part, which `addPart` and `addBytes` have counted.
   * @param deeper applies if this container is inside another one and the part contains files itself
   * @param declared media type that the container names
   * @throws ContainerRefusal if a container in it breaks a rule
   */
  async add(
    path: string,
    bytes: Uint8Array,
    { deeper, declared = null }: { readonly deeper: DeeperContainers; readonly declared?: string | null },
  ): Promise<void> {
    if (bytes.byteLength === 0) return this.leaveOut(path, "it is empty");
    if (bytes.byteLength > LIMITS.uploadBytes) return this.leaveOut(path, "it is larger than an upload may be");
    const filename = [...(path.split("/").at(-1) ?? path)].slice(-LIMITS.filenameCharacters).join("");
    if (this.options === null) return;
    const { formats, write } = this.options;
    const mediaType = await formats.recognise(bytes, filename, declared);
    if (mediaType === null) return this.leaveOut(path, "its format is not supported");
    if (
      mayContainFiles(mediaType) &&
      !(await this.#isReadable(path, { bytes, filename, mediaType, deeper }, this.options))
    )
      return;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.found.push({ path, filename, mediaType, at: this.#at, bytes: bytes.byteLength, sha256 });
    this.#at += bytes.byteLength;
    write?.(bytes);
  }

  /** Whether a part that may contain files can become a memory. Counts the files in it. */
  async #isReadable(
    path: string,
    part: {
      readonly bytes: Uint8Array;
      readonly filename: string;
      readonly mediaType: string;
      readonly deeper: DeeperContainers;
    },
    { formats, isPart }: PartOptions,
  ): Promise<boolean> {
    const inner = new Parts({ isPart: true, formats, write: null }, this.counts);
    const read = await formats.read(part, inner);
    if (read instanceof ContainerRefusal) throw read;
    if (read instanceof ReadFailure) {
      this.leaveOut(path, read.message.replace(/\.$/, "").replace(/^The file /, "it "));
      return false;
    }
    if (!isPart || inner.found.length === 0) return true;
    const why = "it contains files, and is itself in a file that is in another one";
    if (part.deeper === "refused") throw new ContainerRefusal(`The file is refused: its part ${shown(path)}: ${why}.`);
    this.leaveOut(path, why);
    return false;
  }
}

function shown(path: string): string {
  const characters = [...path];
  return characters.length <= 120 ? path : `…${characters.slice(-119).join("")}`;
}
