// What is kept of the text of a picture: the lines that are legible, from top to bottom of an upright page.

import { distance, type Point, type Quad } from "./picture.ts";
import type { PictureLine, PictureText } from "./read-picture.ts";

/** A legible line. Coordinates in pixels, after the page was turned so that its lines are level. */
export interface RecognisedLine {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** The legible text of a picture. */
export interface RecognisedPicture {
  /** Page (from 1) of a PDF, TIFF or picture, or name of a part of the file. */
  readonly id: string;
  readonly width: number;
  readonly height: number;
  readonly lines: readonly RecognisedLine[];
  /** Mean score of the lines, weighted by their length, 0..1; null if none is legible. */
  readonly confidence: number | null;
  /** What the picture shows, written by a language model. */
  readonly description?: string;
  /** What is missing, as the end of a sentence that begins with the page; null if nothing is. */
  readonly problem: string | null;
}

/** Minimum score of a line. Greek, whose letters the model knows in part, has 0.57, blurred Latin print 0.8. */
const LINE_SCORE_MIN = 0.6;
/** A confidence below this is reported. */
const CONFIDENCE_LOW = 0.8;
/** Minimum share of the letters below in a Vietnamese text. The model leaves out letters with two marks. */
const VIETNAMESE_SHARE = 0.03;
const VIETNAMESE = /[ươđƯƠĐ]/gu;
const GREEK = /\p{sc=Grek}/gu;
/**
 * Minimum number and share of Greek letters in a Greek page and in a Greek line. In a Greek page, a line needs only the
 * share; elsewhere also the number, because formulas have fewer. The model leaves out the letters with accents.
 */
const GREEK_PAGE = { letters: 12, share: 0.3 };
const GREEK_LINE = { letters: 8, share: 0.5 };
/** The legible lines are dropped if they are a smaller share of the writing: such lines are legible by chance. */
const LEGIBLE_SHARE_MIN = 0.1;
const LETTERS = /\p{L}/gu;
/** Lines at least this many times as long as high show how much the page is tilted. */
const LONG_RATIO = 5;

const KNOWN_WRITING = "text recognition reads Latin, Chinese and Japanese writing";

/** The legible text of a picture. */
export function recognised(id: string, { width, height, lines }: PictureText): RecognisedPicture {
  const written = lines.filter(({ quad }) => distance(quad[0], quad[1]) > 0);
  const isUnknown = unknownLetters(written);
  const all = written.map((line) => (isUnknown(line) ? { ...line, score: 0 } : line));
  const clear = all.filter(({ score, text }) => score >= LINE_SCORE_MIN && /[^\s\p{C}]/u.test(text));
  const legible = lengthOf(clear) < lengthOf(all) * LEGIBLE_SHARE_MIN ? [] : clear;
  const confidence = legible.length === 0 ? null : meanOf(legible);
  const angle = tiltOf(legible);
  return {
    id,
    width,
    height,
    lines: legible.map((line) => levelLine(line, angle)),
    confidence,
    problem: problemOf(all, legible, confidence),
  };
}

/** A picture that could not be read at all. */
export function unread(id: string, problem: string): RecognisedPicture {
  return { id, width: 0, height: 0, lines: [], confidence: null, problem };
}

function problemOf(
  all: readonly PictureLine[],
  legible: readonly PictureLine[],
  confidence: number | null,
): string | null {
  if (all.length === 0) return "shows no text";
  if (confidence === null) return `shows writing that cannot be read; ${KNOWN_WRITING}`;
  const left = all.length - legible.length;
  if (lengthOf(legible) < lengthOf(all) / 2) return `shows writing most of which cannot be read; ${KNOWN_WRITING}`;
  if (confidence < CONFIDENCE_LOW)
    return `is hard to read; its text may have errors (confidence ${confidence.toFixed(2)})`;
  // single marks and specks are found as lines, too
  return left > 2 && left > all.length / 10 ? `has ${left} lines that cannot be read` : null;
}

/** Whether a line is of a writing whose letters the model knows only in part. */
function unknownLetters(lines: readonly PictureLine[]): (line: PictureLine) => boolean {
  const page = lines.map((line) => line.text).join(" ");
  if (countOf(VIETNAMESE, page) > countOf(LETTERS, page) * VIETNAMESE_SHARE) return () => true;
  const { letters, share } = GREEK_LINE;
  const inLine = { letters: isGreek(page, GREEK_PAGE) ? 1 : letters, share };
  return ({ text }) => isGreek(text, inLine);
}

function isGreek(text: string, { letters, share }: typeof GREEK_PAGE): boolean {
  const greek = countOf(GREEK, text);
  return greek >= letters && greek >= countOf(LETTERS, text) * share;
}

function countOf(sign: RegExp, text: string): number {
  return text.match(sign)?.length ?? 0;
}

function meanOf(lines: readonly PictureLine[]): number {
  const sum = lines.reduce((total, line) => total + line.score * lengthOf([line]), 0);
  return Math.min(1, Math.max(0, sum / lengthOf(lines)));
}

function lengthOf(lines: readonly PictureLine[]): number {
  return lines.reduce((sum, { quad }) => sum + Math.max(distance(quad[0], quad[1]), distance(quad[0], quad[3])), 0);
}

/** The usual direction of long lines, in radians. */
function tiltOf(lines: readonly PictureLine[]): number {
  const angles = lines
    .filter(({ quad }) => distance(quad[0], quad[1]) >= LONG_RATIO * distance(quad[0], quad[3]))
    .map(({ quad: [a, b] }) => Math.atan2(b.y - a.y, b.x - a.x))
    .sort((one, other) => one - other);
  return angles[Math.floor(angles.length / 2)] ?? 0;
}

function levelLine({ text, quad }: PictureLine, angle: number): RecognisedLine {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const level = ({ x, y }: Point): Point => ({ x: x * cos + y * sin, y: y * cos - x * sin });
  const [a, b, c, d] = quad.map(level) as unknown as Quad;
  return {
    text: text.trim(),
    left: (a.x + d.x) / 2,
    right: (b.x + c.x) / 2,
    top: (a.y + b.y) / 2,
    bottom: (c.y + d.y) / 2,
  };
}
