// Where the files of uploads lie: first as something that arrives and that nobody refers to, then under a name that a memory's
// row refers to, until its text is read. Implemented by adapters/uploads on a folder.
//
// Owed by an implementation: files are readable by their owner only; what arrived and was never kept is gone after the next
// start; `keep` is durable and atomic, and its file is on the disk in full when it returns.

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
   * Moves a file that has ended to its place under `name`, in place of one that may lie there. Synchronous, so that it can be
   * part of a transaction: some milliseconds, whatever its size.
   * @throws Fault `overloaded` when the disk is full
   */
  keep(path: string, name: string): void;
  /** Where a kept file lies. */
  pathOf(name: string): string;
  /** Removes a kept file in the background; one that is not there counts as removed. */
  remove(name: string): void;
  /** The names of all kept files. */
  names(): readonly string[];
}
