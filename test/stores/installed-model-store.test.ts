// What InstalledModelStore (`src/ports/installed-model-store.ts`) promises, on each database.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { NEUTRAL_TUNING } from "../../src/domain/neutral-tuning.ts";
import type { InstalledModelStore, NewModel } from "../../src/ports/installed-model-store.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { codeOf, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "./databases.ts";

const LOCAL: NewModel = {
  ...{ id: "small.bge", task: "embed", kind: "installed", source: "hub:a/b", sha256: "ab".repeat(32), remote: null },
  ...{ dimensions: 384, tokensMax: 512, languages: ["en", "de"], licence: "MIT", fingerprint: "f/1" },
  ...{ isCalibrated: true, manifestSha256: "cd".repeat(32), status: "downloading", error: null },
  progress: { bytesDone: 5, bytesTotal: null },
};
const REMOTE: NewModel = {
  ...{ id: "far", task: "rerank", kind: "remote", source: null, sha256: null },
  remote: { api: "tei", base_url: "http://127.0.0.1:8080", model: "bge", api_key: "secret" },
  ...{ dimensions: null, tokensMax: null, languages: [], licence: null, fingerprint: null },
  ...{ isCalibrated: false, manifestSha256: null, status: "failed", progress: null, error: "It does not answer." },
};

onEachDatabase("InstalledModelStore", (open) => {
  let stores: OpenedStores;
  let store: InstalledModelStore;
  const clock = new ManualClock();

  beforeEach(async () => {
    stores = await openEmpty(open, clock);
    store = stores.installedModels;
  });
  afterEach(() => stores.close());

  test("keeps models as they were added, in their order, and changes only what is given", async () => {
    const now = clock.now();
    expect(await store.add(LOCAL)).toMatchObject({ ...LOCAL, tunings: {}, createdAt: now });
    await store.add(REMOTE);
    expect((await store.list()).map(({ id }) => id)).toEqual(["small.bge", "far"]);
    expect(await store.get("far")).toMatchObject(REMOTE);
    expect(await store.get("none")).toBeNull();
    expect(await store.change("small.bge", { status: "ready", progress: null })).toBe(true);
    const changed = { ...LOCAL, status: "ready", progress: null, tunings: {}, createdAt: now } as const;
    expect(await store.get("small.bge")).toMatchObject(changed);
    expect(await store.get("far")).toMatchObject(REMOTE);
    expect(await store.change("none", { status: "ready" })).toBe(false);
  });

  test("an id is used once, and again after its model was removed, with a larger key", async () => {
    const first = await store.add(LOCAL);
    expect(await codeOf(() => store.add({ ...REMOTE, id: LOCAL.id }))).toBe("invalid_state");
    expect(await store.get(LOCAL.id)).toMatchObject(LOCAL);
    expect(await store.remove(LOCAL.id)).toBe(true);
    expect(await store.remove(LOCAL.id)).toBe(false);
    expect(await store.list()).toEqual([]);
    expect((await store.add({ ...REMOTE, id: LOCAL.id })).key).toBeGreaterThan(first.key);
  });

  test("a calibration is asked for, noted, and ended with curves beside those for other models", async () => {
    const { key } = await store.add(LOCAL);
    const projectId = await stores.accounts.defaultProject();
    expect(await store.askCalibration("none", null)).toBe(false);
    expect(await store.askCalibration(LOCAL.id, projectId)).toBe(true);
    const asked = { number: 1, projectId, state: "waiting", done: 0, total: null, error: null } as const;
    expect((await store.get(LOCAL.id))?.calibrationJob).toEqual(asked);
    const running = { ...asked, state: "running", done: 3, total: 9 } as const;
    expect(await store.noteCalibration(key, running)).toBe(true);
    await store.change(LOCAL.id, { status: "ready", progress: null }); // leaves the calibration alone
    expect((await store.get(LOCAL.id))?.calibrationJob).toEqual(running);
    expect(await store.finishCalibration(key, 1, { "-": NEUTRAL_TUNING })).toBe(true);
    await store.askCalibration(LOCAL.id, null);
    const other = { ...NEUTRAL_TUNING, typicalCosine: 0.25 };
    expect(await store.finishCalibration(key, 2, { far: other })).toBe(true);
    expect(await store.get(LOCAL.id)).toMatchObject({
      calibrationJob: null,
      tunings: { "-": NEUTRAL_TUNING, far: other },
    });
  });

  test("a calibration that was cancelled or replaced changes nothing any more", async () => {
    const { key } = await store.add(LOCAL);
    const job = { number: 1, projectId: null, state: "running", done: 1, total: 2, error: null } as const;
    expect(await store.cancelCalibration(LOCAL.id)).toBe(false);
    await store.askCalibration(LOCAL.id, null);
    expect(await store.cancelCalibration(LOCAL.id)).toBe(true);
    expect(await store.noteCalibration(key, job)).toBe(false);
    expect(await store.finishCalibration(key, 1, { "-": NEUTRAL_TUNING })).toBe(false);
    await store.askCalibration(LOCAL.id, null);
    expect(await store.noteCalibration(key, job)).toBe(false);
    expect(await store.noteCalibration(key, { ...job, number: 2 })).toBe(true);
    expect(await store.get(LOCAL.id)).toMatchObject({ tunings: {}, calibrationJob: { number: 2 } });
  });

  test("a calibration of a model that was deleted changes nothing of another one that has its id now", async () => {
    const { key } = await store.add(LOCAL);
    await store.askCalibration(LOCAL.id, null);
    await store.remove(LOCAL.id);
    await store.add({ ...REMOTE, id: LOCAL.id });
    await store.askCalibration(LOCAL.id, null);
    const before = await store.get(LOCAL.id);
    const job = { number: 1, projectId: null, state: "running", done: 1, total: 2, error: null } as const;
    expect(before?.calibrationJob?.number).toBe(job.number);
    expect(await store.noteCalibration(key, job)).toBe(false);
    expect(await store.finishCalibration(key, job.number, { "-": NEUTRAL_TUNING })).toBe(false);
    expect(await store.get(LOCAL.id)).toEqual(before);
  });

  test("removing a model removes the curves that others have with it", async () => {
    const { key } = await store.add(LOCAL);
    await store.add(REMOTE);
    await store.askCalibration(LOCAL.id, null);
    await store.finishCalibration(key, 1, { "-": NEUTRAL_TUNING, [REMOTE.id]: NEUTRAL_TUNING });
    await store.remove(REMOTE.id);
    expect(Object.keys((await store.get(LOCAL.id))?.tunings ?? {})).toEqual(["-"]);
  });
});
