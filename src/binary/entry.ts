// Entry point of the installed program. Like main.ts, but libraries and models are beside the executable.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "../cli/run.ts";
import { installedModels, LICENCES_FILE, programFolder, removeUnpacked, useInstalledLibraries } from "./installed.ts";

useInstalledLibraries();
process.exit(
  await run(process.argv.slice(2), {
    licences: () => readFile(join(programFolder(), LICENCES_FILE), "utf8"),
    shippedModelsDirectory: installedModels,
    afterOpening: ({ dataDir }) => removeUnpacked(dataDir),
  }),
);
