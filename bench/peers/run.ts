// Compares Mneme with other search engines: the same passages, the same questions and the same embedding model, in one
// run. It installs the engines, embeds the passages once, builds each engine, asks it with one client and with several,
// and writes tables and a chart. `npx -y bun bench/peers/run.ts --help` lists the flags.

import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Progress, readableDuration } from "../../src/cli/terminal.ts";
import { isoTime, systemClock } from "../../src/kit/clock.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { theseVersions, thisMachine } from "../lib/machine.ts";
import { runMain } from "../lib/run-main.ts";
import { type PeerCollection, prepareCollection } from "./collection.ts";
import { type EngineName, enginesNamed } from "./engines.ts";
import { installPeers, type PackageGroup, type PeerEnvironment, peersCacheFolder } from "./environment.ts";
import {
  type Asked,
  askedOf,
  type Build,
  buildOf,
  type Comparison,
  comparisonChart,
  type Measured,
  markdownOf,
  rowsOf,
  tableLines,
} from "./report.ts";
import { adapterSources, collectionName, inputsHash, runStep, type Step, StepResults } from "./steps.ts";

const RESULTS = resolve(import.meta.dir, "../results");
const PYTHON_FOLDER = join(import.meta.dir, "python");
const HELP = `npx -y bun bench/peers/run.ts --from FOLDER [flags]

Compares Mneme with other search engines on one collection, and writes peers-NAME.json, .md and .svg. The first run
installs the engines (2 GB, and 4 GB for txtai). Each step runs in a process of its own. A run that was interrupted goes
on where it was; a run that was completed only writes its report again.

  --from FOLDER       collection in BEIR layout: corpus.jsonl[.gz], queries.jsonl[.gz], qrels/test.tsv; without the
                      last, only speed is measured
  --name NAME         name in file names and titles (default: name of the folder)
  --passages N        only the first N passages
  --questions N       only the first N questions
  --engines NAMES     only these engines, separated by commas
  --rounds N          rounds of questions; the figures are their medians (default: 3)
  --clients N         clients that ask at the same time (default: 8)
  --seconds N         how long they ask, per round and mode (default: 5)
  --step-minutes N    time limit of a step (default: 20)
  --minutes N         starts no step after this time; the next run continues
  --again             repeats the steps of the engines, even if their results are there
  --work FOLDER       indexes and results of steps (default: ${join(peersCacheFolder(), "work")})
  --out FOLDER        where the report goes (default: bench/results)`;

interface Plan {
  readonly name: string;
  readonly engines: readonly EngineName[];
  readonly rounds: number;
  readonly clients: number;
  readonly seconds: number;
  readonly work: string;
  readonly out: string;
}

async function main(flags: ReadonlyMap<string, string>): Promise<void> {
  const number = (flag: string, otherwise: number) => {
    const value = Number(flags.get(flag) ?? otherwise);
    if (!(value > 0)) throw new UsageError(`${flag} must be a number above 0.`);
    return value;
  };
  const from = flags.get("--from");
  if (from === undefined) throw new UsageError("Missing --from FOLDER: a collection in BEIR layout. See --help.");
  const name = flags.get("--name") ?? collectionName(resolve(from));
  const plan: Plan = {
    name,
    engines: enginesNamed(flags.get("--engines")),
    rounds: number("--rounds", 3),
    clients: number("--clients", 8),
    seconds: number("--seconds", 5),
    work: join(resolve(flags.get("--work") ?? join(peersCacheFolder(), "work")), name),
    out: resolve(flags.get("--out") ?? RESULTS),
  };
  const limits = [number("--passages", Number.POSITIVE_INFINITY), number("--questions", Number.POSITIVE_INFINITY)];
  const collection = await prepareCollection(resolve(from), plan.work, ...(limits as [number, number]));
  const groups = new Set(plan.engines.flatMap(({ needs }): PackageGroup[] => (needs === null ? [] : [needs])));
  const environment = await installPeers(groups);
  const runner = new Runner(plan, environment, collection, {
    stepMs: number("--step-minutes", 20) * 60_000,
    endsAt: performance.now() + number("--minutes", Number.POSITIVE_INFINITY) * 60_000,
    repeats: flags.has("--again"),
  });
  await runner.run();
  runner.report();
}

interface RunLimits {
  readonly stepMs: number;
  /** Time after which no step starts, on the clock of `performance.now()`. */
  readonly endsAt: number;
  readonly repeats: boolean;
}

/** Runs the steps in order and collects their results. */
class Runner {
  readonly #results: StepResults;
  readonly #failures: Record<string, string> = {};
  readonly #builds = new Map<EngineName, Build>();
  readonly #asked = new Map<EngineName, Map<string, Asked[]>>();
  #embeddingSeconds = 0;
  #left = 0;

  constructor(
    readonly plan: Plan,
    readonly environment: PeerEnvironment,
    readonly collection: PeerCollection,
    readonly limits: RunLimits,
  ) {
    this.#results = new StepResults(join(plan.work, "steps"));
  }

  async run(): Promise<void> {
    const { engines, rounds } = this.plan;
    const embedded = await this.#step(this.#embedStep(), false);
    if (embedded !== null) this.#embeddingSeconds = Number(embedded.seconds);
    for (const engine of engines) {
      const why = engine.needs === null ? undefined : this.environment.missing.get(engine.needs);
      if (why !== undefined) {
        this.#fail(engine, `not installed: ${why}`);
        continue;
      }
      const built = await this.#step(this.#buildStep(engine), this.limits.repeats, engine);
      if (built !== null) this.#builds.set(engine, buildOf(built));
    }
    // Rounds are the outer loop, so that each engine is measured at several times.
    for (let round = 1; round <= rounds; round++) {
      for (const [engine, { modes }] of this.#builds) {
        for (const mode of modes) {
          const result = await this.#step(this.#askStep(engine, mode, round), this.limits.repeats, engine);
          if (result === null) continue;
          const byMode = this.#asked.get(engine) ?? new Map<string, Asked[]>();
          this.#asked.set(engine, byMode.set(mode, [...(byMode.get(mode) ?? []), askedOf(result)]));
        }
      }
    }
  }

  /** Prints the table and, unless steps are left, writes the files. */
  report(): void {
    const { plan, collection } = this;
    const measured = [...this.#builds].map(
      ([engine, build]): Measured => ({ engine, build, asked: this.#asked.get(engine) ?? new Map() }),
    );
    const comparison: Comparison = {
      collection: plan.name,
      passages: collection.passages,
      questions: collection.questions.length,
      isJudged: collection.isJudged,
      clients: plan.clients,
      seconds: plan.seconds,
      rounds: plan.rounds,
      date: isoTime(systemClock.now()),
      machine: thisMachine(),
      versions: theseVersions(),
      embedding_seconds: this.#embeddingSeconds,
      rows: measured.flatMap((each) => rowsOf(each, collection.questions, collection.isJudged, this.#embeddingSeconds)),
      settings: Object.fromEntries(
        measured.map(({ engine, build }) => [`${engine.title} ${build.version}`, build.setting]),
      ),
      failures: this.#failures,
    };
    process.stdout.write(`${tableLines(comparison).join("\n")}\n`);
    for (const [name, why] of Object.entries(this.#failures)) process.stdout.write(`not measured: ${name}: ${why}\n`);
    if (this.#left > 0) {
      process.stdout.write(`${this.#left} steps are left; the same command continues.\n`);
      return;
    }
    mkdirSync(plan.out, { recursive: true });
    const base = join(plan.out, `peers-${plan.name}`);
    writeFileSync(`${base}.json`, `${JSON.stringify(comparison, null, 2)}\n`);
    writeFileSync(`${base}.md`, markdownOf(comparison, `peers-${plan.name}.svg`));
    writeFileSync(`${base}.svg`, comparisonChart(comparison));
    process.stdout.write(`written to ${base}.json, .md and .svg\n`);
  }

  // Returns the result of a step, from an earlier run if there is one; null if it failed or there is no time.
  async #step(step: Step, repeats: boolean, engine?: EngineName) {
    const kept = repeats ? null : this.#results.read(step);
    if (kept !== null) return kept;
    const now = performance.now();
    if (now >= this.limits.endsAt) {
      this.#left += 1;
      return null;
    }
    this.#results.remove(step.name);
    const progress = new Progress(step.name);
    const outcome = await runStep(step, this.limits.stepMs, this.#results, (line) => progress.show(null, line));
    const took = readableDuration(performance.now() - now);
    if (outcome.isDone) {
      progress.finish(`${step.name}: ${took}`);
      return outcome.result;
    }
    progress.finish(`${step.name}: failed after ${took}: ${outcome.why}`);
    if (engine === undefined) throw new UsageError(`The passages could not be embedded: ${outcome.why}`);
    this.#fail(engine, `${step.name}: ${outcome.why}`);
    return null;
  }

  #fail({ title }: EngineName, why: string): void {
    this.#failures[title] = this.#failures[title] === undefined ? why : `${this.#failures[title]}; ${why}`;
  }

  #embedStep(): Step {
    return this.#stepOf("embed", ["embed"], [this.collection.passagesHash]);
  }

  #buildStep({ module }: EngineName): Step {
    const inputs = [...adapterSources(PYTHON_FOLDER, module), this.collection.passagesHash];
    return this.#stepOf(`build-${module}`, ["build", "--engine", module], inputs);
  }

  #askStep(engine: EngineName, mode: string, round: number): Step {
    const { clients, seconds } = this.plan;
    const inputs = [this.#buildStep(engine).inputs, this.collection.questionsHash, `${clients} ${seconds}`];
    const options = ["--engine", engine.module, "--mode", mode, "--clients", `${clients}`, "--seconds", `${seconds}`];
    return this.#stepOf(`ask-${engine.module}-${mode}-${round}`, ["ask", ...options], inputs);
  }

  #stepOf(name: string, [verb = "", ...options]: readonly string[], inputs: readonly string[]): Step {
    return {
      name,
      command: [this.environment.python, join(PYTHON_FOLDER, "step.py"), verb, this.plan.work, ...options],
      environment: {
        PEERS_BUN: process.execPath,
        PEERS_NODE_MODULES: this.environment.nodeModules,
        PYTHONDONTWRITEBYTECODE: "1",
        TOKENIZERS_PARALLELISM: "false",
      },
      // the interpreter's folder is named for the versions of all Python packages
      inputs: inputsHash([this.environment.python, ...inputs]),
    };
  }
}

await runMain(HELP, main);
