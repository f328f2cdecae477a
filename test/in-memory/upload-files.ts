// UploadFiles that collects the bytes of an incoming file in memory. It writes the file when all bytes have arrived,
// because document reading needs a path.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { invariant } from "../../src/domain/fault.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { PiecedText } from "../../src/kit/pieced-text.ts";
import type { IncomingFile, TextFile, UploadFiles } from "../../src/ports/upload-files.ts";
import { Delays } from "./delays.ts";

/**
 * UploadFiles on an existing folder that nothing else uses. `kept` has the names of the kept files; a new object with
 * the same set still has those files.
 */
export class InMemoryUploadFiles implements UploadFiles {
  readonly #delays = new Delays();
  /** Paths of files that could not be removed. */
  readonly #notRemoved = new Set<string>();

  constructor(
    private readonly folder: string,
    private readonly clock: Clock,
    private readonly kept = new Set<string>(),
  ) {}

  async begin(): Promise<IncomingFile> {
    await this.#delays.next();
    const path = join(this.folder, `incoming-${crypto.randomUUID()}`);
    const pieces: Uint8Array[] = [];
    let isOpen = true;
    return {
      path,
      write: async (bytes) => {
        invariant(isOpen, "an incoming file was written to after its end");
        pieces.push(bytes.slice());
        await this.#delays.next();
      },
      end: async () => {
        isOpen = false;
        await this.#delays.next();
        writeFileSync(path, Buffer.concat(pieces), { mode: 0o600 });
      },
      discard: async () => {
        isOpen = false;
        await this.#delays.next();
        this.#removeAt(path);
      },
    };
  }

  async keep(path: string): Promise<string> {
    await this.#delays.next();
    const name = basename(path).replace("incoming-", "kept-");
    renameSync(path, this.pathOf(name));
    this.kept.add(name);
    return name;
  }

  async fetch(name: string): Promise<string> {
    return this.pathOf(name);
  }

  pathOf(name: string): string {
    return join(this.folder, name);
  }

  async readText({ name, sha256 }: TextFile): Promise<PiecedText | "missing" | "damaged"> {
    await this.#delays.next();
    if (!this.kept.has(name) || !existsSync(this.pathOf(name))) return "missing";
    const bytes = readFileSync(this.pathOf(name));
    const isWhole = createHash("sha256").update(bytes).digest("hex") === sha256;
    return isWhole ? new PiecedText([bytes.toString("utf8")], bytes.byteLength) : "damaged";
  }

  async remove(name: string): Promise<void> {
    await this.#delays.next();
    if (this.kept.delete(name)) this.#removeAt(this.pathOf(name));
  }

  async removeAgain(): Promise<void> {
    await this.#delays.next();
    for (const path of [...this.#notRemoved]) if (this.#notRemoved.delete(path)) this.#removeAt(path);
  }

  #removeAt(path: string): void {
    try {
      rmSync(path, { force: true });
    } catch {
      this.#notRemoved.add(path); // the file system refused
    }
  }

  async names(ageMs: number): Promise<readonly string[]> {
    await this.#delays.next();
    const writtenBefore = this.clock.now() - ageMs;
    return [...this.kept].filter((name) => ageMs <= 0 || statSync(this.pathOf(name)).mtimeMs <= writtenBefore);
  }
}
