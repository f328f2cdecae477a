// Gives the recognised text of pictures the form of a PDF's text, so that the same code finds its columns, tables,
// paragraphs and headings.

import type { RecognisedLine, RecognisedPicture } from "../../ocr/recognised.ts";
import { descriptionOf } from "../recognition.ts";
import type { PageNote } from "./annotations.ts";
import type { Layer, OpenPdf, PageText } from "./pdfjs.ts";
import type { Run } from "./runs.ts";

/** Length of the longer side of a page in points: A4. So font sizes are about those of other pages. */
const PAGE_POINTS = 842;
/** Font size and height of the baseline over the lower edge, as shares of the height of a line's box. */
const SIZE_SHARE = 0.72;
const BASELINE_SHARE = 0.26;
/** Lines whose heights differ by less than this factor have the same font size: boxes are not that exact. */
const SAME_SIZE = 1.22;
const PLAIN = { isBold: false, isMonospaced: false } as const;

/** The text of a page, with the recognised text first. */
export function withRecognised(text: PageText, picture: RecognisedPicture): PageText {
  const layers = picture.lines.length > 0 ? [layerOf(picture), ...text.layers] : text.layers;
  return { ...text, layers, notes: [...text.notes, ...descriptionNotes(picture)] };
}

/** Pictures as the pages of a PDF. */
export function asPdf(pictures: readonly (RecognisedPicture | null)[]): OpenPdf {
  return {
    pageCount: pictures.length,
    titles: async () => [],
    bookmarks: async () => [],
    async read(page, check) {
      const picture = pictures[page - 1] ?? null;
      const layers = picture === null ? [] : [layerOf(picture)];
      check(layers[0]?.runs.length ?? 0);
      const notes = picture === null ? [] : descriptionNotes(picture);
      return { layers, isUndecodable: false, notes, rules: [] };
    },
    close: async () => undefined,
  };
}

/** The description of a picture as a note at the end of its page. */
function descriptionNotes(picture: RecognisedPicture): readonly PageNote[] {
  const text = descriptionOf(picture);
  return text === null ? [] : [{ text, left: 0, top: Number.MAX_SAFE_INTEGER, bottom: Number.MAX_SAFE_INTEGER }];
}

function layerOf({ width, height, lines }: RecognisedPicture): Layer {
  const scale = PAGE_POINTS / Math.max(1, width, height);
  const sizes = sizesOf(lines);
  return {
    angle: 0,
    top: 0,
    bottom: height * scale,
    runs: lines.map(
      (line, at): Run => ({
        text: line.text,
        left: line.left * scale,
        right: line.right * scale,
        baseline: (line.bottom - BASELINE_SHARE * (line.bottom - line.top)) * scale,
        size: (sizes[at] ?? 1) * scale,
        face: PLAIN,
      }),
    ),
  };
}

/** Font sizes in pixels: one for all lines of about the same height. */
function sizesOf(lines: readonly RecognisedLine[]): readonly number[] {
  const order = lines.map((_, at) => at).sort((a, b) => heightAt(lines, a) - heightAt(lines, b));
  const sizes = new Array<number>(lines.length).fill(1);
  for (let from = 0; from < order.length; ) {
    const smallest = heightAt(lines, order[from] ?? 0);
    let to = from;
    while (to < order.length && heightAt(lines, order[to] ?? 0) <= smallest * SAME_SIZE) to++;
    const middle = heightAt(lines, order[Math.floor((from + to) / 2)] ?? 0);
    for (; from < to; from++) sizes[order[from] ?? 0] = middle * SIZE_SHARE;
  }
  return sizes;
}

function heightAt(lines: readonly RecognisedLine[], at: number): number {
  const line = lines[at];
  return line === undefined ? 1 : Math.max(1, line.bottom - line.top);
}
