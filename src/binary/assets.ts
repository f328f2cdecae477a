// What the single binary carries. In the sources the list is empty; build.ts puts another module in this one's place.

/** A file inside the binary. */
export interface Asset {
  /** Where it goes below the runtime folder. */
  readonly path: string;
  readonly bytes: number;
  /** Of the unpacked file, hexadecimal. */
  readonly sha256: string;
  /** The file inside the binary, compressed with zstd. */
  readonly packed: string;
}

/** Every file that the binary carries. */
export const ASSETS: readonly Asset[] = [];
