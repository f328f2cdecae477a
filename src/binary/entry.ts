// Entry point of the single binary. Like main.ts, but it unpacks libraries and models before a server starts.

import { run } from "../cli/run.ts";
import { removeOtherRuntimes, shippedModelsDirectory, unpackRuntime } from "./runtime.ts";

process.exit(
  await run(process.argv.slice(2), {
    shippedModelsDirectory,
    unpack: ({ dataDir }) => unpackRuntime(dataDir),
    afterOpening: ({ dataDir }) => removeOtherRuntimes(dataDir),
  }),
);
