// Runs a benchmark: starts a server on a temporary data directory, and the same models without a server ("bare") for
// comparison; stores the passages if the benchmark asks for that; measures; and returns the result with machine and
// versions.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../../src/config.ts";
import type { ModeName } from "../../src/domain/ranking.ts";
import { isoTime, systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { StartPlace } from "../../src/kit/setting.ts";
import type { BareModels } from "../lib/bare-models.ts";
import { theseVersions, thisMachine } from "../lib/machine.ts";
import type { Passage, Workload } from "../lib/passages.ts";
import { Target } from "../lib/target.ts";
import { type Cell, type Findings, type Result, SCHEMA_VERSION } from "./result.ts";
import type { Run, ShowProgress } from "./run.ts";
import { startBenchServer } from "./server.ts";

/** A benchmark that the harness can run. */
export interface Benchmark {
  readonly name: string;
  /** Whether the passages are stored before `measure`. */
  readonly fills: boolean;
  readonly measure: (run: Run) => Promise<Findings>;
}

/** What a run needs from its caller. */
export interface HarnessStart {
  readonly place: StartPlace;
  /** Makes the configuration of the models that run without a server, such as the number of their processes (lanes). */
  readonly configFor: (dataDir: string, place: StartPlace) => Config;
  /** Program and arguments that start a server. */
  readonly command: readonly string[];
  /** Settings of the server as environment variables. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workload: Workload;
  readonly modes: readonly ModeName[];
  readonly seed: number;
  readonly seconds: number;
  /** Options that change the figures, for the result. */
  readonly options: Readonly<Record<string, Cell>>;
  readonly progress: ShowProgress;
  /** Resolves with the reason if the run is to end early. */
  readonly interrupted: Promise<Error>;
}

/** Length of the random part of the server's key. */
const KEY_BYTES = 32;

/**
 * Runs a benchmark, and removes the server's data directory.
 * @throws Error if the server or the models cannot be started, if the server refuses or fails what the benchmark needs,
 *   or if the run is interrupted
 */
export async function runBenchmark({ name, fills, measure }: Benchmark, start: HarnessStart): Promise<Result> {
  const startedAt = performance.now();
  const startedTime = isoTime(systemClock.now());
  const folder = mkdtempSync(join(tmpdir(), "mneme-bench-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  await using closing = new AsyncDisposableStack();
  closing.defer(() => {
    process.off("exit", remove);
    remove();
  });
  const dataDir = join(folder, "data");
  mkdirSync(dataDir);
  const { progress, workload } = start;
  progress("starting", 0, "server and models");
  const config = start.configFor(dataDir, { ...start.place, workingDirectory: folder });
  const bare = await bareModels(config);
  closing.defer(() => bare.close());
  const { command, environment, modes, seed, seconds } = start;
  const key = `ctx_${Buffer.from(crypto.getRandomValues(new Uint8Array(KEY_BYTES))).toString("base64url")}`;
  const startServer = () => startBenchServer({ command, dataDir, key, environment });
  let server = await startServer();
  closing.defer(() => server.stop());
  const target = new Target(server.url, key);
  const restart = async () => {
    await server.stop();
    server = await startServer();
    target.url = server.url;
    return server;
  };
  const { passages } = workload;
  const passageAt = (n: number) => passages[n] as Passage;
  const work = async () => {
    if (fills)
      await target.fill(passages.length, passageAt, (share, note) => progress("storing passages", share, note));
    return measure({ server, restart, dataDir, target, bare, workload, modes, seed, seconds, progress });
  };
  const findings = await Promise.race([work(), start.interrupted]);
  if (findings instanceof Error) throw findings;
  const { embedder, reranker } = bare;
  return {
    schema_version: SCHEMA_VERSION,
    benchmark: name,
    started_at: startedTime,
    seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    machine: thisMachine(),
    versions: theseVersions(),
    models: { embedder: embedder.id, fingerprint: embedder.fingerprint, reranker },
    options: { data: workload.name, lanes: bare.lanes, ...start.options },
    ...findings,
  };
}

// Loaded late, because it loads the libraries of the models.
async function bareModels(config: Config): Promise<BareModels> {
  const { startBareModels } = await import("../lib/bare-models.ts");
  return startBareModels({ config, log: createLog("warn") });
}
