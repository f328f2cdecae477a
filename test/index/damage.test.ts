// Damage of the files of an index: whatever file is flipped, cut, emptied, removed or replaced by an older copy,
// opening notices it before a search could use it, keeps it in quarantine, and reconciling names what to publish again.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { EmbeddedChunkIndex } from "../../src/adapters/embedded/chunk-index.ts";
import { Archive } from "../../src/adapters/embedded/duckdb/archive.ts";
import { Quarantine } from "../../src/adapters/embedded/quarantine.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { VisibleMemory } from "../../src/ports/chunk-index.ts";
import { key, MODEL, memoriesOf, OTHER_MODEL, publication, vectorOf, visible } from "../contract/chunk-index.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { flipBit } from "../support/damage.ts";
import { rounds } from "../support/extent.ts";
import { searchText, searchVectors } from "../support/search-legs.ts";
import { seeded } from "../support/seeded.ts";

const PROJECT = "prj_00000000000000000000000001" as ProjectId;
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_123);
/** Number of flipped bits per file. */
const FLIPS = rounds("MNEME_TEST_DAMAGES", { all: 4, short: 2 });
/** The completed memories; 3 was deleted. */
const COMPLETED = [1, 2, 4, 5, 6, 7];

const home = temporaryFolder();
afterAll(() => home.remove());
const [older, intact] = [join(home.path, "older"), join(home.path, "intact")];
let nextChunkKey = 1n;

interface Opened {
  readonly index: EmbeddedChunkIndex;
  close(): Promise<void>;
}

async function open(folder: string, countDamaged: (passages: number) => void = () => undefined): Promise<Opened> {
  mkdirSync(folder, { recursive: true });
  const log = createLog("silent");
  const archive = await Archive.open({ path: join(folder, "memories.duckdb"), log });
  const index = new EmbeddedChunkIndex({
    directory: join(folder, "projects"),
    archive,
    quarantine: new Quarantine(join(folder, "quarantine"), systemClock),
    log,
    models: () => [MODEL, OTHER_MODEL],
    countDamaged,
    reserveChunkKeys: (count) => {
      nextChunkKey += BigInt(count);
      return nextChunkKey - BigInt(count);
    },
  });
  return {
    index,
    close: async () => {
      await index.close();
      await archive.close();
    },
  };
}

async function* rows(): AsyncGenerator<readonly VisibleMemory[]> {
  yield COMPLETED.map((memory) => visible(memory));
}

const passages = (memory: number) => [`passage one of note ${memory}`, `passage two of note ${memory}`];
const publications = (...memories: readonly number[]) => memories.map((n) => publication(n, passages(n)));

beforeAll(async () => {
  const opened = await open(intact);
  const project = await opened.index.project(PROJECT);
  for (const memory of [1, 2, 3]) await project.publish(publications(memory));
  await opened.close();
  cpSync(intact, older, { recursive: true });

  const { index, close } = await open(intact);
  const again = await index.project(PROJECT);
  await again.publish(publications(4, 5));
  await again.publish(publications(1, 6)); // 1 has other chunks now
  await again.retract([key(3)]);
  await again.publish(publications(7));
  await close();
});

/** All files of the project, as paths below `projects/`. */
function filesOf(folder: string): string[] {
  const projects = join(folder, "projects");
  return readdirSync(projects, { recursive: true, encoding: "utf8" })
    .filter((path) => statSync(join(projects, path)).isFile() && !path.endsWith(".lock"))
    .sort();
}

async function foundIn({ index }: Opened): Promise<number[]> {
  const project = await index.project(PROJECT);
  const within = await project.admit(null, 1);
  const near = await searchVectors(project, MODEL.fingerprint, vectorOf(999), within, 100);
  const matching = await searchText(project, "passage", within, 100);
  expect(memoriesOf(matching)).toEqual(memoriesOf(near));
  for (const hits of [near, matching]) {
    const shown = await project.passages(hits.chunkKeys);
    for (const [at, passage] of shown.entries()) {
      expect(passages(Number(hits.memoryKeys[at]))).toContain(passage?.text ?? "");
    }
  }
  return [...new Set(memoriesOf(near))];
}

let trials = 0;
/** Damages a copy of the index, opens it, and repairs it as the server does. Returns what was noticed. */
async function trial(path: string, damage: (file: string) => void) {
  const folder = join(home.path, `trial-${trials++}`);
  cpSync(intact, folder, { recursive: true });
  damage(join(folder, "projects", path));
  const opened = await open(folder);
  const { incomplete, removed, repairs } = await opened.index.reconcile(PROJECT, rows());
  const whole = COMPLETED.filter((memory) => !incomplete.includes(key(memory)));
  expect(await foundIn(opened)).toEqual(whole);
  const project = await opened.index.project(PROJECT);
  await project.publish(publications(...incomplete.map(Number)));
  await project.show(incomplete.map((memory) => visible(Number(memory))));
  await opened.index.compact();
  const findings = (await opened.index.verify(PROJECT, rows())).findings;
  expect(findings).toEqual([]);
  expect(await foundIn(opened)).toEqual(COMPLETED);
  await opened.close();

  const again = await open(folder);
  const second = await again.index.reconcile(PROJECT, rows());
  expect(second).toEqual({ incomplete: [], removed: 0, repairs: [] });
  expect(await foundIn(again)).toEqual(COMPLETED);
  await again.close();
  const quarantine = join(folder, "quarantine");
  const kept = existsSync(quarantine) ? readdirSync(quarantine) : [];
  rmSync(folder, { recursive: true });
  return { isNoticed: incomplete.length + removed + repairs.length > 0, repairs, kept };
}

/**
 * Whether damage changes nothing: Tantivy's list of its files is made from the folder, and the copy of the file that
 * names the vector sets is written again.
 */
function isHarmless(path: string, kind: string): boolean {
  return path.endsWith(".managed.json") || (path.endsWith("vectors/vector-sets") && kind === "removed");
}

/**
 * Length of the footer that Tantivy writes behind the content of a segment's file: JSON with the checksum of the
 * content and the version of Tantivy, the length of the JSON, and a magic number (four bytes each). A changed version
 * is not noticed, and changes no answer.
 */
function footerBytes(file: string, bytes: Buffer): number {
  const isSegment = /[0-9a-f]{32}\.\w+$/.test(file);
  return isSegment ? bytes.readUInt32LE(bytes.length - 8) + 8 : 0;
}

describe("damaged files of an index", () => {
  const random = seeded(SEED);
  const flip = (file: string) => {
    const bytes = readFileSync(file);
    flipBit(file, Math.floor(random() * (bytes.length - footerBytes(file, bytes)) * 8));
  };
  const kinds: Readonly<Record<string, (file: string) => void>> = {
    ...Object.fromEntries(Array.from({ length: FLIPS }, (_, at) => [`flipped bit ${at + 1}`, flip])),
    cut: (file) => writeFileSync(file, readFileSync(file).subarray(0, Math.floor(statSync(file).size / 2))),
    emptied: (file) => writeFileSync(file, ""),
    removed: (file) => rmSync(file),
  };

  test(`each is noticed and repaired without loss (seed ${SEED})`, async () => {
    for (const path of filesOf(intact)) {
      for (const [kind, damage] of Object.entries(kinds)) {
        const { isNoticed, repairs, kept } = await trial(path, damage);
        const name = `${path} ${kind}: ${repairs.join(" ")}`;
        if (!isHarmless(path, kind)) expect([name, isNoticed]).toEqual([name, true]);
        for (const sentence of repairs.filter((each) => each.includes("set aside"))) {
          expect(sentence).toContain(join("quarantine", kept[0] ?? "nothing is kept"));
        }
      }
    }
  });

  test("an older copy of each file is noticed and repaired without loss", async () => {
    const changed = filesOf(older).filter((path) => {
      const now = join(intact, "projects", path);
      return existsSync(now) && !readFileSync(now).equals(readFileSync(join(older, "projects", path)));
    });
    expect(changed.length).toBeGreaterThan(1);
    for (const path of changed) {
      const { isNoticed } = await trial(path, (file) => cpSync(join(older, "projects", path), file));
      if (!isHarmless(path, "older")) expect([path, isNoticed]).toEqual([path, true]);
    }
  });

  test("an older copy of all files is noticed and repaired without loss", async () => {
    const { isNoticed } = await trial("", (projects) => {
      rmSync(projects, { recursive: true });
      cpSync(join(older, "projects"), projects, { recursive: true });
    });
    expect(isNoticed).toBeTrue();
  });
});

describe("a bit that flips in a stored passage while the index is open", () => {
  test("never shows another text: the passage is left out and counted, and the others are shown", async () => {
    const random = seeded(SEED);
    const stores = filesOf(intact).filter((path) => path.endsWith(".store"));
    let leftOut = 0;
    for (let flip = 0; flip < FLIPS * 10; flip++) {
      const folder = join(home.path, `flipped-${flip}`);
      cpSync(intact, folder, { recursive: true });
      let counted = 0;
      const opened = await open(folder, (passages) => {
        counted += passages;
      });
      await opened.index.reconcile(PROJECT, rows());
      const path = join(folder, "projects", stores[flip % stores.length] ?? "");
      const file = openSync(path, "r+");
      const byte = Buffer.alloc(1);
      const at = Math.floor(random() * statSync(path).size);
      readSync(file, byte, 0, 1, at);
      byte.writeUInt8(byte.readUInt8(0) ^ (1 << Math.floor(random() * 8)));
      writeSync(file, byte, 0, 1, at);
      closeSync(file);
      const project = await opened.index.project(PROJECT);
      const hits = await searchVectors(project, MODEL.fingerprint, vectorOf(999), await project.admit(null, 1), 100);
      const shown = await project.passages(hits.chunkKeys);
      for (const [position, passage] of shown.entries()) {
        if (passage !== null) expect(passages(Number(hits.memoryKeys[position]))).toContain(passage.text);
      }
      const missing = shown.filter((passage) => passage === null).length;
      expect(counted).toBe(missing);
      leftOut += missing;
      await opened.close();
    }
    expect(leftOut).toBeGreaterThan(0);
  });
});
