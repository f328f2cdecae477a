// Where backups are kept: a folder or an S3 bucket. Objects never change after they are written, except for locks.

/** A place for objects. Names consist of letters, digits, `-`, `.` and `/`. */
export interface Target {
  /** The place as a person names it, without secrets. */
  readonly description: string;
  /** Returns null if there is no such object. */
  read(name: string): Promise<Uint8Array | null>;
  /** Writes an object completely or not at all. When it resolves, the object is durable. */
  write(name: string, bytes: Uint8Array): Promise<void>;
  /** Names of the objects that begin with `prefix`, in ascending order. */
  list(prefix: string): Promise<readonly string[]>;
  /** Removes an object, if it exists. */
  remove(name: string): Promise<void>;
  /** Removes what is left of objects whose writing did not end. No other process may be writing. */
  removePartial(): Promise<void>;
}
