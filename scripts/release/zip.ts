// ZIP archives whose bytes depend on names, contents and the given time only.

import { type Zippable, zipSync } from "fflate";

/** Packs files. The time is written as UTC, in whatever zone this machine is. */
export function zipped(files: Zippable, { level, time }: { readonly level: 0 | 9; readonly time: number }): Uint8Array {
  const utc = new Date(time * 1000);
  const asLocal = new Date(utc.getTime() + utc.getTimezoneOffset() * 60_000);
  return zipSync(files, { level, mtime: asLocal });
}
