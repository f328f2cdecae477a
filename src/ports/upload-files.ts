// Where the files of uploads lie until their text is read: first as incoming files, then as kept files that a memory's
// row names. Implemented by adapters/uploads on a folder.
//
// What an implementation owes: files are readable by their owner only. An incoming file that was never kept is gone
// after the next start. `keep` is durable and atomic: the file is complete on disk when it resolves. A file is kept
// before the row that names it is committed; whoever finds kept files without a row removes them (`names`,
// MemoryStore.unreferencedFiles).

/** A file while it arrives. */
export interface IncomingFile {
  readonly path: string;
  /** Appends. @throws Fault `overloaded` when the disk is full */
  write(bytes: Uint8Array): Promise<void>;
  /** All of it is durable when this resolves; nothing can be written any more. @throws Fault `overloaded` */
  end(): Promise<void>;
  /** Removes it unless it was kept. Never rejects: what cannot be removed now goes at the next start. */
  discard(): Promise<void>;
}

/** Files of uploads. */
export interface UploadFiles {
  /** Begins an empty file. @throws Fault `overloaded` when the disk is full */
  begin(): Promise<IncomingFile>;
  /**
   * Moves an incoming file that has ended to its permanent place. Returns its new name.
   * @throws Fault `overloaded` when the disk is full
   */
  keep(path: string): Promise<string>;
  /** The local path of a kept file, for reading it. */
  pathOf(name: string): string;
  /** Removes a kept file; one that does not exist counts as removed. Never rejects: the next sweep tries again. */
  remove(name: string): Promise<void>;
  /** The names of the kept files that were last written at least `ageMs` ago. */
  names(ageMs: number): Promise<readonly string[]>;
}
