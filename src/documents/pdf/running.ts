// Finds repeated content that is not part of the text: running headers and footers, page numbers, watermarks. Such
// content is at the same position on consecutive pages.

import type { Row, Segment } from "./segments.ts";

/** The rows of a page with one text direction. */
export interface LayerRows {
  /** Rows from top to bottom. */
  readonly rows: readonly Row[];
  readonly top: number;
  readonly bottom: number;
}

/** The rows of a page. */
export interface PageRows {
  readonly number: number;
  /** One layer per text direction; the direction of most of the text comes first. */
  readonly layers: readonly LayerRows[];
}

/** Headers and footers are among this many rows at the top or bottom, and within this share of the page height. */
const MARGIN_ROWS = 3;
const MARGIN_SHARE = 0.15;
/**
 * Minimum number of pages that repeat the same content. It may be missing on one page between two of them, because left
 * and right pages differ.
 */
const PAGES_MIN = 3;
const PAGE_STEP_MAX = 2;
/** In documents with at most this many pages, two pages with the same content are enough. */
const FEW_PAGES = 3;
/** Maximum distance between two positions that count as the same, in points. */
const PLACE_POINTS = 6;
/** Minimum distance between a lone page number and the text, in font sizes. */
const ALONE_SIZES = 1.8;
/** A row with at least this many segments that are not repeated is a table row that shares some values with others. */
const OWN_SEGMENTS = 2;
/** Of a line with several numbers, at most this many are tried as the page number. */
const NUMBERS_MAX = 4;
const PAGE_NUMBER = /^(?:[-–—] ?)?(?:\d{1,4}|[ivxlc]{1,7})(?: ?[-–—])?$/;
const ROMAN: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50, c: 100 };

/**
 * The segments that do not belong to the text. On the first page only page numbers are removed, so that a letterhead,
 * which is repeated on every page, stays in the text once.
 */
export function runningSegments(pages: readonly PageRows[]): ReadonlySet<Segment> {
  const pagesByKey = new Map<string, number[]>();
  for (const page of pages) {
    for (const segment of candidatesOf(page)) {
      for (const { key } of keysOf(segment, page.number)) {
        const known = pagesByKey.get(key);
        if (known === undefined) pagesByKey.set(key, [page.number]);
        else if (known.at(-1) !== page.number) known.push(page.number);
      }
    }
  }
  const pagesMin = pages.length <= FEW_PAGES ? 2 : PAGES_MIN;
  const running = new Map([...pagesByKey].map(([key, numbers]) => [key, consecutive(numbers, pagesMin)]));
  const found = new Set<Segment>();
  for (const page of pages) {
    const isRunning = (segment: Segment) =>
      keysOf(segment, page.number).some(
        ({ key, isNumbered }) => running.get(key)?.has(page.number) === true && (isNumbered || page.number > 1),
      );
    for (const { segments } of candidateRowsOf(page)) {
      const repeated = segments.filter(isRunning);
      if (segments.length - repeated.length < OWN_SEGMENTS) for (const segment of repeated) found.add(segment);
    }
    for (const segment of loneNumbersOf(page, found)) found.add(segment);
  }
  return found;
}

/** Numbers that are alone at the top or bottom of a page, apart from running content. */
function loneNumbersOf({ layers: [main] }: PageRows, running: ReadonlySet<Segment>): readonly Segment[] {
  if (main === undefined || main.rows.length < 2) return [];
  const { rows, top, bottom } = main;
  const margin = MARGIN_SHARE * (bottom - top);
  const numberOf = (row: Row | undefined, neighbour: Row | undefined): readonly Segment[] => {
    if (row === undefined || neighbour === undefined) return [];
    const isInMargin = row.baseline < top + margin || row.baseline > bottom - margin;
    const isApart = Math.abs(row.baseline - neighbour.baseline) > ALONE_SIZES * row.size;
    const others = row.segments.filter((segment) => !running.has(segment));
    return isInMargin && isApart && others.length === 1 && PAGE_NUMBER.test(others[0]?.text ?? "") ? others : [];
  };
  return [...numberOf(rows[0], rows[1]), ...numberOf(rows.at(-1), rows.at(-2))];
}

function candidatesOf(page: PageRows): readonly Segment[] {
  return candidateRowsOf(page).flatMap((row) => row.segments);
}

/** Rows near the top and bottom of a page, and all rows of other directions. */
function candidateRowsOf({ layers: [main, ...across] }: PageRows): readonly Row[] {
  const rows = across.flatMap((layer) => layer.rows);
  if (main !== undefined) {
    const margin = MARGIN_SHARE * (main.bottom - main.top);
    const above = main.rows.slice(0, MARGIN_ROWS).filter(({ baseline }) => baseline < main.top + margin);
    const below = main.rows.slice(-MARGIN_ROWS).filter(({ baseline }) => baseline > main.bottom - margin);
    rows.push(...above, ...below);
  }
  return rows;
}

/**
 * Keys of a segment that are equal for repeated content on different pages. A key consists of the position and of the
 * text, in which the page number is replaced.
 */
function keysOf({ text, baseline }: Segment, page: number): readonly { key: string; isNumbered: boolean }[] {
  const texts = [{ text, isNumbered: false }];
  for (const match of [...text.matchAll(/\d{1,5}/g)].slice(0, NUMBERS_MAX)) {
    const before = text.slice(0, match.index);
    const after = text.slice(match.index + match[0].length);
    texts.push({ text: `${before}#${Number(match[0]) - page}${after}`, isNumbered: true });
  }
  if (/^[ivxlc]{1,10}$/i.test(text)) texts.push({ text: `#${romanNumber(text) - page}`, isNumbered: true });
  // Positions are rounded to the cells of two grids, which are shifted by half a cell. So two close positions are in
  // the same cell of at least one grid.
  const places = [Math.floor(baseline / PLACE_POINTS), 0.5 + Math.floor(baseline / PLACE_POINTS + 0.5)];
  return texts.flatMap(({ text: shared, isNumbered }) =>
    places.map((place) => ({ key: `${place} ${shared}`, isNumbered })),
  );
}

/**
 * Of page numbers in ascending order, returns those that belong to a long enough sequence of nearly consecutive
 * numbers.
 */
function consecutive(numbers: readonly number[], countMin: number): ReadonlySet<number> {
  const found = new Set<number>();
  let chain: number[] = [];
  for (const number of [...numbers, Number.POSITIVE_INFINITY]) {
    if (number - (chain.at(-1) ?? number) > PAGE_STEP_MAX) {
      if (chain.length >= countMin) for (const each of chain) found.add(each);
      chain = [];
    }
    chain.push(number);
  }
  return found;
}

function romanNumber(text: string): number {
  const values = [...text.toLowerCase()].map((digit) => ROMAN[digit] ?? 0);
  return values.reduce((sum, value, at) => sum + (value < (values[at + 1] ?? 0) ? -value : value), 0);
}
