// Files embedded in the single binary. This list is empty in the sources; build.ts replaces the module.

/** A file embedded in the binary. */
export interface Asset {
  /** Target path below the runtime folder. */
  readonly path: string;
  readonly bytes: number;
  /** Hash of the unpacked file, hexadecimal. */
  readonly sha256: string;
  /** Path inside the binary at which the file is found, compressed with zstd. */
  readonly packed: string;
}

/** Every embedded file. */
export const ASSETS: readonly Asset[] = [];
