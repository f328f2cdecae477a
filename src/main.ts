// Entry point of a source checkout: `bun src/main.ts <command>`. The commands are in cli/; the installed program starts
// in binary/entry.ts.

import { resolve } from "node:path";
import { run } from "./cli/run.ts";

const distribution = {
  licences: async () => {
    const [{ licencesText }, { partsOfProgram }] = await Promise.all([
      import("./binary/licences.ts"),
      import("./binary/parts.ts"),
    ]);
    return licencesText(await partsOfProgram());
  },
  shippedModelsDirectory: () => resolve(import.meta.dir, "../data/models"),
};
// no await at the top level, with which Bun cannot compile a bundle to bytecode (test/support/program.ts)
void run(process.argv.slice(2), distribution).then((exitCode) => process.exit(exitCode));
