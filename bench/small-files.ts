// Measures whether small files wait for a scan: the time from the upload of a text, a PDF and a DOCX until it is
// searchable, on an idle server and while a scan of hundreds of pages is read. Then kills the server, and looks where
// the scan goes on. Needs the models of text recognition (mneme models pull ocr).

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { decodePicture } from "../src/documents/pictures/decode.ts";
import { UsageError } from "../src/kit/flags.ts";
import { isRecord } from "../src/kit/record.ts";
import { docx } from "../test/documents/office/office-file.ts";
import { buildPdf, lines } from "../test/documents/pdf/build-pdf.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { percentile } from "./lib/metrics.ts";
import { runMain } from "./lib/run-main.ts";
import { uploadFile, waitForMemory } from "./lib/uploading.ts";

const HELP = `bun bench/small-files.ts [flags]
  --pages PATH   folder with pages as PNG files, which the scan repeats (bench/ocr-pages.py makes some)
  --length N     pages of the scan (500)
  --files N      small files (30)`;
const EACH_MS = 120_000;
const SCAN_MS = 600_000;
/** Pause between two looks at the scan in milliseconds, and maximum number of pages recognised in it. */
const LOOK_MS = 1_000;
const PAGES_AT_ONCE = 5;

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const folder = flags.get("--pages");
  if (folder === undefined) throw new UsageError("Missing --pages FOLDER.");
  const length = Number(flags.get("--length") ?? 500);
  const files = Number(flags.get("--files") ?? 30);
  const scan = await scanOf(folder, length);
  const dataDir = mkdtempSync(join(tmpdir(), "mneme-small-files-"));
  const start = () => startServer({ dataDir, environment: { MNEME_LOG_LEVEL: "error" } });
  let server = await start();
  try {
    report("idle", await storeFiles(server, files, "idle"));
    const { body } = await uploadFile(server, "scan.pdf", scan);
    const id = String(body.id);
    await recognitionBegins(server, id);
    report("beside the scan", await storeFiles(server, files, "beside"));
    const { body: before } = await server.call("GET", `/v1/memories/${id}`);
    const done = pagesDone(before);
    await server.kill();
    server = await start();
    const again = await recognitionBegins(server, id);
    process.stdout.write(
      `killed after page ${done} of ${length}; after the start, the first look finds ${again} done\n`,
    );
    report("beside the scan after the kill", await storeFiles(server, Math.min(files, 6), "killed"));
  } finally {
    await server.kill();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/**
 * Waits until pages are recognised one by one, and returns how many are. Before that, all pages are listed, many per
 * second, and `pages_done` counts them as well.
 */
async function recognitionBegins(server: RunningServer, id: string): Promise<number> {
  let before = -1;
  await waitForMemory(
    server,
    id,
    (memory) => {
      const done = pagesDone(memory);
      const isSlow = before > 0 && done > before && done - before <= PAGES_AT_ONCE;
      before = done;
      return isSlow;
    },
    SCAN_MS,
    LOOK_MS,
  );
  return before;
}

/** Pages of a memory that are read. -1 if the file is not being read. */
function pagesDone(memory: unknown): number {
  const progress = isRecord(memory) ? memory.progress : null;
  return isRecord(progress) && typeof progress.pages_done === "number" ? progress.pages_done : -1;
}

/** Uploads small files one after the other. Returns the time of each until it is completed, in milliseconds. */
async function storeFiles(server: RunningServer, count: number, word: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let number = 0; number < count; number++) {
    const text = `The ${word} crate ${number} stands in hall ${number + 3}. Its key hangs behind the door of room ${number * 7}.`;
    const [filename, content] = [
      [`${word}-${number}.txt`, new TextEncoder().encode(text)] as const,
      [`${word}-${number}.pdf`, buildPdf({ pages: [lines([text], 60, 700)] })] as const,
      [`${word}-${number}.docx`, docx(`<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`)] as const,
    ][number % 3] ?? ["", ""];
    const startedAt = performance.now();
    const { body } = await uploadFile(server, filename, content);
    const memory = await waitForMemory(server, String(body.id), ({ status }) => status !== "processing", EACH_MS);
    if (memory.status !== "completed") throw new Error(`${filename} ended as ${String(memory.status)}`);
    times.push(performance.now() - startedAt);
  }
  return times;
}

function report(when: string, times: readonly number[]): void {
  const [median, max] = [percentile(0.5, times), Math.max(...times)];
  process.stdout.write(
    `${when}: median ${Math.round(median)} ms, max ${Math.round(max)} ms (${times.length} files; load ${loadavg()[0]?.toFixed(1)})\n`,
  );
}

/** A PDF whose pages are the first six pictures of a folder, again and again. */
async function scanOf(folder: string, length: number): Promise<Uint8Array> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".png"));
  if (names.length === 0) throw new UsageError(`${folder} has no PNG files.`);
  const pieces: Uint8Array[] = [];
  const offsets: number[] = [];
  let at = 0;
  const add = (...parts: readonly (string | Uint8Array)[]) => {
    for (const part of parts) {
      const bytes = typeof part === "string" ? Buffer.from(part, "latin1") : part;
      pieces.push(bytes);
      at += bytes.length;
    }
  };
  const object = (...parts: readonly (string | Uint8Array)[]) => {
    offsets.push(at);
    add(`${offsets.length} 0 obj\n`, ...parts, "\nendobj\n");
  };
  add("%PDF-1.4\n");
  const used = names.sort().slice(0, 6);
  const pageAt = 3 + used.length + 1;
  object("<</Type/Catalog/Pages 2 0 R>>");
  const kids = Array.from({ length }, (_, page) => `${pageAt + page} 0 R`).join(" ");
  object(`<</Type/Pages/Count ${length}/Kids[${kids}]>>`);
  const drawn = "q 595 0 0 842 0 0 cm /I Do Q";
  object(`<</Length ${drawn.length}>>stream\n${drawn}\nendstream`);
  for (const name of used) {
    const { width, height, grey } = await decodePicture(await Bun.file(join(folder, name)).bytes());
    const packed = deflateSync(grey);
    const facts = `/Width ${width}/Height ${height}/BitsPerComponent 8/ColorSpace/DeviceGray/Filter/FlateDecode`;
    object(`<</Type/XObject/Subtype/Image${facts}/Length ${packed.length}>>stream\n`, packed, "\nendstream");
  }
  object("<<>>");
  for (let page = 0; page < length; page++) {
    const image = 4 + (page % used.length);
    const resources = `<</XObject<</I ${image} 0 R>>>>`;
    object(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 3 0 R/Resources${resources}>>`);
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const startOfTable = at;
  add(`xref\n0 ${offsets.length + 1}\n0000000000 65535 f \n${table}`);
  add(`trailer<</Size ${offsets.length + 1}/Root 1 0 R>>\nstartxref\n${startOfTable}\n%%EOF`);
  return Buffer.concat(pieces);
}

await runMain(HELP, main);
