// `mneme models pull`: downloads a model that is not part of the program. The only command that does.

import {
  installedModel,
  installFromCache,
  OPTIONAL_MODELS,
  optionalModel,
  optionalModelFolders,
  pullModel,
} from "../compose/optional-models.ts";
import { parseConfig } from "../config.ts";
import { parseCommandLine, UsageError } from "../kit/flags.ts";
import { didYouMean } from "../kit/nearest.ts";
import type { CommandStart } from "./command-start.ts";
import { Progress } from "./terminal.ts";

const MB = 1_000_000;
/** Maximum time without a byte during the setup of a checkout, in milliseconds. There may be no network. */
const SETUP_IDLE_MS = 10_000;
const FLAGS = {
  "--from": "value",
  "--models-dir": "value",
  "--data-dir": "value",
  "--config": "value",
  "--setup": "switch",
} as const;

/** Usage and description for the help. */
export const MODELS_PULL_HELP: readonly (readonly [string, string])[] = [
  [
    `models pull ${OPTIONAL_MODELS.map(({ id }) => id).join("|")} [--from FILE|URL] [--data-dir DIRECTORY] [--models-dir DIRECTORY]`,
    "Download an optional model (checked by SHA-256; continues after an interruption)",
  ],
];

/**
 * Installs a model and returns what to print. With `--setup`, for the setup of a checkout: into the folder of the
 * shipped models, and a failure is a text, not an error.
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
  const known = installedModel(id, config);
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
    const why = error instanceof Error ? error.message : String(error);
    return `${model.name} is not installed: ${why}\nWithout it, scans and pictures are not read. Later: npx -y bun run mneme models pull ${id}\n`;
  }
}
