// Keeps uploaded files and long texts on disk before the rows that refer to them are stored.

import { Fault } from "../domain/fault.ts";
import type { MemoryChange, ReceivedFile } from "../domain/memory.ts";
import type { Log } from "../kit/log.ts";
import { LongText } from "../ports/json-bodies.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { UploadFiles } from "../ports/upload-files.ts";

/** A file on disk that becomes the content of a memory. */
export type FileOnDisk = Omit<ReceivedFile, "file"> & { readonly path: string };

type Contents = Pick<MemoryChange, "content" | "upload">;

/** A draft or change as it is received: its content can be a long text. */
export type Incoming<D extends Contents> = { [Name in keyof D]: Name extends "content" ? D[Name] | LongText : D[Name] };

/** What was kept. Disposing of it removes those of the files that no row refers to by then. */
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

  /** Keeps the content of a draft or change, if it is a long text. */
  async text<D extends Contents>(draft: Incoming<D>): Promise<Kept<D>> {
    const { kept, ...rest } = await this.texts<D>([draft]);
    return { ...rest, kept: kept[0] as D };
  }

  /** Keeps the contents of drafts that are long texts. Drafts that were refused stay in their places. */
  async texts<D extends Contents>(drafts: readonly (Incoming<D> | Fault)[]): Promise<Kept<readonly (D | Fault)[]>> {
    const names: string[] = [];
    const kept: (D | Fault)[] = [];
    try {
      for (const draft of drafts) {
        if (draft instanceof Fault || !(draft.content instanceof LongText)) kept.push(draft as D | Fault);
        else {
          const upload = await this.#keep(draft.content);
          names.push(upload.file);
          kept.push({ ...draft, content: "", upload } as unknown as D);
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

  async #keep(text: LongText): Promise<ReceivedFile> {
    const { bytes, sha256 } = text;
    const incoming = await this.#files.begin();
    try {
      for (const piece of text.pieces()) await incoming.write(piece);
      await incoming.end();
      return { file: await this.#files.keep(incoming.path), bytes, sha256, source: null };
    } catch (error) {
      await incoming.discard();
      throw error;
    }
  }
}
