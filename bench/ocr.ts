// Measures text recognition on pages whose text is known: errors per character, processor time and memory.
//
//   npx -y bun bench/ocr.ts FOLDER
//
// FOLDER has pictures (NAME.png) and the blocks of their texts (NAME.json: a list of texts). bench/ocr-pages.py makes
// 36 pages of nine languages: one and two columns, tables; tilted up to 3 degrees, noisy, blurred, with a shadow,
// photographed. A block counts where it fits best in what was read, so a wrong reading order counts as errors too.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { openPictureModels } from "../src/adapters/inference/onnxruntime-pictures.ts";
import { optionalModelFolder } from "../src/compose/optional-models.ts";
import { readPictures } from "../src/documents/pdf/read-pdf.ts";
import { decodePicture } from "../src/documents/pictures/decode.ts";
import { PictureTexts } from "../src/documents/recognition.ts";
import { readPicture } from "../src/ocr/read-picture.ts";
import { recognised } from "../src/ocr/recognised.ts";
import { ReadFailure } from "../src/ports/document-reader.ts";

/** Characters of a text without white space and markup, such as that of tables, which the page does not show. */
const shown = (text: string) => text.normalize("NFKC").replace(/[\s|#*-]+/gu, "");

/** Minimum number of wrong characters of a block anywhere in a text (Sellers, 1980). */
function errorsOf(block: string, text: string): number {
  let row = new Uint32Array(text.length + 1);
  for (const [at, letter] of [...block].entries()) {
    const next = new Uint32Array(text.length + 1);
    next[0] = at + 1;
    for (let to = 1; to <= text.length; to++) {
      const same = (row[to - 1] ?? 0) + (text[to - 1] === letter ? 0 : 1);
      next[to] = Math.min(same, (row[to] ?? 0) + 1, (next[to - 1] ?? 0) + 1);
    }
    row = next;
  }
  return row.reduce((least, value) => Math.min(least, value), block.length);
}

const [folder] = process.argv.slice(2);
const models = optionalModelFolder("ocr", { modelsDir: join(import.meta.dir, "../data/models"), dataDir: "." });
if (folder === undefined || folder.startsWith("--") || models === null) {
  process.stdout.write(
    "bench/ocr.ts FOLDER: pages with known texts (bench/ocr-pages.py makes them); needs mneme models pull ocr\n",
  );
  process.exit(1);
}
process.env.ORT_DISABLE_TELEMETRY = "1";
const opened = await openPictureModels({
  detection: join(models, "detection.onnx"),
  recognition: join(models, "recognition.onnx"),
});
const sums = new Map<string, { errors: number; characters: number; pages: number; ms: number }>();
for (const name of readdirSync(folder)
  .filter((each) => each.endsWith(".png"))
  .sort()) {
  const blocks = (await Bun.file(join(folder, name.replace(/png$/, "json"))).json()) as readonly string[];
  const before = process.cpuUsage();
  const picture = await decodePicture(await Bun.file(join(folder, name)).bytes());
  const page = recognised("1", await readPicture(picture, opened));
  const { user, system } = process.cpuUsage(before);
  const text = await readPictures(["1"], new PictureTexts("done", new Map([["1", page]])));
  const read = text instanceof ReadFailure ? "" : shown(text.pieces.join(""));
  const errors = blocks.reduce((sum, block) => sum + errorsOf(shown(block), read), 0);
  const characters = blocks.reduce((sum, block) => sum + shown(block).length, 0);
  const ms = (user + system) / 1_000;
  const label = name.replace(".png", "");
  process.stdout.write(
    `${label.padEnd(20)} ${((100 * errors) / characters).toFixed(2).padStart(6)} %  ${(ms / 1_000).toFixed(1)} s  confidence ${page.confidence?.toFixed(2) ?? "none"}\n`,
  );
  for (const group of ["all", ...label.split("-")]) {
    const sum = sums.get(group) ?? { errors: 0, characters: 0, pages: 0, ms: 0 };
    sums.set(group, {
      errors: sum.errors + errors,
      characters: sum.characters + characters,
      pages: sum.pages + 1,
      ms: sum.ms + ms,
    });
  }
}
for (const [group, { errors, characters, pages, ms }] of sums) {
  process.stdout.write(
    `${group}: ${((100 * errors) / characters).toFixed(2)} % of ${characters} characters, ${(ms / pages / 1_000).toFixed(1)} s per page (${pages})\n`,
  );
}
process.stdout.write(`largest memory: ${Math.round(process.resourceUsage().maxRSS / 1_000)} MB\n`);
