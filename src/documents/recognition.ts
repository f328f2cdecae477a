// Texts of pictures in a file, for the readers of formats: which pictures are read, what their texts are, and what is
// said of those that were not read. A PictureRecogniser (adapters/ocr) reads the pictures in another process.

import { readFileSync } from "node:fs";
import { nullIfMissing } from "../kit/missing-files.ts";
import type { Picture } from "../ocr/picture.ts";
import type { RecognisedPicture } from "../ocr/recognised.ts";
import type { Recognition } from "../ports/document-reader.ts";
import { countWere } from "./document.ts";

/** The pictures of an open file. */
export interface FilePictures {
  /** Decodes a picture. @throws ReadFailure if it is damaged, too large or not there */
  read(id: string): Promise<Picture>;
  /** A PNG, JPEG or WebP as the file contains it, in colour; null if it does not contain it so. */
  encoded?(id: string): Promise<Uint8Array | null>;
  close?(): Promise<void>;
}

/** Maximum number of pictures of a file whose text is recognised. */
export const PICTURES_MAX = 500;
/** Why pictures are not read if the models are missing, and the command that installs them. */
const INSTALL = "text recognition is not installed (mneme models pull ocr)";

/** The texts of the pictures in a file. */
export class PictureTexts {
  /** Ids of pictures whose text is not known, in order. */
  readonly #asked = new Set<string>();

  constructor(
    private readonly kind: Recognition["kind"],
    private readonly known: ReadonlyMap<string, RecognisedPicture>,
    /** Why `known` has only descriptions; absent if it has texts. */
    private readonly withoutTexts?: "off" | "missing",
  ) {}

  /**
   * Whether pictures can still be recognised. If so, reading a file ends with the ids of its unknown pictures
   * (`UnreadPictures`).
   */
  get isWanted(): boolean {
    return this.kind === "wanted";
  }

  /** Whether pictures are left out because text recognition is off. */
  get isOff(): boolean {
    return this.kind === "off" || this.withoutTexts === "off";
  }

  /** The text of a picture; null if it is not known: then `missing` and the warnings count the picture. */
  text(id: string): RecognisedPicture | null {
    const found = this.known.get(id) ?? null;
    if (found === null) this.#asked.add(id);
    return found;
  }

  /** Confidence of the text of a picture; null if it is not known. */
  confidence(id: string): number | null {
    return this.known.get(id)?.confidence ?? null;
  }

  /** Why a file that has only pictures has no text. @param subject beginning of the sentence */
  failure(subject: string): string {
    if (this.kind !== "done" || this.withoutTexts !== undefined) return `${subject}, and ${this.whyNot}.`;
    const problems = this.pageWarnings();
    const [first] = problems;
    if (first === undefined) return `${subject}, in which no text was found.`;
    return `${subject}. ${first}${problems.length > 1 ? ` So are ${problems.length - 1} others.` : ""}`;
  }

  /** Ids of the pictures whose texts have to be recognised, at most `PICTURES_MAX`; empty if none. */
  get missing(): readonly string[] {
    return this.isWanted ? [...this.#asked].slice(0, PICTURES_MAX) : [];
  }

  /** Why pictures are not read: the end of a sentence. */
  get whyNot(): string {
    if (this.kind === "missing" || this.withoutTexts === "missing") return INSTALL;
    return this.isOff ? "text recognition is off" : `at most ${PICTURES_MAX} pages of a file are recognised`;
  }

  /** Sentences about pages that were not read, or not well. */
  pageWarnings(): readonly string[] {
    const unread = this.isOff ? [] : [...this.#asked];
    const left = spans(unread.map(Number)).map(
      (span) => `${span} ${isOne(span) ? "holds" : "hold"} no text but pictures, which were not read: ${this.whyNot}.`,
    );
    const byProblem = new Map<string, number[]>();
    for (const { id, problem } of this.known.values()) {
      if (problem !== null) byProblem.set(problem, [...(byProblem.get(problem) ?? []), Number(id)]);
    }
    const problems = [...byProblem].flatMap(([problem, pages]) => spans(pages).map((span) => `${span}: ${problem}.`));
    return [...left, ...problems];
  }

  /** Whether the file has pictures that can be read, known or not. */
  get wereShown(): boolean {
    return this.#asked.size + this.known.size > 0;
  }

  /** Sentences about pictures in a document that were not read, or not well. */
  pictureWarnings(): readonly string[] {
    if (this.isOff) return [];
    const count = this.#asked.size;
    const left = count === 0 ? [] : [`${countWere(count, "picture")} not read: ${this.whyNot}.`];
    // pictures without text are left out: most are drawings and photos
    const problems = [...this.known.values()].flatMap(({ id, problem, lines }) =>
      problem === null || lines.length === 0 ? [] : [`Picture ${id}: ${problem}.`],
    );
    return [...left, ...problems];
  }
}

/** Texts of the pictures of one file that are left out. Each file needs its own: it notes which pictures it has. */
export function noPictures(): PictureTexts {
  return new PictureTexts("off", new Map());
}

/** The texts that a request gives. @throws Error of the operating system if their file cannot be read */
export async function pictureTextsOf(recognition: Recognition): Promise<PictureTexts> {
  if (recognition.kind !== "done") return new PictureTexts(recognition.kind, new Map());
  return new PictureTexts("done", recognisedAt(recognition.path), recognition.withoutTexts);
}

/**
 * The pictures that were recognised so far, by id: one line of JSON each. A line is cut off if the server was killed
 * while it wrote it; the next one begins with a line break. Empty if there is no such file.
 */
export function recognisedAt(path: string): ReadonlyMap<string, RecognisedPicture> {
  const pictures = new Map<string, RecognisedPicture>();
  for (const line of linesAt(path)) {
    const picture = decodeRecognised(line);
    if (picture === null) continue;
    const known = pictures.get(picture.id) ?? { ...UNREAD, id: picture.id };
    pictures.set(picture.id, { ...known, ...picture });
  }
  return pictures;
}

/** What is known of a picture that only has a description. */
const UNREAD = { width: 0, height: 0, lines: [], confidence: null, problem: null };

/** Whether it was tried to read the text of a picture. */
export function wasRead(picture: RecognisedPicture | undefined): boolean {
  return picture !== undefined && (picture.width > 0 || picture.problem !== null);
}

/** A picture's description as a block of a text, marked as such; null if there is none. */
export function descriptionOf(picture: RecognisedPicture | null): string | null {
  return picture?.description === undefined ? null : `[description of a picture: ${picture.description}]`;
}

/** A line with the description of a picture, like one of `encodeRecognised`. */
export function encodeDescription(id: string, description: string): string {
  return `\n${JSON.stringify({ id, description })}\n`;
}

/** A line with the text of a picture. It begins with a line break, because the line before may be cut off. */
export function encodeRecognised(picture: RecognisedPicture): string {
  return `\n${JSON.stringify(picture)}\n`;
}

/** The picture of a line; null if the line is something else, or cut off. */
export function decodeRecognised(line: string): RecognisedPicture | null {
  if (!line.startsWith('{"id":') || !line.endsWith("}")) return null;
  try {
    return JSON.parse(line) as RecognisedPicture;
  } catch {
    return null; // the line was cut off after a brace
  }
}

function linesAt(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n").slice(0, -1);
  } catch (error) {
    return nullIfMissing(error) ?? [];
  }
}

function isOne(span: string): boolean {
  return span.startsWith("Page ");
}

/** Ranges of pages in words: "Page 3", "Pages 5 to 9". */
function spans(pages: readonly number[]): readonly string[] {
  const ranges: { from: number; to: number }[] = [];
  for (const page of pages.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last.to >= page - 1) last.to = page;
    else ranges.push({ from: page, to: page });
  }
  return ranges.map(({ from, to }) => (from === to ? `Page ${from}` : `Pages ${from} to ${to}`));
}
