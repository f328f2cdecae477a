// The background calibration of models: each one that was asked for ends with curves, with a reason, or cancelled.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Calibrator, type CalibratorDependencies } from "../../src/calibration/calibrator.ts";
import type { FitDependencies } from "../../src/calibration/fit-tuning.ts";
import { Fault } from "../../src/domain/fault.ts";
import { NEUTRAL_TUNING } from "../../src/domain/neutral-tuning.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { NewModel } from "../../src/ports/installed-model-store.ts";
import type { FoundModel } from "../../src/ports/models.ts";
import { type OpenedStores, openEmpty } from "../contract/stores.ts";
import { WordModels } from "../in-memory/models.ts";
import { openSqlite } from "../stores/open-sqlite.ts";
import { until } from "../support/until.ts";

const FITTED = { ...NEUTRAL_TUNING, calibration: "fitted" } as const;
const words = new WordModels();
const EMBEDDER: FoundModel = { task: "embed", embedder: words, reranker: null, references: [] };
const RERANKER: FoundModel = { task: "rerank", reranker: words, references: [] };

const row = (id: string, task: NewModel["task"]): NewModel => ({
  ...{ id, task, kind: "installed", source: "folder", sha256: null, remote: null, dimensions: 64, tokensMax: 512 },
  ...{ languages: ["en"], licence: "MIT", fingerprint: null, isCalibrated: false, manifestSha256: null },
  ...{ status: "ready", progress: null, error: null },
});

let stores: OpenedStores;
let calibrator: Calibrator | null = null;
let closed = 0;
beforeEach(async () => {
  stores = await openEmpty(openSqlite, systemClock);
  closed = 0;
});
afterEach(async () => {
  await calibrator?.stop();
  await stores.close();
});

function start(fit: CalibratorDependencies["fit"], more: Partial<CalibratorDependencies> = {}): Calibrator {
  const found = new Map([
    ["one", EMBEDDER],
    ["ranks", RERANKER],
    ["base", EMBEDDER],
  ]);
  const unused = () => Promise.reject(new Error("not used by this test"));
  calibrator = new Calibrator({
    ...{ store: stores.installedModels, projectModels: stores.projectModels, defaultId: "base", fit },
    find: (id) => found.get(id) ?? null,
    openIndex: async () => ({
      ...{ project: unused, current: unused },
      close: async () => {
        closed++;
      },
    }),
    preparer: { prepare: unused },
    languageOf: () => "en",
    textsOf: async () => ["a text of the project"],
    onEnd: () => undefined,
    ...{ clock: systemClock, log: createLog("silent"), ...more },
  });
  calibrator.start();
  return calibrator;
}
const jobOf = async (id: string) => (await stores.installedModels.get(id))?.calibrationJob;
const tuningsOf = async (id: string) => (await stores.installedModels.get(id))?.tunings ?? {};
const ended = (id: string) => until("the calibration has ended", async () => (await jobOf(id)) === null);

describe("Calibrator", () => {
  test("stores the curves of an embedder without a reranker, and closes the index", async () => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    start(async ({ texts, reranker }) => {
      expect([texts.length, reranker]).toEqual([0, null]);
      return FITTED;
    });
    await ended("one");
    expect(await tuningsOf("one")).toEqual({ "-": FITTED });
    expect(closed).toBe(1);
  });

  test("fits an embedder also with the reranker that one of its projects chose", async () => {
    const project = await stores.accounts.defaultProject();
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.add(row("ranks", "rerank"));
    await stores.projectModels.observe(project, "one", null);
    await stores.projectModels.setReranker(project, "ranks");
    for (const id of ["one", "ranks"]) await stores.installedModels.askCalibration(id, project);
    const seen: boolean[] = [];
    start(async ({ texts, reranker }) => {
      expect(texts.map(({ content }) => content)).toEqual(["a text of the project"]);
      seen.push(reranker !== null);
      return FITTED;
    });
    await ended("one");
    await ended("ranks");
    expect(Object.keys(await tuningsOf("one"))).toEqual(["-", "ranks"]);
    expect(Object.keys(await tuningsOf("ranks"))).toEqual(["one"]);
    expect(seen).toEqual([false, true, true]);
  });

  test("fits a reranker that no project chose with the default embedder", async () => {
    await stores.installedModels.add(row("ranks", "rerank"));
    await stores.installedModels.askCalibration("ranks", null);
    start(async () => FITTED);
    await ended("ranks");
    expect(Object.keys(await tuningsOf("ranks"))).toEqual(["base"]);
  });

  test.each([
    [
      "a refusal",
      async () => Promise.reject(new Fault("invalid_state", "It reads no language.")),
      "It reads no language.",
    ],
    ["an error", async () => Promise.reject(new Error("It broke.")), "It broke."],
  ])("keeps the reason of %s, and does not try again by itself", async (_, fit, reason) => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    let calls = 0;
    const running = start(() => {
      calls++;
      return fit();
    });
    await until("it has failed", async () => (await jobOf("one"))?.state === "failed");
    expect(await jobOf("one")).toMatchObject({ error: reason });
    running.wake();
    await stores.installedModels.add(row("ranks", "rerank"));
    await stores.installedModels.askCalibration("ranks", null);
    running.wake(); // a round that tries the second model has passed the first one
    await until("the second has failed", async () => (await jobOf("ranks"))?.state === "failed");
    expect(calls).toBe(2);
    expect([await tuningsOf("one"), closed]).toEqual([{}, 2]);
  });

  test("tries again while a model is away, says why it waits, and ends", async () => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    const away = new Fault("model_unavailable", "The model is away.", { cause: "The endpoint failed." });
    const seen: unknown[] = [];
    start(
      async () => {
        seen.push((await jobOf("one"))?.error ?? null);
        if (seen.length < 3) throw away;
        return FITTED;
      },
      { retryMs: 0 },
    ).wake();
    await until("it is calibrated", async () => {
      calibrator?.wake();
      return Object.keys(await tuningsOf("one")).length > 0;
    });
    const reason = "The model is away. The endpoint failed.";
    expect(seen).toEqual([null, reason, reason]);
    await stores.installedModels.askCalibration("one", null);
    let attempts = 0;
    await calibrator?.stop();
    start(
      () => {
        attempts++;
        return Promise.reject(away);
      },
      { retryMs: 0 },
    );
    await until("it has failed", async () => {
      calibrator?.wake();
      return (await jobOf("one"))?.state === "failed";
    });
    expect([attempts, (await jobOf("one"))?.error]).toEqual([20, reason]);
  });

  test("does not make a model wait because one that had its id before has failed", async () => {
    const away = new Fault("model_unavailable", "The model is away.");
    const ask = async () => {
      await stores.installedModels.add(row("one", "embed"));
      await stores.installedModels.askCalibration("one", null);
    };
    await ask();
    let isAway = true;
    const running = start(async () => (isAway ? Promise.reject(away) : FITTED), { retryMs: 3_600_000 });
    await until("it waits for another attempt", async () => ((await jobOf("one"))?.error ?? null) !== null);
    isAway = false;
    await stores.installedModels.remove("one");
    await ask();
    running.wake();
    await ended("one");
    expect(await tuningsOf("one")).toEqual({ "-": FITTED });
  });

  test("keeps the reason of a failure, however long the progress before it takes to be stored", async () => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    const { installedModels } = stores;
    const stored: string[] = [];
    const slow: CalibratorDependencies["store"] = Object.assign(Object.create(installedModels), {
      noteCalibration: async (...[key, job]: Parameters<typeof installedModels.noteCalibration>) => {
        for (let turn = 0; turn < (job.state === "running" ? 50 : 0); turn++) await new Promise(setImmediate);
        stored.push(job.state);
        return installedModels.noteCalibration(key, job);
      },
    });
    const fit = async ({ onProgress }: FitDependencies) => {
      onProgress(1, 2);
      throw new Error("It broke.");
    };
    start(fit, { store: slow });
    await until("both are stored", () => stored.length === 2);
    await calibrator?.stop();
    expect(stored).toEqual(["running", "failed"]);
    expect(await jobOf("one")).toMatchObject({ state: "failed", error: "It broke." });
  });

  test("a model that cannot be used on this node fails with the reason", async () => {
    await stores.installedModels.add(row("elsewhere", "embed"));
    await stores.installedModels.askCalibration("elsewhere", null);
    start(async () => FITTED);
    await until("it has failed", async () => (await jobOf("elsewhere"))?.state === "failed");
    expect((await jobOf("elsewhere"))?.error).toContain("elsewhere cannot be used on this node");
  });

  test("stops what was cancelled, and keeps the curves from before", async () => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    start(async () => FITTED);
    await ended("one");
    await calibrator?.stop();
    await stores.installedModels.askCalibration("one", null);
    let aborted = false;
    start(async (uses: FitDependencies) => {
      await stores.installedModels.cancelCalibration("one");
      uses.onProgress(1, 2);
      await until("the signal aborts", () => uses.signal.aborted);
      aborted = true;
      throw uses.signal.reason;
    });
    await until("it was stopped", () => aborted);
    await until("the index is closed", () => closed === 2);
    expect([await jobOf("one"), await tuningsOf("one")]).toEqual([null, { "-": FITTED }]);
  });

  test("begins again what a crash interrupted", async () => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    const { key, calibrationJob: asked = null } = (await stores.installedModels.get("one")) ?? {};
    if (key === undefined || asked === null) throw new Error("nothing was asked for");
    await stores.installedModels.noteCalibration(key, { ...asked, state: "running", done: 7, total: 9 });
    start(async () => FITTED);
    await ended("one");
    expect(await tuningsOf("one")).toEqual({ "-": FITTED });
  });

  test("a stop leaves a running calibration as it is, for the next start", async () => {
    await stores.installedModels.add(row("one", "embed"));
    await stores.installedModels.askCalibration("one", null);
    const running = start(async ({ signal, onProgress }) => {
      onProgress(1, 9);
      await until("the stop", () => signal.aborted);
      throw signal.reason;
    });
    await until("it runs", async () => (await jobOf("one"))?.state === "running");
    await running.stop();
    expect(await jobOf("one")).toMatchObject({ state: "running", error: null });
  });
});
