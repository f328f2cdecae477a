// Reads files of the built guide (dist/docs, from `bun run docs`). `bun run build:binary` replaces this module by the
// files themselves, because a compiled program has no such folder. guide.ts serves them.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";

/** One file of the guide, as the binary carries it. */
export interface GuideFile {
  /** Address below that of the guide, such as `how-to/many-tenants.html`. */
  readonly address: string;
  /** The content, compressed with gzip, as base64. */
  readonly packed: string;
}

/** The guide as it is served. */
export interface GuideSource {
  /** Whether there is a guide. */
  readonly isBuilt: () => boolean;
  /** A file, compressed with gzip; null if there is none. @param address of file names and one folder at most */
  readonly file: (address: string) => Uint8Array<ArrayBuffer> | null;
}

const FOLDER = join(import.meta.dir, "../../dist/docs");

/** The guide in a folder. A file that was built again is read again. */
export function guideSource(folder: string = FOLDER): GuideSource {
  const packed = new Map<string, { readonly changedMs: number; readonly bytes: Uint8Array<ArrayBuffer> }>();
  return {
    isBuilt: () => existsSync(join(folder, "index.html")),
    file: (address) => {
      const stats = statSync(join(folder, address), { throwIfNoEntry: false });
      if (stats === undefined || !stats.isFile()) return null;
      const known = packed.get(address);
      if (known?.changedMs === stats.mtimeMs) return known.bytes;
      const bytes = Uint8Array.from(gzipSync(readFileSync(join(folder, address))));
      packed.set(address, { changedMs: stats.mtimeMs, bytes });
      return bytes;
    },
  };
}

/** All files of the guide, for the binary; none if it has not been built. */
export function packedGuide(folder: string = FOLDER): readonly GuideFile[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const packed = gzipSync(readFileSync(path), { level: 9 }).toString("base64");
      return { address: relative(folder, path), packed };
    });
}
