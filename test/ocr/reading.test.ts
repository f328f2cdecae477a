// Tests how the text of a picture is found, on small arrays: boxes, characters, directions, what is kept.

import { describe, expect, test } from "bun:test";
import { Turns } from "../../src/kit/turns.ts";
import { alphabetOf, decodeLine } from "../../src/ocr/decode-line.ts";
import { cutOut, type Picture, type Quad, scaled, turned } from "../../src/ocr/picture.ts";
import { type PictureModels, readPicture } from "../../src/ocr/read-picture.ts";
import { recognised } from "../../src/ocr/recognised.ts";
import { textBoxes } from "../../src/ocr/text-boxes.ts";

/** A map in which the pixels of a rotated rectangle are text. */
function mapWith(width: number, height: number, box: { x: number; y: number; w: number; h: number; angle: number }) {
  const values = new Float32Array(width * height);
  const [cos, sin] = [Math.cos(box.angle), Math.sin(box.angle)];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [dx, dy] = [x - box.x, y - box.y];
      const isIn = Math.abs(dx * cos + dy * sin) <= box.w / 2 && Math.abs(dy * cos - dx * sin) <= box.h / 2;
      if (isIn) values[y * width + x] = 0.9;
    }
  }
  return { width, height, values };
}

const LEVEL: Quad = [
  { x: 0, y: 0 },
  { x: 100, y: 0 },
  { x: 100, y: 10 },
  { x: 0, y: 10 },
];

describe("boxes of lines", () => {
  test.each([0, 0.05, -0.05, 0.4])("a line that is tilted by %p radians is found, with a margin", (angle) => {
    const [box, ...others] = textBoxes(mapWith(200, 100, { x: 100, y: 50, w: 120, h: 10, angle }));
    expect(others).toEqual([]);
    if (box === undefined) throw new Error("no box was found");
    const [a, b, , d] = box;
    expect(Math.atan2(b.y - a.y, b.x - a.x)).toBeCloseTo(angle, 1);
    // 1.6 times area by circumference on each side
    expect(Math.hypot(b.x - a.x, b.y - a.y)).toBeWithin(130, 145);
    expect(Math.hypot(d.x - a.x, d.y - a.y)).toBeWithin(22, 34);
  });

  test("specks and faint places are no lines", () => {
    expect(textBoxes(mapWith(50, 50, { x: 20, y: 20, w: 1, h: 1, angle: 0 }))).toEqual([]);
    const faint = mapWith(100, 50, { x: 50, y: 25, w: 60, h: 8, angle: 0 });
    expect(textBoxes({ ...faint, values: faint.values.map((value) => value * 0.4) })).toEqual([]);
    expect(textBoxes({ width: 40, height: 40, values: new Float32Array(1_600) })).toEqual([]);
  });
});

describe("characters of a line", () => {
  const alphabet = alphabetOf("a\nb");
  /** One step per letter; `-` is a blank step, `?` a blank step that is not sure, `_` a space. */
  const steps = (text: string) =>
    Float32Array.from([...text].flatMap((letter) => alphabet.map((_, at) => probability(letter, at))));
  const probability = (letter: string, at: number) => {
    const best = letter === "a" ? 1 : letter === "b" ? 2 : letter === "_" ? 3 : 0;
    const top = letter === "?" ? 0.5 : 0.98;
    return at === best ? top : (1 - top) / 3;
  };

  test("a repeated step is one character, and a blank step between makes it two", () => {
    expect(decodeLine(steps("-aa-ab_bb--b"), alphabet).text).toBe("aab bb");
    expect(decodeLine(steps("----"), alphabet)).toEqual({ text: "", score: 0 });
    expect(decodeLine(new Float32Array(), alphabet)).toEqual({ text: "", score: 0 });
  });

  test("ink that is no known character lowers the score, and so do characters that are left out", () => {
    const sure = decodeLine(steps("a-b-a-b-"), alphabet).score;
    expect(sure).toBeCloseTo(0.98, 2);
    expect(decodeLine(steps("a?b?a?b?"), alphabet).score).toBeCloseTo(0.49, 2);
    expect(decodeLine(steps(`a${"-".repeat(40)}b`), alphabet).score).toBeLessThan(0.3);
  });
});

describe("pictures", () => {
  const picture: Picture = { width: 3, height: 2, grey: Uint8Array.of(1, 2, 3, 4, 5, 6) };

  test("turning goes clockwise, and four turns change nothing", () => {
    expect(turned(picture, 1)).toEqual({ width: 2, height: 3, grey: Uint8Array.of(4, 1, 5, 2, 6, 3) });
    expect([...turned(picture, 2).grey]).toEqual([6, 5, 4, 3, 2, 1]);
    expect(turned(turned(picture, 3), 1)).toEqual(picture);
  });

  test("shrinking averages, enlarging interpolates", () => {
    expect([...scaled({ width: 4, height: 2, grey: Uint8Array.of(0, 100, 0, 0, 100, 200, 0, 0) }, 2, 1).grey]).toEqual([
      100, 0,
    ]);
    const wide = scaled({ width: 2, height: 1, grey: Uint8Array.of(0, 100) }, 4, 1);
    expect([...wide.grey]).toEqual([0, 25, 75, 100]);
    expect(scaled({ width: 1, height: 1, grey: Uint8Array.of(7) }, 3, 2).grey).toEqual(new Uint8Array(6).fill(7));
  });

  test("a tilted line is cut out level", () => {
    const page: Picture = { width: 60, height: 60, grey: new Uint8Array(3_600).fill(255) };
    for (let x = 10; x < 50; x++) page.grey[x * 60 + x] = 0; // a stroke at 45 degrees
    const half = Math.SQRT1_2 * 3;
    const quad: Quad = [
      { x: 10 + half, y: 10 - half },
      { x: 50 + half, y: 50 - half },
      { x: 50 - half, y: 50 + half },
      { x: 10 - half, y: 10 + half },
    ];
    const line = cutOut(page, quad, 56, 7);
    const rowMeans = Array.from({ length: 7 }, (_, row) =>
      line.grey.subarray(row * 56, row * 56 + 56).reduce((sum, value) => sum + value / 56, 0),
    );
    expect(rowMeans.indexOf(Math.min(...rowMeans))).toBe(3);
    expect(rowMeans[0]).toBeGreaterThan(240);
  });
});

describe("what is kept of a picture", () => {
  const line = (text: string, score: number, y: number) => ({
    text,
    score,
    quad: LEVEL.map((point) => ({ x: point.x, y: point.y + y })) as unknown as Quad,
  });
  const kept = (...lines: readonly ReturnType<typeof line>[]) => recognised("1", { width: 100, height: 100, lines });

  test("lines with a low score are left out, and it is said how many", () => {
    const lines = Array.from({ length: 10 }, (_, at) => line(`line ${at}`, at < 3 ? 0.4 : 0.95, at * 10));
    const { lines: legible, confidence, problem } = kept(...lines);
    expect(legible.map(({ text }) => text)).toEqual(lines.slice(3).map(({ text }) => text));
    expect(confidence).toBeCloseTo(0.95, 5);
    expect(problem).toBe("has 3 lines that cannot be read");
    expect(kept(line("clear", 0.98, 0)).problem).toBeNull();
  });

  test("a page that is hard to read says so", () => {
    expect(kept(line("blurred", 0.7, 0)).problem).toContain("confidence 0.70");
  });

  test.each([
    ["no lines", [], "shows no text"],
    ["writing without known letters", [line("", 0, 0), line(",", 0.3, 10)], "shows writing that cannot be read"],
    ["Vietnamese, whose letters are left out", [line("Tt c mi ngưi sinh ra đu đưc", 0.95, 0)], "cannot be read"],
    ["mostly unknown writing", [line("ok", 0.9, 0), line("", 0, 10), line("", 0, 20)], "most of which cannot be read"],
  ])("%s: a reason", (_, lines, reason) => {
    expect(kept(...lines).problem).toContain(reason);
  });

  test("Greek, whose accented letters are left out, is not kept; formulas and names beside it are", () => {
    const greek = "βιβλιοη του λιμνιο áνοιξε το νανωστρι στι 14";
    const page = kept(line(greek, 0.75, 0), line("Mαρτου", 0.9, 10), line(greek, 0.8, 20));
    expect([page.lines, page.confidence]).toEqual([[], null]);
    expect(page.problem).toContain("shows writing that cannot be read");
    const texts = (...lines: readonly ReturnType<typeof line>[]) => kept(...lines).lines.map(({ text }) => text);
    const english = ["The angles α, β and γ add up to π.", "Let Δx = λ · sin(θ).", "Written in Athens, ΕΛΛΑΣ."];
    expect(texts(...english.map((text, at) => line(text, 0.95, at * 10)))).toEqual(english);
    const quoted = [...english, greek, ...english];
    expect(texts(...quoted.map((text, at) => line(text, 0.95, at * 10)))).toEqual([...english, ...english]);
    expect(texts(line(greek, 0.8, 0), line("Tel. 210 336 0000", 0.95, 10))).toEqual(["Tel. 210 336 0000"]);
  });

  test("scraps of unknown writing that look like letters by chance are not kept", () => {
    const unknown = Array.from({ length: 12 }, (_, at) => line("", 0.2, at * 10));
    expect(kept(...unknown, line("00-h:", 0.9, 130))).toMatchObject({ lines: [], confidence: null });
    expect(kept(...unknown.slice(0, 8), line("Total 2,317", 0.9, 130)).lines).toHaveLength(1);
  });

  test("lines of a tilted page become level", () => {
    const tilted = [0, 30, 60].map((y) => ({
      text: "tilted line",
      score: 1,
      quad: LEVEL.map((point) => ({ x: point.x - 0.05 * point.y, y: point.y + y + 0.05 * point.x })) as unknown as Quad,
    }));
    for (const { top, bottom } of recognised("1", { width: 100, height: 100, lines: tilted }).lines) {
      expect(bottom - top).toBeCloseTo(10, 0);
    }
  });
});

test("an upside-down picture is turned if its lines are read better then", async () => {
  let recognitions = 0;
  const models: PictureModels = {
    characters: "a",
    detection: {
      run: async (_, [, , height = 0, width = 0]) => ({
        values: mapWith(width, height, { x: width / 2, y: height / 4, w: width / 2, h: 12, angle: 0 }).values,
        dimensions: [],
      }),
    },
    // the first time, nothing is legible
    recognition: {
      run: async () => ({
        values: Float32Array.from(recognitions++ === 0 ? [0.5, 0.3, 0.2] : [0, 1, 0]),
        dimensions: [],
      }),
    },
  };
  const picture: Picture = { width: 320, height: 320, grey: new Uint8Array(320 * 320).fill(255) };
  const { lines } = await readPicture(picture, models);
  expect(lines.map(({ text }) => text)).toEqual(["a"]);
  expect(recognitions).toBe(3); // as it is, turned, and the lines of the turned picture
});

test("shares take turns, whatever each of them adds", () => {
  const turns = new Turns<{ share: string; name: string }>();
  const add = (share: string, name: string) => {
    const work = { share, name };
    turns.add(work);
    return work;
  };
  for (const name of ["a1", "a2", "a3"]) add("a", name);
  const b1 = add("b", "b1");
  add("c", "c1");
  expect(turns.remove(b1)).toBe(true);
  expect(turns.remove(b1)).toBe(false);
  expect(Array.from({ length: 4 }, () => turns.next()?.name)).toEqual(["a1", "c1", "a2", "a3"]);
  expect([turns.next(), turns.size]).toEqual([undefined, 0]);
});
