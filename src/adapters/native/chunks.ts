// Passes the chunks of a publication to the native core, slice by slice.

import { addon } from "./addon.ts";
import type { NativeChunks, PublishChunk } from "./addon-types.ts";

/**
 * The chunks of a publication, which are read slice by slice. This can be an array, or an object that creates the texts
 * of a slice only when `slice` is called.
 */
export interface PublishChunks {
  readonly length: number;
  slice(start: number, end: number): readonly PublishChunk[];
}

/**
 * Maximum number of chunks that are passed to the native core at once. That blocks the JavaScript thread for about 10
 * ms.
 */
const SLICE_CHUNKS = 256;

/** The chunks in the native core, for one of the calls that publish. */
export async function nativeChunks(chunks: PublishChunks): Promise<NativeChunks> {
  const passed = new (addon().NativeChunks)();
  for (let first = 0; first < chunks.length; first += SLICE_CHUNKS) {
    if (first > 0) await new Promise(setImmediate);
    passed.add(chunks.slice(first, first + SLICE_CHUNKS));
  }
  return passed;
}
