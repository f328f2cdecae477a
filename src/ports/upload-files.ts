// Storage for uploaded files: until their text has been read, and originals as long as their memory has them. A file
// is first an incoming file, then a kept file, to which the row of a memory refers by name. Implemented by
// adapters/uploads on a folder.
//
// Obligations of an implementation:
// - Files are readable only by their owner.
// - An incoming file that was not kept is removed at the next start.
// - `keep` is atomic and durable: when it resolves, the complete file is on disk under its new name.
// - A caller keeps a file before it commits the row that refers to it. So a crash may leave a kept file without a row,
//   but never a row without its file. The sweep finds such files with `names` and MemoryStore.unreferencedFiles, and
//   removes them.

import type { PiecedText } from "../kit/pieced-text.ts";

/** A file whose content is still arriving. */
export interface IncomingFile {
  readonly path: string;
  /** Appends bytes. @throws Fault `overloaded` if the disk is full */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Ends the file: its content is durable, and nothing more can be written.
   * @throws Fault `overloaded` if the disk is full
   */
  end(): Promise<void>;
  /** Removes the file unless it was kept. Never rejects: what cannot be removed is left to `removeAgain`. */
  discard(): Promise<void>;
}

/** A kept file that has the text of a memory as UTF-8. */
export interface TextFile {
  readonly name: string;
  /** SHA-256 of its bytes when it was kept, in hexadecimal. A file with other bytes is damaged. */
  readonly sha256: string;
}

/** Uploaded files. */
export interface UploadFiles {
  /** Creates an empty incoming file. @throws Fault `overloaded` if the disk is full */
  begin(): Promise<IncomingFile>;
  /**
   * Turns an incoming file that has ended into a kept file. Returns its name.
   * @throws Fault `overloaded` if the disk is full
   */
  keep(path: string): Promise<string>;
  /** The text of a kept file; or what is wrong with the file. Lets other work run meanwhile. */
  readText(file: TextFile): Promise<PiecedText | "missing" | "damaged">;
  /** Local path of a kept file that this process kept or fetched. */
  pathOf(name: string): string;
  /** Makes a kept file readable on this machine, if another node received it. Returns its path. */
  fetch(name: string): Promise<string>;
  /** Removes a kept file, if it exists. Never rejects: what cannot be removed is left to `removeAgain`. */
  remove(name: string): Promise<void>;
  /** Tries again to remove the files that a failing disk kept. Never rejects. The sweep calls it. */
  removeAgain(): Promise<void>;
  /** Names of the kept files that were last written at least `ageMs` ago. */
  names(ageMs: number): Promise<readonly string[]>;
}

/** Contents of kept files for all nodes. Implemented by stores/postgres. */
export interface SharedFiles {
  /** Stores a file durably. */
  put(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void>;
  /** The bytes of a file in order; nothing if there is no such file. */
  read(name: string): AsyncIterable<Uint8Array>;
  /** Returns the files of this list that are not there. */
  missing(names: readonly string[]): Promise<readonly string[]>;
  /** Removes a file, if it exists. */
  remove(name: string): Promise<void>;
  /** Names of the files that were stored at least `ageMs` ago. */
  names(ageMs: number): Promise<readonly string[]>;
}
