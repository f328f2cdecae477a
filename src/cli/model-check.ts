// `mneme models check`: verifies the files of the models on this machine. models.ts has other actions of the command.

import { checkModels } from "../compose/model-check.ts";
import { alignRows, languagesCell, whileShown } from "./terminal.ts";

/**
 * The installed models as a table, or as JSON.
 * @returns the text, and whether all models can be used
 */
export async function modelCheck(
  modelsDir: string,
  isJson: boolean,
): Promise<{ readonly text: string; readonly isGood: boolean }> {
  const models = await whileShown("verifying", checkModels(modelsDir));
  const isGood = models.every(({ problem }) => problem === null);
  if (isJson) return { text: `${JSON.stringify({ models_dir: modelsDir, models }, null, 2)}\n`, isGood };
  const header = ["MODEL", "KIND", "DIMENSIONS", "LANGUAGES", "LICENCE", "SIZE", "STATE"];
  const rows = models.map(({ id, kind, dimensions, languages, licence, bytes, problem }) => [
    id,
    kind ?? "",
    dimensions === null ? "" : String(dimensions),
    languagesCell(languages),
    licence ?? "",
    bytes === null ? "" : `${Math.round(bytes / 1e6)} MB`,
    problem === null ? "verified" : "cannot be used",
  ]);
  const problems = models.flatMap(({ problem }) => (problem === null ? [] : [problem]));
  const text =
    models.length === 0 ? [`There are no models in ${modelsDir}.`] : [...alignRows([header, ...rows]), ...problems];
  return { text: `${text.join("\n")}\n`, isGood };
}
