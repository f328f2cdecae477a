// Entry point of a source checkout: `bun src/main.ts <command>`. The commands are in cli/; the single binary starts in
// binary/entry.ts.

import { resolve } from "node:path";
import { run } from "./cli/run.ts";

// no await at the top level, with which Bun cannot compile a bundle to bytecode (test/support/program.ts)
void run(process.argv.slice(2), { shippedModelsDirectory: () => resolve(import.meta.dir, "../data/models") }).then(
  (exitCode) => process.exit(exitCode),
);
