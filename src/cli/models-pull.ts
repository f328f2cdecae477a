// `mneme models pull NAME` for a model that Mneme knows, but does not ship, such as those of text recognition. Any
// other model is an action of models.ts.

import {
  installFromCache,
  OPTIONAL_MODELS,
  optionalModel,
  optionalModelFolder,
  optionalModelFolders,
  pullModel,
} from "../compose/optional-models.ts";
import { parseConfig } from "../config.ts";
import { errorMessage } from "../kit/error-message.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import type { CommandStart } from "./command-start.ts";
import { Progress } from "./terminal.ts";

const MB = 1_000_000;
/** During the setup of a checkout, where there may be no network: maximum time without a byte, in milliseconds. */
const SETUP_IDLE_MS = 10_000;
const FLAGS = {
  "--from": "value",
  "--models-dir": "value",
  "--data-dir": "value",
  "--config": "value",
  "--setup": "switch",
} as const;

/** Help for pull, as `[usage, description]`. */
export const MODELS_PULL_HELP: readonly (readonly [string, string])[] = [
  [
    `models pull ${OPTIONAL_MODELS.map(({ id }) => id).join("|")} [--from FILE|URL] [--data-dir DIRECTORY] [--models-dir DIRECTORY]`,
    "Download an optional model (checked by SHA-256; continues after an interruption)",
  ],
];

/**
 * Installs a model, and returns the text to print. With `--setup`, which the setup of a checkout uses, it is installed
 * into the folder of the shipped models, and a failure is part of the text instead of an error.
 * @throws Error whose message is one sentence for the user
 */
export async function pullOptionalModel(argv: readonly string[], start: CommandStart): Promise<string> {
  const { flags, positionals } = parseCommandLine(argv, FLAGS);
  const [id, surplus] = positionals;
  const ids = OPTIONAL_MODELS.map((model) => model.id);
  if (id === undefined || surplus !== undefined) throw new UsageError(`Name one model: ${ids.join(", ")}.`);
  const model = optionalModel(id);
  if (model === null) {
    throw new UsageError(
      `There is no model ${JSON.stringify(id)} to pull.${didYouMean(id, ids) || ` Models: ${ids.join(", ")}.`}`,
    );
  }
  const ofConfig = ["--models-dir", "--data-dir", "--config"].flatMap((flag) => {
    const value = flags.get(flag);
    return value === undefined ? [] : [flag, value];
  });
  const config = parseConfig(ofConfig, start.environment, start.place);
  const isSetup = flags.has("--setup");
  const known = optionalModelFolder(id, config);
  if (known !== null) return isSetup ? "" : `${model.name} is installed: ${known}\n`;
  const [modelsDir, downloads] = optionalModelFolders(config);
  const directory = isSetup || flags.has("--models-dir") ? modelsDir : downloads;
  const install = isSetup ? installFromCache : pullModel;
  const progress = new Progress(`${model.name}, ${model.licence}:`);
  try {
    const folder = await install(model, directory ?? "", {
      from: flags.get("--from"),
      onBytes: (done, total) => progress.show(done / total, `${Math.round(done / MB)} of ${Math.round(total / MB)} MB`),
      ...(isSetup && { idleMs: SETUP_IDLE_MS }),
    });
    progress.clear();
    return `${model.name} (${model.licence}) is installed: ${folder}\n`;
  } catch (error) {
    progress.clear();
    if (!isSetup) throw error;
    const why = errorMessage(error);
    return `${model.name} is not installed: ${why}\nWithout it, scans and pictures are not read. Later: npx -y bun run mneme models pull ${id}\n`;
  }
}
