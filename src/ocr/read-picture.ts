// Reads the text of a picture: finds lines, reads each, and turns the picture if it lies on its side or upside down.
// The models are PP-OCR's detection and recognition; decision 092 says why.

import { alphabetOf, type DecodedLine, decodeLine } from "./decode-line.ts";
import { cutOut, distance, type Picture, type Point, type Quad, scaled, turned } from "./picture.ts";
import { textBoxes } from "./text-boxes.ts";

/** Runs a model on one input of 32-bit floats. */
export interface PictureModel {
  run(input: Float32Array, dimensions: readonly number[]): Promise<ModelOutput>;
}

/** Output of a model. */
export interface ModelOutput {
  readonly values: Float32Array;
  readonly dimensions: readonly number[];
}

/** Both models. */
export interface PictureModels {
  readonly detection: PictureModel;
  readonly recognition: PictureModel;
  /** Characters that the recognition model knows, one per line. */
  readonly characters: string;
}

/** A line of text in a picture. */
export interface PictureLine {
  /** Empty if no character was recognised. */
  readonly text: string;
  /** How sure its text is, 0..1 (decode-line.ts). */
  readonly score: number;
  /** Corners in pixels of the picture after it was turned. */
  readonly quad: Quad;
}

/** The text of a picture. */
export interface PictureText {
  /** Size in pixels after the picture was turned. */
  readonly width: number;
  readonly height: number;
  /** In the order in which they were found. */
  readonly lines: readonly PictureLine[];
}

/**
 * Length of the longer side in pixels for detection. Larger ones split lines and double the time without fewer errors
 * (measured on pages of A4, docs/measurements.md).
 */
const DETECTION_SIDE = 960;
/** Factor of the sides, which the model halves five times. */
const DETECTION_STEP = 32;
/** Height in pixels of a line for the recognition model. */
const LINE_HEIGHT = 48;
/** Minimum width in pixels of a line for the recognition model, and step of the widths, so that few shapes occur. */
const LINE_WIDTH_MIN = 64;
const LINE_WIDTH_STEP = 32;
/** Maximum width of a line in pixels. A longer one is squeezed. */
const LINE_WIDTH_MAX = 3_200;
/** Maximum sum of the padded widths of the lines in a batch, in pixels. Their outputs take 75 KB per 8 pixels. */
const BATCH_WIDTH_MAX = 1_600;
/** A line that is this many times as tall as wide is turned before it is read: it is set vertically. */
const VERTICAL_RATIO = 1.5;
/** Number of lines that show whether the picture is upright. */
const SAMPLE_LINES = 6;
/** If the sample lines have at least this score, the picture is upright. */
const UPRIGHT_SCORE = 0.8;
/** Minimum score of the sample lines of a picture that is turned by a quarter. */
const SIDEWAYS_SCORE_MIN = 0.7;

/** Reads a picture. */
export async function readPicture(picture: Picture, models: PictureModels): Promise<PictureText> {
  const reader = new PictureReader(models);
  const boxes = await reader.detect(picture);
  const quarters = await reader.quartersToUpright(picture, boxes);
  const upright = turned(picture, quarters);
  const found = quarters === 0 ? boxes : await reader.detect(upright);
  return { width: upright.width, height: upright.height, lines: await reader.read(upright, found) };
}

class PictureReader {
  private readonly alphabet: readonly string[];

  constructor(private readonly models: PictureModels) {
    this.alphabet = alphabetOf(models.characters);
  }

  /** The boxes of the lines. */
  async detect(picture: Picture): Promise<readonly Quad[]> {
    const ratio = Math.min(1, DETECTION_SIDE / Math.max(picture.width, picture.height));
    const side = (length: number) =>
      Math.max(DETECTION_STEP, Math.round((length * ratio) / DETECTION_STEP) * DETECTION_STEP);
    const [width, height] = [side(picture.width), side(picture.height)];
    const { values } = await this.models.detection.run(inputOf([scaled(picture, width, height)], width), [
      1,
      3,
      height,
      width,
    ]);
    const [scaleX, scaleY] = [picture.width / width, picture.height / height];
    const inPicture = ({ x, y }: Point): Point => ({
      x: Math.min(picture.width, Math.max(0, x * scaleX)),
      y: Math.min(picture.height, Math.max(0, y * scaleY)),
    });
    return textBoxes({ width, height, values }).map(
      ([a, b, c, d]): Quad => [inPicture(a), inPicture(b), inPicture(c), inPicture(d)],
    );
  }

  /** By how many quarters the picture must be turned clockwise to be upright. */
  async quartersToUpright(picture: Picture, boxes: readonly Quad[]): Promise<number> {
    const longest = boxes.toSorted((a, b) => longerSide(b) - longerSide(a)).slice(0, SAMPLE_LINES);
    if (longest.length === 0) return 0;
    // Chinese and Japanese set vertically is turned too: its columns, from right to left, become rows
    if (longest.filter((quad) => isVertical(quad)).length * 2 > longest.length) {
      const [right, left] = [await this.turnedScore(picture, longest, 1), await this.turnedScore(picture, longest, 3)];
      return Math.max(right, left) < SIDEWAYS_SCORE_MIN ? 0 : right > left ? 1 : 3;
    }
    const asIs = await this.scoreOf(picture, longest);
    if (asIs >= UPRIGHT_SCORE) return 0;
    // Hebrew upside down looks like Latin and scores 0.66
    return (await this.turnedScore(picture, longest, 2)) >= UPRIGHT_SCORE ? 2 : 0;
  }

  /** The texts of the boxes; empty where nothing is recognised. */
  async read(picture: Picture, boxes: readonly Quad[]): Promise<readonly PictureLine[]> {
    const texts = await this.decode(picture, boxes);
    return boxes.map((quad, at) => ({ text: "", score: 0, ...texts[at], quad }));
  }

  private turnedScore(picture: Picture, boxes: readonly Quad[], quarters: number): Promise<number> {
    return this.scoreOf(
      turned(picture, quarters),
      boxes.map((quad) => turnedQuad(quad, picture, quarters)),
    );
  }

  private async scoreOf(picture: Picture, boxes: readonly Quad[]): Promise<number> {
    const lines = await this.decode(picture, boxes);
    return lines.reduce((sum, { score }) => sum + score, 0) / lines.length;
  }

  /** Reads lines in batches of similar width. Returns them in the order of the boxes. */
  private async decode(picture: Picture, boxes: readonly Quad[]): Promise<readonly DecodedLine[]> {
    const decoded: DecodedLine[] = Array.from({ length: boxes.length }, () => ({ text: "", score: 0 }));
    const widths = boxes.map((quad) => ({ quad, width: lineWidthOf(quad) }));
    const order = widths.map((_, at) => at).sort((a, b) => (widths[a]?.width ?? 0) - (widths[b]?.width ?? 0));
    for (let from = 0; from < order.length; ) {
      let to = from;
      let width = 0;
      for (; to < order.length; to++) {
        const wider = paddedWidth(widths[order[to] ?? 0]?.width ?? 0);
        if (to > from && wider * (to - from + 1) > BATCH_WIDTH_MAX) break;
        width = wider;
      }
      const indices = order.slice(from, to);
      from = to;
      const lines = indices.flatMap((index) => {
        const line = widths[index];
        return line === undefined ? [] : [lineOf(picture, line.quad, line.width)];
      });
      const { values } = await this.models.recognition.run(inputOf(lines, width), [
        lines.length,
        3,
        LINE_HEIGHT,
        width,
      ]);
      const units = values.length / lines.length;
      for (const [row, index] of indices.entries()) {
        decoded[index] = decodeLine(values.subarray(row * units, (row + 1) * units), this.alphabet);
      }
    }
    return decoded;
  }
}

/** Cuts out a line, with a height of `LINE_HEIGHT`. */
function lineOf(picture: Picture, quad: Quad, width: number): Picture {
  if (!isVertical(quad)) return cutOut(picture, quad, width, LINE_HEIGHT);
  const [a, b, c, d] = quad;
  // counter-clockwise, as PP-OCR turns lines that are set vertically
  return cutOut(picture, [b, c, d, a], width, LINE_HEIGHT);
}

function isVertical(quad: Quad): boolean {
  return heightOf(quad) >= VERTICAL_RATIO * widthOf(quad);
}

function widthOf([a, b, c, d]: Quad): number {
  return Math.max(1, distance(a, b), distance(d, c));
}

function heightOf([a, b, c, d]: Quad): number {
  return Math.max(1, distance(a, d), distance(b, c));
}

function longerSide(quad: Quad): number {
  return Math.max(widthOf(quad), heightOf(quad));
}

function lineWidthOf(quad: Quad): number {
  const [across, down] = isVertical(quad) ? [heightOf(quad), widthOf(quad)] : [widthOf(quad), heightOf(quad)];
  return Math.min(LINE_WIDTH_MAX, Math.max(1, Math.ceil((across / down) * LINE_HEIGHT)));
}

function paddedWidth(width: number): number {
  return Math.max(LINE_WIDTH_MIN, Math.ceil(width / LINE_WIDTH_STEP) * LINE_WIDTH_STEP);
}

/** Where a box lies after the picture was turned. */
function turnedQuad(quad: Quad, { width, height }: Picture, quarters: number): Quad {
  const turn = ({ x, y }: Point): Point =>
    quarters === 1
      ? { x: height - y, y: x }
      : quarters === 2
        ? { x: width - x, y: height - y }
        : { x: y, y: width - x };
  const [a, b, c, d] = quad.map(turn) as unknown as Quad;
  return quarters === 1 ? [d, a, b, c] : quarters === 2 ? [c, d, a, b] : [b, c, d, a];
}

/** The input of a model: three equal channels from -1 to 1; 0 to the right of a picture that is narrower. */
function inputOf(pictures: readonly Picture[], width: number): Float32Array {
  const height = pictures[0]?.height ?? 0;
  const plane = width * height;
  const input = new Float32Array(pictures.length * 3 * plane);
  for (const [at, picture] of pictures.entries()) {
    const base = at * 3 * plane;
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < picture.width; x++) {
        input[base + y * width + x] = (picture.grey[y * picture.width + x] ?? 0) / 127.5 - 1;
      }
    }
    input.copyWithin(base + plane, base, base + plane);
    input.copyWithin(base + 2 * plane, base, base + plane);
  }
  return input;
}
