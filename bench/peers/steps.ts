// Steps of the comparison: each runs in a process of its own with a time limit, and its result is a file. A step whose
// result exists for the same inputs is not repeated.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { basename, dirname, join } from "node:path";
import { isRecord, type JsonRecord } from "../../src/kit/record.ts";

/** A step. */
export interface Step {
  /** Name for people and file name of the result, such as `ask-chroma-vector-1`. */
  readonly name: string;
  /** Program and arguments. The variable `PEERS_RESULT` names the file to which it writes its result, a JSON object. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Everything that changes the result, hashed. */
  readonly inputs: string;
}

/** The outcome of a step. */
export type Outcome =
  | { readonly isDone: true; readonly result: JsonRecord }
  | { readonly isDone: false; readonly why: string };

/** Time in which a step may close what it started after SIGTERM. */
const CLOSING_MS = 30_000;
/** Lines of the output of a failed step that are shown. */
const LINES_MAX = 6;
const OUTPUT_CHARACTERS_MAX = 20_000;

/** Hash of texts, for `Step.inputs`. */
export function inputsHash(parts: readonly string[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${part.length} `).update(part);
  return hash.digest("hex").slice(0, 16);
}

/** The results of steps, in a folder. */
export class StepResults {
  constructor(readonly folder: string) {
    mkdirSync(folder, { recursive: true });
  }

  /** The result of a step; null if there is none for these inputs. */
  read({ name, inputs }: Pick<Step, "name" | "inputs">): JsonRecord | null {
    const path = this.#path(name);
    if (!existsSync(path)) return null;
    const kept: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isRecord(kept) && kept.inputs === inputs && isRecord(kept.result) ? kept.result : null;
  }

  /** Keeps the result of a step. */
  write({ name, inputs }: Pick<Step, "name" | "inputs">, result: JsonRecord): void {
    const path = this.#path(name);
    writeFileSync(`${path}.part`, `${JSON.stringify({ inputs, load: loadavg()[0], result })}\n`);
    renameSync(`${path}.part`, path);
  }

  /** Forgets the result of a step. */
  remove(name: string): void {
    rmSync(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return join(this.folder, `${name.replaceAll(/[^\w-]+/g, "_")}.json`);
  }
}

/**
 * Runs a step in a process of its own.
 * @param onOutput called with the last line of the step's standard error
 */
export async function runStep(
  step: Step,
  limitMs: number,
  results: StepResults,
  onOutput: (line: string) => void,
): Promise<Outcome> {
  const file = join(results.folder, `${inputsHash([step.name])}.new`);
  rmSync(file, { force: true });
  const child = Bun.spawn([...step.command], {
    env: { ...process.env, ...step.environment, PEERS_RESULT: file },
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const end = (signal: NodeJS.Signals) => endGroup(child.pid, signal);
  const interrupt = () => {
    end("SIGTERM");
    process.exit(130);
  };
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  let isLate = false;
  let killer: ReturnType<typeof setTimeout> | undefined;
  const limiter = setTimeout(() => {
    isLate = true;
    end("SIGTERM");
    killer = setTimeout(() => end("SIGKILL"), CLOSING_MS);
  }, limitMs);
  let output = "";
  const decoder = new TextDecoder();
  const read = async () => {
    for await (const part of child.stderr) {
      output = (output + decoder.decode(part, { stream: true })).slice(-OUTPUT_CHARACTERS_MAX);
      onOutput(linesOf(output).at(-1) ?? "");
    }
  };
  // grandchildren may keep the pipe open, so the end of the process decides
  const reading = read();
  const status = await child.exited;
  clearTimeout(limiter);
  clearTimeout(killer);
  process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  signalTo(-child.pid, "SIGKILL"); // ends what the step left running
  await reading;
  if (isLate) return { isDone: false, why: `took longer than ${Math.round(limitMs / 1000)} s` };
  if (status !== 0 || !existsSync(file)) {
    const lines = linesOf(output).slice(-LINES_MAX).join(" | ");
    return { isDone: false, why: lines === "" ? `ended with status ${status}` : lines };
  }
  const result: unknown = JSON.parse(readFileSync(file, "utf8"));
  rmSync(file);
  if (!isRecord(result)) return { isDone: false, why: "wrote no JSON object" };
  results.write(step, result);
  return { isDone: true, result };
}

/** Text of the Python files that the result of an engine depends on: shared ones, its module, and those it extends. */
export function adapterSources(folder: string, module: string): readonly string[] {
  const text = readFileSync(join(folder, "engines", `${module}.py`), "utf8");
  const bases = [...text.matchAll(/^from engines\.(\w+) import/gm)].map(([, base = ""]) => base);
  const shared = ["engine.py", "step.py"].map((name) => readFileSync(join(folder, name), "utf8"));
  const extended = bases.map((base) => readFileSync(join(folder, "engines", `${base}.py`), "utf8"));
  return [...shared, ...extended, text];
}

/** Name of a collection: the name of its folder. */
export function collectionName(folder: string): string {
  return basename(folder) === "" ? basename(dirname(folder)) : basename(folder);
}

// A step leads a process group of its own (os.setpgid in step.py), unless it ends before it gets there.
function endGroup(pid: number, signal: NodeJS.Signals): void {
  if (!signalTo(-pid, signal)) signalTo(pid, signal);
}

function signalTo(target: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(target, signal);
  } catch {
    return false; // the group or the process is gone
  }
}

function linesOf(output: string): readonly string[] {
  return output
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
