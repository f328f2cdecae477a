// Memories that stay uncompleted during a test: a service whose models never become ready, and failed memories.

import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type ServiceOptions, startService, type TestService } from "./service.ts";
import { DEFAULT } from "./shipped-models.ts";
import { ROOT } from "./sources.ts";
import { changeRows } from "./stored-rows.ts";
import { until } from "./until.ts";

/** Starts a service that accepts memories but completes none, because the weights of its models are damaged. */
export async function startWithoutModels(options: ServiceOptions = {}): Promise<TestService> {
  const modelsDir = modelsWithDamagedWeights();
  const mneme = await startService({ ...options, config: { ...options.config, modelsDir }, waitsForModels: false });
  return {
    ...mneme,
    stop: async () => {
      await mneme.stop();
      rmSync(modelsDir, { recursive: true, force: true });
    },
  };
}

/** Runs `work` with a service that has a searchable memory, after its models were given up. */
export async function withModelsAway(work: (bare: TestService) => Promise<void>): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "mneme-test-"));
  const first = await startService({ dataDir, config: { embedder: DEFAULT } });
  await first.store({ content: "Stored while the models were there." });
  await first.stop();
  const bare = await startWithoutModels({ dataDir });
  try {
    await until("the models are given up", async () => (await bare.call("GET", "/ready")).status === 503);
    await work(bare);
  } finally {
    await bare.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Makes a memory fail that is being processed, with the row that the worker writes if a text cannot be prepared. */
export async function markFailed(
  mneme: TestService,
  id: string,
  message = "The text could not be prepared.",
): Promise<void> {
  const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
  await changeRows(
    mneme,
    `UPDATE memories SET status = 'failed', error_code = 'processing_error', error_message = ${quoted(message)}, lease = NULL
     WHERE id = ${quoted(id)} AND status = 'processing'`,
  );
}

// Copies the shipped models with damaged weights. The copy has their descriptions (model.json), so it can open a data
// folder that was filled with the real models. Without any weights they would count as not installed.
function modelsWithDamagedWeights(): string {
  const folder = mkdtempSync(join(tmpdir(), "mneme-test-models-"));
  cpSync(join(ROOT, "data/models"), folder, {
    recursive: true,
    filter: (path) => !["model.onnx", "recipe"].includes(basename(path)),
  });
  for (const { name } of readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    if (existsSync(join(folder, name, "model.json"))) writeFileSync(join(folder, name, "model.onnx"), "damaged");
  }
  return folder;
}
