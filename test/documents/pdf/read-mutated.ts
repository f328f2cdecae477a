// Reads randomly damaged PDFs and writes a line for each violated guarantee. It is a separate program, so that the test
// also notices errors that end the process after a file was read. Arguments: mutations per file, seed, files; without
// files it reads a generated PDF.

import { readFileSync } from "node:fs";
import { readPdf } from "../../../src/documents/pdf/read-pdf.ts";
import { ReadFailure } from "../../../src/ports/document-reader.ts";
import { seeded } from "../../support/seeded.ts";
import { buildPdf, lines } from "./build-pdf.ts";

/** Time limit for one document, in milliseconds. */
const EACH_MS = 10_000;

/** A file with most features that the reader handles. */
const SAMPLE = buildPdf({
  title: "Harbours",
  bookmarks: ["Walls", "Lights"],
  hasPicture: true,
  pages: [
    [
      { text: "Harbours of the coast", x: 60, y: 60, size: 20 },
      { text: "Walls", x: 60, y: 90, font: "bold" },
      ...lines(Array<string>(20).fill("The harbour was built in the spring of the"), 60, 110),
      ...lines(Array<string>(20).fill("year in which the river carried away the"), 320, 110),
      { text: "\u05e9\u05dc\u05d5\u05dd \ufb01", x: 60, y: 400, font: "unicode" },
      { text: "82a082a2", x: 60, y: 420, font: "shift-jis" },
      { text: "abc", x: 60, y: 440, font: "symbols" },
      { text: "aside", x: 20, y: 500, degrees: 90 },
    ],
    [40, 160, 280].flatMap((x) => lines(["Name", "Porttown", "Newquay"], x, 100)),
  ],
});

type Mutation = (bytes: Uint8Array, random: () => number) => Uint8Array;
const MUTATE: Readonly<Record<string, Mutation>> = {
  truncate: (bytes, random) => bytes.slice(0, Math.floor(random() * bytes.length)),
  flip: (bytes, random) => {
    const result = bytes.slice();
    for (let times = 1 + Math.floor(random() * 20); times > 0; times--) {
      result[Math.floor(random() * result.length)] = Math.floor(random() * 256);
    }
    return result;
  },
  // replaces a number in the PDF syntax: lengths, offsets, counts, sizes
  renumber: (bytes, random) => {
    const text = Buffer.from(bytes).toString("latin1");
    const numbers = [...text.matchAll(/\d+/g)];
    const chosen = numbers[Math.floor(random() * numbers.length)];
    if (chosen === undefined) return bytes;
    const value = ["0", "-1", "1", "2147483648", "99999999999999999999", "1e9", "NaN"][Math.floor(random() * 7)] ?? "0";
    return Buffer.from(text.slice(0, chosen.index) + value + text.slice(chosen.index + chosen[0].length), "latin1");
  },
  splice: (bytes, random) => {
    const [from, to] = [random(), random()].map((place) => Math.floor(place * bytes.length)).sort((a, b) => a - b);
    return Buffer.concat([bytes.slice(0, from), bytes.slice(to)]);
  },
  repeat: (bytes, random) => {
    const from = Math.floor(random() * bytes.length);
    const part = bytes.slice(from, from + Math.floor(random() * 2_000));
    return Buffer.concat([
      bytes.slice(0, from),
      ...Array<Uint8Array>(1 + Math.floor(random() * 30)).fill(part),
      bytes.slice(from),
    ]);
  },
};

async function problemOf(bytes: Uint8Array): Promise<string | null> {
  const startedAt = performance.now();
  const document = await readPdf(bytes);
  const ms = performance.now() - startedAt;
  if (ms > EACH_MS) return `took ${Math.round(ms)} ms`;
  if (document instanceof ReadFailure) {
    const hasMessage = document.code === "unreadable_document" && document.message.startsWith("The file");
    return hasMessage ? null : `failed with ${document.code}: ${document.message} (${String(document.cause)})`;
  }
  const text = document.pieces.join("");
  if (!/\S/.test(text)) return "no text";
  if (text.includes("\0") || !text.isWellFormed()) return "an invalid text";
  const places = document.marks.map((mark) => mark.at);
  const isAscending = places.every((place, at) => at === 0 || place >= (places[at - 1] ?? 0));
  return isAscending && (places.at(-1) ?? 0) <= text.length ? null : "marks out of order";
}

const [times = "1", seed = "1", ...files] = process.argv.slice(2);
const samples = files.length === 0 ? [SAMPLE] : files.map((file) => new Uint8Array(readFileSync(file)));
for (const [sample, bytes] of samples.entries()) {
  const random = seeded(Number(seed));
  for (let at = 0; at < Number(times); at++) {
    for (const [name, mutation] of Object.entries(MUTATE)) {
      const problem = await problemOf(mutation(bytes, random));
      if (problem !== null) process.stdout.write(`${files[sample] ?? "sample"}: ${name} ${at}: ${problem}\n`);
    }
  }
}
process.stdout.write("done\n");
