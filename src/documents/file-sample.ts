// Samples a file so that its format can be recognised: its first bytes, the list of a ZIP archive's entries, the
// beginning of its text. Reads a few megabytes at most, whatever the file contains. Each format's function recognises
// the sample.

import { beginningOf, encodingOf } from "./encoding/encoding.ts";
import { beginsWith, type ReadableFile, readAt } from "./file-bytes.ts";
import { isOleContainer, type OleKind, oleKind } from "./ole.ts";
import {
  END_SIGNATURE,
  ENTRY_BYTES,
  ENTRY_SIGNATURE,
  findZipDirectory,
  localEntryNames,
  ZIP_TAIL_BYTES,
  zipEntries,
} from "./zip/directory.ts";

/** Number of bytes at the beginning of the file that the sample contains. */
const HEAD_BYTES = 64 * 1024;
/** Maximum number of bytes that are read of a ZIP archive's directory: about 40,000 entries. */
const ZIP_DIRECTORY_BYTES_MAX = 4 * 1024 * 1024;

/** The container format whose signature the file begins with. */
export type Container =
  | {
      readonly kind: "zip";
      /** Names of the entries; for a damaged archive, the names that could be found. */
      readonly entryNames: readonly string[];
      /** Whether the archive is damaged: its directory cannot be read or is empty. */
      readonly isDamaged: boolean;
    }
  /** An OLE container: a document of the old binary formats, a message, or an encrypted document of the new formats. */
  | { readonly kind: "ole"; readonly holds: OleKind | null };

/** The sample of a file from which the formats recognise it. */
export class FileSample {
  /** The beginning of the text, decoded on first use: most files are recognised without it. undefined before that. */
  #text: string | null | undefined;

  constructor(
    /** Extension of the file name in lower case, without the dot; empty if there is none. */
    readonly extension: string,
    /** Whether any format has this extension. */
    readonly hasKnownExtension: boolean,
    /** The first 64 KiB. */
    readonly head: Buffer,
    /** Whether `head` is the whole file. */
    readonly isWhole: boolean,
    readonly container: Container | null,
  ) {}

  /**
   * The media type that a ZIP archive names in its first entry, which is called `mimetype` (EPUB, OpenDocument); null
   * if it names none.
   */
  get packageType(): string | null {
    if (this.container?.kind !== "zip" || !beginsWith(this.head, "mimetype", ENTRY_BYTES)) return null;
    const [method, bytes, nameBytes, extraBytes] = [8, 22, 26, 28].map((at) => this.head.readUInt16LE(at));
    if (method !== 0 || nameBytes !== "mimetype".length || bytes === undefined || bytes > 200) return null;
    const start = ENTRY_BYTES + nameBytes + (extraBytes ?? 0);
    return this.head.toString("latin1", start, start + bytes).trim();
  }

  /** The beginning of a text file without leading white space; null if the file is not a text file. */
  get text(): string | null {
    if (this.#text === undefined) this.#text = this.#decodedHead();
    return this.#text;
  }

  /**
   * Whether the file may be a damaged document, because it is neither a container nor a text nor in a known binary
   * format.
   */
  get isUnknownBinary(): boolean {
    if (this.container !== null || this.text !== null) return false;
    return !OTHER_BINARIES.some(({ signature, at }) => beginsWith(this.head, signature, at));
  }

  #decodedHead(): string | null {
    if (this.container !== null) return null;
    const encoding = encodingOf(this.head, this.isWhole);
    return encoding === null ? null : beginningOf(this.head, encoding).trimStart();
  }
}

/**
 * Signatures of other binary formats. A file that begins with one of them is no damaged document, whatever its name is.
 * Of these formats, Mneme reads pictures (pictures/formats.ts).
 */
const OTHER_BINARIES: readonly { readonly signature: string; readonly at?: number }[] = [
  ...["\x89PNG", "\xff\xd8\xff", "GIF8", "BM", "II*\0", "MM\0*", "RIFF", "OggS", "ID3", "fLaC"],
  ...["\x1f\x8b", "BZh", "\xfd7zXZ", "7z\xbc\xaf", "Rar!", "\x28\xb5\x2f\xfd"],
  ...["\x7fELF", "MZ", "\xca\xfe\xba\xbe", "\xcf\xfa\xed\xfe", "\0asm", "SQLite format 3\0", "wOFF", "\0\x01\0\0\0"],
]
  .map((signature): { signature: string; at?: number } => ({ signature }))
  .concat({ signature: "ftyp", at: 4 }, { signature: "ustar", at: 257 });

/**
 * Samples an open file.
 * @throws Error of the operating system if the file cannot be read
 */
export async function sampleFile(
  file: ReadableFile,
  { extension, isKnown }: { readonly extension: string; readonly isKnown: boolean },
): Promise<FileSample> {
  const { size } = await file.stat();
  const head = await readAt(file, 0, Math.min(size, HEAD_BYTES));
  const isZip = beginsWith(head, ENTRY_SIGNATURE) || beginsWith(head, END_SIGNATURE);
  let container: Container | null = null;
  if (isZip) container = await zipContainer(file, size, head);
  else if (isOleContainer(head)) {
    container = { kind: "ole", holds: await oleKind(file, size) };
  }
  return new FileSample(extension, isKnown, head, head.byteLength === size, container);
}

async function zipContainer(file: ReadableFile, size: number, head: Buffer): Promise<Container> {
  const entryNames = await listedNames(file, size);
  const isDamaged = entryNames === null || entryNames.length === 0;
  return { kind: "zip", entryNames: entryNames ?? localEntryNames(head), isDamaged };
}

/** The names in an archive's directory; null if the archive has no readable directory. */
async function listedNames(file: ReadableFile, size: number): Promise<readonly string[] | null> {
  const tailAt = Math.max(0, size - ZIP_TAIL_BYTES);
  const directory = findZipDirectory(await readAt(file, tailAt, size - tailAt), tailAt);
  if (directory === null) return null;
  const bytes = directory.end - directory.start;
  const names = [...zipEntries(await readAt(file, directory.start, Math.min(bytes, ZIP_DIRECTORY_BYTES_MAX)))].map(
    ({ name }) => name,
  );
  return names.length === 0 && bytes > 0 ? null : names;
}
