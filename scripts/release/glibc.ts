// Which glibc a program needs: each ELF file lists the versions of the symbols that it takes from libraries.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

/** Oldest glibc on which a release should start: that of Debian 10 and RHEL 8, which onnxruntime needs as well. */
export const GLIBC_WANTED = "2.28";

/** First bytes of an ELF file: the magic number, 64 bits, least significant byte first. */
const ELF64 = [0x7f, 0x45, 0x4c, 0x46, 2, 1];
/** Type of the section that lists the needed versions (`.gnu.version_r`). */
const VERSIONS_NEEDED = 0x6ffffffe;
const GLIBC = /^GLIBC_(\d+)\.(\d+)(\.\d+)?$/;

/** The glibc that a program needs, and the file that needs it. */
export interface GlibcNeed {
  /** Version, such as 2.28. */
  readonly version: string;
  /** Path in the folder of the program. */
  readonly file: string;
}

/** The newest glibc that files in a folder need. @throws Error if none of them needs any */
export function glibcNeed(folder: string): GlibcNeed {
  const needs = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry): readonly GlibcNeed[] => {
      const path = join(entry.parentPath, entry.name);
      const version = glibcOf(readFileSync(path));
      return version === null ? [] : [{ version, file: relative(folder, path) }];
    });
  const [first, ...others] = needs;
  if (first === undefined) throw new Error(`no file in ${folder} needs glibc`);
  return others.reduce((newest, need) => (isNewer(need.version, newest.version) ? need : newest), first);
}

/** Whether a version such as 2.34 is newer than another one. */
export function isNewer(version: string, than: string): boolean {
  const [[major, minor], [otherMajor, otherMinor]] = [numbersOf(version), numbersOf(than)];
  return major > otherMajor || (major === otherMajor && minor > otherMinor);
}

/** The newest glibc whose symbols an ELF file takes; null if it is no 64-bit ELF file or takes none. */
export function glibcOf(file: Uint8Array): string | null {
  let newest: string | null = null;
  for (const name of versionsNeeded(file)) {
    const [, major, minor] = GLIBC.exec(name) ?? [];
    if (major === undefined || minor === undefined) continue;
    const version = `${major}.${minor}`;
    if (newest === null || isNewer(version, newest)) newest = version;
  }
  return newest;
}

/** Names of symbol versions that an ELF file needs, such as GLIBC_2.17 and GLIBCXX_3.4.22. */
function versionsNeeded(file: Uint8Array): readonly string[] {
  if (!ELF64.every((byte, at) => file[at] === byte)) return [];
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const word = (at: number) => view.getUint32(at, true);
  const half = (at: number) => view.getUint16(at, true);
  const long = (at: number) => Number(view.getBigUint64(at, true));
  const [sections, sectionBytes, sectionCount] = [long(0x28), half(0x3a), half(0x3c)];
  const headers = Array.from({ length: sectionCount }, (_, index) => sections + index * sectionBytes);
  const needed = headers.find((header) => word(header + 4) === VERSIONS_NEEDED);
  if (needed === undefined) return [];
  const strings = long((headers[word(needed + 0x28)] ?? 0) + 0x18);
  const textAt = (at: number) => new TextDecoder().decode(file.subarray(at, file.indexOf(0, at)));
  const names: string[] = [];
  // one entry per library, each with a list of versions; `next` is the distance to the following entry, 0 at the end
  for (let entry = long(needed + 0x18), next = 1; next !== 0; entry += next) {
    next = word(entry + 12);
    for (let version = entry + word(entry + 8), step = 1; step !== 0; version += step) {
      step = word(version + 12);
      names.push(textAt(strings + word(version + 8)));
    }
  }
  return names;
}

function numbersOf(version: string): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return [major, minor];
}
