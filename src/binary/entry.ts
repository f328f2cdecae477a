// The command line of the single binary: the same as main.ts, with libraries and models unpacked before a server starts.

import { run } from "../cli/run.ts";
import { removeOtherRuntimes, shippedModelsDirectory, unpackRuntime } from "./runtime.ts";

process.exit(
  await run(process.argv.slice(2), {
    shippedModelsDirectory,
    unpack: ({ dataDir }) => unpackRuntime(dataDir),
    afterOpening: ({ dataDir }) => removeOtherRuntimes(dataDir),
  }),
);
