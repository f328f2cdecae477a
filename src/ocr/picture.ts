// A picture as grey values, and the geometry on it: shrinking, turning, and cutting out a slanted line of text.

/** A picture without colours. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  /** One byte per pixel, row by row: 0 is black, 255 white. */
  readonly grey: Uint8Array;
}

/** A point of a picture in pixels. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Corners of a line of text, in reading direction: top left, top right, bottom right, bottom left. */
export type Quad = readonly [Point, Point, Point, Point];

/** Maximum number of samples per axis that are averaged for one pixel of a cut-out line. */
const SAMPLES_MAX = 4;

/** Scales a picture: averages areas to shrink it, interpolates to enlarge it. */
export function scaled(picture: Picture, width: number, height: number): Picture {
  if (width === picture.width && height === picture.height) return picture;
  const columns = weightsOf(picture.width, width);
  const rows = weightsOf(picture.height, height);
  const grey = new Uint8Array(width * height);
  const row = new Float32Array(picture.width);
  for (let y = 0; y < height; y++) {
    row.fill(0);
    const { first, weights } = rows[y] ?? NO_WEIGHTS;
    for (const [at, weight] of weights.entries()) {
      const from = (first + at) * picture.width;
      for (let x = 0; x < picture.width; x++) row[x] = (row[x] ?? 0) + weight * (picture.grey[from + x] ?? 0);
    }
    for (let x = 0; x < width; x++) {
      const { first, weights } = columns[x] ?? NO_WEIGHTS;
      let sum = 0;
      for (let at = 0; at < weights.length; at++) sum += (weights[at] ?? 0) * (row[first + at] ?? 0);
      grey[y * width + x] = sum + 0.5;
    }
  }
  return { width, height, grey };
}

/** Turns a picture clockwise by a multiple of 90 degrees. */
export function turned(picture: Picture, quarters: number): Picture {
  const times = ((quarters % 4) + 4) % 4;
  if (times === 0) return picture;
  const { width, height, grey } = picture;
  const out = new Uint8Array(grey.length);
  const isSideways = times % 2 === 1;
  const outWidth = isSideways ? height : width;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const toX = times === 1 ? height - 1 - y : times === 2 ? width - 1 - x : y;
      const toY = times === 1 ? x : times === 2 ? height - 1 - y : width - 1 - x;
      out[toY * outWidth + toX] = grey[y * width + x] ?? 0;
    }
  }
  return { width: outWidth, height: isSideways ? width : height, grey: out };
}

/**
 * Cuts out a rectangle that may be rotated, and scales it to the given size. Only three of its corners count. Where it
 * shrinks, several samples are averaged for a pixel.
 */
export function cutOut(picture: Picture, [corner, right, , below]: Quad, width: number, height: number): Picture {
  const samplesX = samplesFor(distance(corner, right) / width);
  const samplesY = samplesFor(distance(corner, below) / height);
  const [columns, rows] = [width * samplesX, height * samplesY];
  const [acrossX, acrossY] = [(right.x - corner.x) / columns, (right.y - corner.y) / columns];
  const [downX, downY] = [(below.x - corner.x) / rows, (below.y - corner.y) / rows];
  const sums = new Float32Array(width * height);
  const { grey, width: stride } = picture;
  const [maxX, maxY] = [picture.width - 1, picture.height - 1];
  for (let row = 0; row < rows; row++) {
    const to = Math.floor(row / samplesY) * width;
    // the middle of the first sample; pixel 0 has its middle at 0
    let x = corner.x + downX * (row + 0.5) + acrossX / 2 - 0.5;
    let y = corner.y + downY * (row + 0.5) + acrossY / 2 - 0.5;
    for (let column = 0; column < columns; column++) {
      const inX = Math.min(Math.max(x, 0), maxX);
      const inY = Math.min(Math.max(y, 0), maxY);
      const [left, top] = [inX | 0, inY | 0];
      const at = top * stride + left;
      const nextX = left < maxX ? 1 : 0;
      const nextY = top < maxY ? stride : 0;
      const [shareX, shareY] = [inX - left, inY - top];
      const upper = (grey[at] ?? 0) * (1 - shareX) + (grey[at + nextX] ?? 0) * shareX;
      const lower = (grey[at + nextY] ?? 0) * (1 - shareX) + (grey[at + nextY + nextX] ?? 0) * shareX;
      const cell = to + ((column / samplesX) | 0);
      sums[cell] = (sums[cell] ?? 0) + upper * (1 - shareY) + lower * shareY;
      x += acrossX;
      y += acrossY;
    }
  }
  const samples = samplesX * samplesY;
  return { width, height, grey: Uint8Array.from(sums, (sum) => sum / samples + 0.5) };
}

/** Number of samples per axis for one pixel, if it covers this many pixels. */
function samplesFor(ratio: number): number {
  return Math.min(SAMPLES_MAX, Math.max(1, Math.ceil(ratio)));
}

/** Distance of two points in pixels. */
export function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

interface Weights {
  /** Index of the first pixel that counts. */
  readonly first: number;
  /** Weights of this and the following pixels; their sum is 1. */
  readonly weights: readonly number[];
}

const NO_WEIGHTS: Weights = { first: 0, weights: [] };

/** For each pixel of the scaled axis, the weights of the pixels that it covers. */
function weightsOf(from: number, to: number): readonly Weights[] {
  const ratio = from / to;
  return Array.from({ length: to }, (_, at): Weights => {
    if (ratio <= 1) {
      const middle = Math.min(from - 1, Math.max(0, (at + 0.5) * ratio - 0.5));
      const first = Math.min(Math.floor(middle), Math.max(0, from - 2));
      const share = middle - first;
      return { first, weights: from === 1 ? [1] : [1 - share, share] };
    }
    const [start, end] = [at * ratio, Math.min(from, (at + 1) * ratio)];
    const first = Math.floor(start);
    const weights: number[] = [];
    for (let pixel = first; pixel < end; pixel++) {
      weights.push((Math.min(end, pixel + 1) - Math.max(start, pixel)) / (end - start));
    }
    return { first, weights };
  });
}
