// Counts facts that arrive from files of other programs: for each file, texts that its text must contain (`has`), and
// texts that it must not (`not`), in facts.json. The files were made with XlsxWriter, openpyxl, python-docx,
// python-pptx, ReportLab, PyMuPDF and fpdf2, or by hand, and packed together, because they share most of their bytes.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { alignRows } from "../../../src/cli/terminal.ts";
import { textOf } from "../reading.ts";
import FACTS from "./facts.json";

/** What must and must not be read of a file. */
interface FileFacts {
  readonly has: readonly string[];
  readonly not?: readonly string[];
}

const FILES_MIN = 150;
const FACTS_MIN = 500;

test("at least 500 facts of at least 150 files arrive", async () => {
  const packed = Bun.zstdDecompressSync(readFileSync(join(import.meta.dir, "files.tar.zst")));
  const files = await new Bun.Archive(packed).files();
  const counts = new Map<string, { files: number; facts: number; arrived: number }>();
  const missing: string[] = [];
  for (const [name, { has, not = [] }] of Object.entries(FACTS as Readonly<Record<string, FileFacts>>)) {
    const bytes = await files.get(name)?.bytes();
    if (bytes === undefined) throw new Error(`${name} is not in files.tar.zst`);
    const text = (await textOf(name, bytes)).text.replace(/[ \u00a0\u202f]+/g, " ");
    const absent = [...has.filter((fact) => !text.includes(fact)), ...not.filter((fact) => text.includes(fact))];
    missing.push(...absent.map((fact) => `${name}: ${fact}`));
    const format = name.split(".").at(-1) ?? "";
    const count = counts.get(format) ?? { files: 0, facts: 0, arrived: 0 };
    count.files += 1;
    count.facts += has.length + not.length;
    count.arrived += has.length + not.length - absent.length;
    counts.set(format, count);
  }
  const total = (of: "files" | "facts") => counts.values().reduce((sum, count) => sum + count[of], 0);
  if (process.env.MNEME_TEST_REPORT !== undefined) {
    const rows = [...counts].map(([format, count]) => [format, ...Object.values(count).map(String)]);
    process.stdout.write(alignRows([["format", "files", "facts", "arrived"], ...rows]).join("\n"));
  }
  expect(missing).toEqual([]);
  expect(total("files")).toBeGreaterThanOrEqual(FILES_MIN);
  expect(total("facts")).toBeGreaterThanOrEqual(FACTS_MIN);
});
