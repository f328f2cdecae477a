// Unpacks the archive of a model, within limits: only plain files with plain names, in at most four levels of folders.

import { createReadStream } from "node:fs";
import { mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createGunzip } from "node:zlib";
import { extract, type Headers } from "tar-stream";
import { Budget, READING_LIMITS } from "../../documents/budget.ts";
import { Archive } from "../../documents/zip/archive.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { ModelFilesError } from "../inference/manifest-fields.ts";

/** Maximum number of files and folders in an archive. */
const ENTRIES_MAX = 1_000;
/** Maximum size of a ZIP archive and of its files in bytes: it is read as a whole. A larger model comes as .tar.gz. */
const ZIP_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** A path in an archive: folders and a file, none of which begins with a dot. */
const PLAIN_PATH = /^(?:\.\/)?(?:[\w-][\w.-]*\/){0,4}[\w-][\w.-]*$/;

/**
 * Unpacks an archive (ZIP or gzipped tar) into an empty folder.
 * @param bytesMax maximum size of all files in bytes; a ZIP archive has at most `ZIP_BYTES_MAX`
 * @throws ModelFilesError if it is another kind of file, is damaged or encrypted, exceeds a limit, or has a file whose
 * path is not a `PLAIN_PATH`; for a tar also if it has anything but plain files and folders
 */
export async function unpackArchive(path: string, folder: string, bytesMax: number): Promise<void> {
  const file = await open(path);
  const first = new Uint8Array(2);
  try {
    await file.read(first, 0, 2, 0);
  } finally {
    await file.close();
  }
  if (first[0] === 0x50 && first[1] === 0x4b) return unpackZip(path, folder, bytesMax);
  if (first[0] === 0x1f && first[1] === 0x8b) return unpackTar(path, folder, bytesMax);
  throw new ModelFilesError("The file is neither a ZIP archive nor a .tar.gz archive.");
}

async function unpackZip(path: string, folder: string, bytesMax: number): Promise<void> {
  if ((await stat(path)).size > ZIP_BYTES_MAX) throw new ModelFilesError("The ZIP archive is larger than 2 GiB.");
  const inflatedBytes = Math.min(bytesMax, ZIP_BYTES_MAX);
  const budget = new Budget({ ...READING_LIMITS, entries: ENTRIES_MAX, inflatedBytes, ms: 600_000 });
  try {
    const archive = new Archive(await readFile(path), budget);
    for (const entry of archive.entries()) {
      if (entry.name.endsWith("/")) continue;
      const place = await placeOf(entry.name, folder);
      await writeFile(place, Buffer.concat([...archive.contentsOf(entry)]), { flush: true });
    }
  } catch (cause) {
    if (!(cause instanceof ReadFailure)) throw cause;
    throw new ModelFilesError(`The ZIP archive cannot be unpacked. ${cause.message}`, { cause });
  }
}

async function unpackTar(path: string, folder: string, bytesMax: number): Promise<void> {
  const entries = extract();
  const source = createReadStream(path);
  const unzipped = createGunzip();
  let [count, bytes] = [0, 0];
  const take = async ({ name, type, size = 0 }: Headers, entry: AsyncIterable<Uint8Array>) => {
    count += 1;
    bytes += size;
    if (count > ENTRIES_MAX) throw new ModelFilesError(`The archive has more than ${ENTRIES_MAX} files.`);
    if (bytes > bytesMax) throw new ModelFilesError(`The files of the archive are larger than ${bytesMax} bytes.`);
    if (type === "directory" || type === "pax-global-header") return;
    if (type !== "file") throw new ModelFilesError(`The archive has ${name}, which is no plain file.`);
    await writeEntry(entry, await placeOf(name, folder));
  };
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let taking: Promise<void> = Promise.resolve();
  entries.on("entry", (header, entry, next) => {
    taking = take(header, entry).then(() => {
      entry.resume();
      next();
    }, reject);
  });
  entries.on("finish", resolve);
  for (const stream of [source, unzipped, entries]) stream.on("error", reject);
  source.pipe(unzipped).pipe(entries);
  try {
    await promise;
  } catch (cause) {
    if (cause instanceof ModelFilesError) throw cause;
    throw new ModelFilesError("The archive is damaged.", { cause });
  } finally {
    source.destroy();
    entries.destroy();
    await taking; // waits until the file that is being written is closed
  }
}

async function writeEntry(entry: AsyncIterable<Uint8Array>, path: string): Promise<void> {
  const file = await open(path, "w");
  try {
    for await (const piece of entry) await file.write(piece);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * Returns the path for a file of the archive, and makes its folder.
 * @throws ModelFilesError if the name is not a `PLAIN_PATH`
 */
async function placeOf(name: string, folder: string): Promise<string> {
  if (!PLAIN_PATH.test(name))
    throw new ModelFilesError(`The archive has a file with the path ${JSON.stringify(name)}.`);
  const place = join(folder, name);
  await mkdir(dirname(place), { recursive: true });
  return place;
}
