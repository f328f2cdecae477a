// Reads subtitles (SubRip, WebVTT) as a conversation: one line per turn, `[0:01:05] Ada: what she says`, in the form
// that preparation/conversation reads. Subtitles of one speaker that follow each other are one turn.

import type { PlaceMark } from "../document.ts";
import { onOneLine, readable } from "../text-writer.ts";

/** Speaker of a turn if the file names none. It is a role (domain/chunk.ts), which models do not read. */
const UNNAMED = "Speaker";
/** A turn ends with a sentence from this length on, at this maximum length (UTF-16 code units), or at this pause. */
const TURN_UNITS = 160;
const TURN_UNITS_MAX = 600;
const PAUSE_SECONDS = 3;

const TIMING =
  /^\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[,.](\d{1,3}))?\s*-->\s*(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[,.](\d{1,3}))?/;
/** A name before a colon: capitals, as is usual in subtitles, or one to three words that begin with capitals. */
const NAMED = /^(?:>>\s*)?[-–]?\s*([\p{Lu}][\p{L}\p{M}\p{N}.'’ -]{0,38}?)\s?[:：]\s+(?=\S)/u;
const NAME_WORDS_MAX = 3;

/** A subtitle. */
interface Cue {
  readonly from: number;
  readonly to: number;
  readonly speaker: string | null;
  readonly text: string;
  /** Whether the subtitle marks that another person speaks. */
  readonly isOther: boolean;
}

/**
 * The text of subtitles, and the seconds at which each turn begins and ends. A file without any subtitle is returned
 * unchanged. Takes linear time.
 */
export function subtitleText(file: string): {
  readonly pieces: readonly string[];
  readonly marks: readonly PlaceMark[];
} {
  const turns = turnsOf(cuesOf(file));
  if (turns.length === 0) return { pieces: [file], marks: [] };
  const pieces: string[] = [];
  const marks: PlaceMark[] = [];
  let at = 0;
  for (const { from, to, speaker, text } of turns) {
    const line = `${at === 0 ? "" : "\n"}[${clockOf(from)}] ${speaker ?? UNNAMED}: ${text}`;
    marks.push({ at: at === 0 ? 0 : at + 1, fromSeconds: from, toSeconds: to });
    pieces.push(line);
    at += line.length;
  }
  return { pieces, marks };
}

function* cuesOf(file: string): Generator<Cue> {
  let timing: { readonly from: number; readonly to: number } | null = null;
  let lines: string[] = [];
  for (const raw of `${file}\n\n`.split(/\r\n?|\n/)) {
    const found = raw.includes("-->") ? timingOf(raw) : null;
    if (found !== null) {
      // removes the number of the next subtitle if no empty line precedes it
      if (lines.length > 1 && /^\d+$/.test(lines.at(-1)?.trim() ?? "")) lines.pop();
      if (timing !== null) yield* cuesOfLines(timing, lines);
      [timing, lines] = [found, []];
    } else if (raw.trim() === "") {
      if (timing !== null) yield* cuesOfLines(timing, lines);
      [timing, lines] = [null, []];
    } else if (timing !== null) lines.push(raw);
  }
}

/** The subtitles in the lines below one time: one per speaker. */
function* cuesOfLines(
  timing: { readonly from: number; readonly to: number },
  lines: readonly string[],
): Generator<Cue> {
  let open: { speaker: string | null; isOther: boolean; parts: string[] } | null = null;
  const close = function* (): Generator<Cue> {
    const text = onOneLine(readable(open?.parts.join(" ") ?? ""));
    if (open !== null && text !== "") yield { ...timing, speaker: open.speaker, isOther: open.isOther, text };
  };
  for (const line of lines) {
    for (const { voice, text } of voicesOf(line)) {
      const plain = withoutTags(text).trim();
      const named = voice ?? nameOf(plain);
      const isOther = /^(?:[-–]\s|>>)/.test(plain);
      const spoken =
        voice === null && named !== null ? plain.replace(NAMED, "") : plain.replace(/^(?:[-–]\s+|>>+\s*)/, "");
      if (open === null || named !== null || isOther) {
        yield* close();
        open = { speaker: named, isOther: isOther || named !== null, parts: [spoken] };
      } else open.parts.push(spoken);
    }
  }
  yield* close();
}

/** The parts of a line by WebVTT's voice tags: `<v Ada>Hello.</v>`. */
function voicesOf(line: string): readonly { readonly voice: string | null; readonly text: string }[] {
  if (!/<v[.\s]/i.test(line)) return [{ voice: null, text: line }];
  return line.split(/(?=<v[.\s])/i).flatMap((part) => {
    const [tag, name] = /^<v(?:\.[^\s>]*)?\s+([^>]{1,64})>/i.exec(part) ?? [];
    const text = part.slice(tag?.length ?? 0);
    const voice = name === undefined ? null : onOneLine(decodedEntities(name)).replaceAll(":", " ");
    return text.trim() === "" ? [] : [{ voice: voice === "" ? null : voice, text }];
  });
}

function nameOf(text: string): string | null {
  const name = NAMED.exec(text)?.[1]?.trim();
  if (name === undefined) return null;
  const words = name.split(/\s+/);
  const isCapitals = name === name.toUpperCase() && /\p{Lu}{2}/u.test(name);
  const isName = words.length <= NAME_WORDS_MAX && words.every((word) => /^[\p{Lu}\p{N}]/u.test(word));
  return isCapitals || isName ? name : null;
}

interface Turn {
  readonly from: number;
  to: number;
  readonly speaker: string | null;
  text: string;
}

function turnsOf(cues: Iterable<Cue>): readonly Turn[] {
  const turns: Turn[] = [];
  for (const { from, to, speaker, text, isOther } of cues) {
    const last = turns.at(-1);
    if (last?.text.endsWith(text) === true && from - last.to <= PAUSE_SECONDS && last.speaker === speaker) {
      last.to = Math.max(last.to, to); // captions that roll up repeat the line above
      continue;
    }
    const isNext = last !== undefined && continuesTurn(last, { from, speaker, isOther, units: text.length });
    if (isNext) {
      last.text = `${last.text} ${text}`;
      last.to = Math.max(last.to, to);
    } else turns.push({ from, to: Math.max(from, to), speaker, text });
  }
  return turns;
}

function continuesTurn(
  turn: Turn,
  next: { readonly from: number; readonly speaker: string | null; readonly isOther: boolean; readonly units: number },
): boolean {
  if (next.isOther && next.speaker !== turn.speaker) return false;
  if (next.isOther && next.speaker === null) return false;
  if (next.from - turn.to > PAUSE_SECONDS || next.from < turn.from) return false;
  const units = turn.text.length + next.units;
  if (units > TURN_UNITS_MAX) return false;
  return turn.text.length < TURN_UNITS || !/[.!?…。！？][”"’')\]]?$/u.test(turn.text);
}

function timingOf(line: string): { readonly from: number; readonly to: number } | null {
  const [, h1, m1 = "", s1 = "", ms1, h2, m2 = "", s2 = "", ms2] = TIMING.exec(line) ?? [];
  if (m1 === "") return null;
  return { from: secondsOf(h1, m1, s1, ms1), to: secondsOf(h2, m2, s2, ms2) };
}

function secondsOf(hours = "0", minutes: string, seconds: string, fraction = "0"): number {
  const ms = Number(fraction.padEnd(3, "0"));
  return (Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1_000 + ms) / 1_000;
}

/** A time as `1:02:03`. */
function clockOf(seconds: number): string {
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
}

/** Removes formatting: `<i>`, `<00:01.500>`, `{\an8}`. */
function withoutTags(text: string): string {
  return decodedEntities(text.replace(/<\/?[a-z\d][^<>]{0,200}>/gi, "").replace(/\{\\[^{}]{0,100}\}/g, ""));
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  nbsp: " ",
  lrm: "",
  rlm: "",
  quot: '"',
};

function decodedEntities(text: string): string {
  return text.replace(/&(amp|lt|gt|nbsp|lrm|rlm|quot);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}
