// Regions of the map: groups of points that lie close together, each named by the words that its memories share and
// others lack.

import type { PlanePoint } from "../../ui/point-field.ts";
import { isCommonWord } from "../shared/common-words.ts";

/** A region: its name, and the indices of its points. */
export interface Region {
  readonly name: string;
  readonly at: readonly number[];
}

const REGIONS_MAX = 5;
/** Number of points for each of which there may be one more region. */
const POINTS_PER_REGION = 4;
const ROUNDS = 24;
const WORD_CHARACTERS_MIN = 3;
/** Number of words of a name that are looked at. The first ones say what it is about. */
const WORDS_READ = 3;

/**
 * The regions of points, largest first. Points whose neighbours share no word with them are in none.
 * @param names names of the memories; empty where one is not known
 */
export function regionsOf(points: readonly PlanePoint[], names: readonly string[]): readonly Region[] {
  const groups = groupsOf(points, Math.min(REGIONS_MAX, Math.floor(points.length / POINTS_PER_REGION)));
  const words = names.map(wordsOf);
  const used = new Set<string>();
  return groups
    .filter((at) => at.length > 1)
    .sort((left, right) => right.length - left.length)
    .flatMap((at) => {
      const name = nameOf(at, words, used);
      if (name === null) return [];
      used.add(name.toLowerCase());
      return [{ name: name.charAt(0).toUpperCase() + name.slice(1), at }];
    });
}

/** Divides points into groups of near ones (k-means). The first centres are far apart, so no chance is involved. */
function groupsOf(points: readonly PlanePoint[], count: number): number[][] {
  const first = points[0];
  if (first === undefined || count < 2) return [];
  const centres = [first];
  while (centres.length < count) {
    const away = (point: PlanePoint) => Math.min(...centres.map((centre) => distance(point, centre)));
    centres.push(points.reduce((best, point) => (away(point) > away(best) ? point : best), first));
  }
  let groups: number[][] = [];
  for (let round = 0; round < ROUNDS; round++) {
    groups = centres.map(() => []);
    for (const [at, point] of points.entries()) groups[nearestOf(point, centres)]?.push(at);
    for (const [at, group] of groups.entries()) {
      if (group.length > 0) centres[at] = middleOf(group.map((index) => points[index] as PlanePoint));
    }
  }
  return groups;
}

function nearestOf(point: PlanePoint, centres: readonly PlanePoint[]): number {
  let best = 0;
  for (const [at, centre] of centres.entries()) {
    if (distance(point, centre) < distance(point, centres[best] as PlanePoint)) best = at;
  }
  return best;
}

function middleOf(points: readonly PlanePoint[]): PlanePoint {
  const sum = points.reduce((all, { x, y }) => ({ x: all.x + x, y: all.y + y }), { x: 0, y: 0 });
  return { x: sum.x / points.length, y: sum.y / points.length };
}

function distance(one: PlanePoint, other: PlanePoint): number {
  return (one.x - other.x) ** 2 + (one.y - other.y) ** 2;
}

/** The word that most of these memories share and few others have, as it is written first; null if no two share one. */
function nameOf(
  at: readonly number[],
  words: readonly (readonly string[])[],
  used: ReadonlySet<string>,
): string | null {
  const all = countsOf(words);
  const here = countsOf(at.map((index) => words[index] ?? []));
  let [best, most]: [string | null, number] = [null, 0];
  for (const [key, { count, written }] of here) {
    if (count < 2 || used.has(key)) continue;
    const score = (count * count) / (all.get(key)?.count ?? count);
    if (score > most || (score === most && written.length > (best?.length ?? 0))) [best, most] = [written, score];
  }
  return best;
}

/** In how many lists each word is, by the word in small letters. */
function countsOf(lists: readonly (readonly string[])[]): Map<string, { count: number; readonly written: string }> {
  const counts = new Map<string, { count: number; readonly written: string }>();
  for (const list of lists) {
    for (const [key, written] of new Map(list.map((word) => [word.toLowerCase(), word]))) {
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { count: 1, written });
      else known.count += 1;
    }
  }
  return counts;
}

/**
 * The words of a name that say something, and each two that follow each other. Where words are not divided by spaces,
 * the segmenter divides them.
 */
function wordsOf(name: string): readonly string[] {
  const words: string[] = [];
  let [before, read] = ["", 0];
  for (const { segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(name)) {
    const word = segment.replace(/['’]s$/u, "");
    if (/^[\s-]+$/u.test(segment)) continue; // "tide-gauge" is the same phrase as "tide gauge"
    const isLong = word.length >= WORD_CHARACTERS_MIN || /\p{Lo}/u.test(word);
    const isTelling = isWordLike === true && isLong && !/^\p{N}/u.test(word) && !isCommonWord(word);
    if (isTelling) {
      words.push(word, ...(before === "" ? [] : [`${before} ${word}`]));
      read += 1;
      if (read === WORDS_READ) break;
    }
    before = isTelling ? word : "";
  }
  return words;
}
