// The command line of a source checkout: `bun src/main.ts <command>`. What the commands do stands in cli/; the single
// binary has an entry of its own in binary/.

import { resolve } from "node:path";
import { run } from "./cli/run.ts";

process.exit(
  await run(process.argv.slice(2), { shippedModelsDirectory: () => resolve(import.meta.dir, "../data/models") }),
);
