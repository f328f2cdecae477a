// Keeps uploaded files and long texts on disk before the rows that refer to them are stored.

import type { Fault } from "../domain/fault.ts";
import type { MemoryChange, ReceivedFile } from "../domain/memory.ts";
import type { Log } from "../kit/log.ts";
import type { LongText } from "../ports/json-bodies.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { UploadFiles } from "../ports/upload-files.ts";

/** A file on disk that becomes the content of a memory. */
export type FileOnDisk = Omit<ReceivedFile, "file"> & { readonly path: string };

/** What was kept. Disposing of it removes the files that no row refers to in the end. */
export interface Kept<T> extends AsyncDisposable {
  readonly kept: T;
}

/** Keeps files. All methods throw Fault `overloaded` if the disk is full. */
export class Intake {
  readonly #memories: Pick<MemoryStore, "unreferencedFiles">;
  readonly #files: Pick<UploadFiles, "begin" | "keep" | "remove">;
  readonly #log: Log;

  constructor(uses: {
    readonly memories: Pick<MemoryStore, "unreferencedFiles">;
    readonly files: Pick<UploadFiles, "begin" | "keep" | "remove">;
    readonly log: Log;
  }) {
    this.#memories = uses.memories;
    this.#files = uses.files;
    this.#log = uses.log;
  }

  /** Keeps an uploaded file. */
  async file({ path, ...rest }: FileOnDisk): Promise<Kept<ReceivedFile>> {
    const file = await this.#files.keep(path);
    return this.#keptAs({ ...rest, file }, [file]);
  }

  /** Keeps the long texts of drafts or changes. In them, a file takes the place of the key of each long text. */
  async texts<D extends Pick<MemoryChange, "content" | "upload"> | Fault>(
    drafts: readonly D[],
    longTexts: ReadonlyMap<string, LongText>,
  ): Promise<Kept<readonly D[]>> {
    const names: string[] = [];
    const kept: D[] = [];
    try {
      for (const draft of drafts) {
        const text = "content" in draft && draft.content !== undefined ? longTexts.get(draft.content) : undefined;
        if (text === undefined) kept.push(draft);
        else {
          const upload = await this.#keep(text);
          names.push(upload.file);
          kept.push({ ...draft, content: "", upload });
        }
      }
    } catch (error) {
      await this.#removeUnreferenced(names);
      throw error;
    }
    return this.#keptAs(kept, names);
  }

  #keptAs<T>(kept: T, names: readonly string[]): Kept<T> {
    return { kept, [Symbol.asyncDispose]: () => this.#removeUnreferenced(names) };
  }

  /** Never rejects: the sweep removes what is left. */
  async #removeUnreferenced(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    try {
      for (const name of await this.#memories.unreferencedFiles(names)) await this.#files.remove(name);
    } catch (err) {
      this.#log.warn({ err, files: names.length }, "received files could not be checked; the sweep tries again");
    }
  }

  async #keep({ bytes, sha256, pieces }: LongText): Promise<ReceivedFile> {
    const incoming = await this.#files.begin();
    try {
      for (const piece of pieces()) await incoming.write(piece);
      await incoming.end();
      return { file: await this.#files.keep(incoming.path), bytes, sha256, source: null };
    } catch (error) {
      await incoming.discard();
      throw error;
    }
  }
}
