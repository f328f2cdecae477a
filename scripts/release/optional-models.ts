// Archives of the models that are in this repository, but not in the program: `mneme models pull` installs them.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OPTIONAL_MODELS, type OptionalModel } from "../../src/adapters/downloads/optional-models.ts";
import type { Made, ReleaseRun } from "./description.ts";
import { zipped } from "./zip.ts";

const MODELS = join(import.meta.dir, "../../data/models");
/** Time of the files: the checksums of the archives are in data/models/optional.json and must not change. */
const FILE_TIME = Date.UTC(2026, 0, 1) / 1000;

/** Writes the archives of models without an address of their own. */
export function makeModelArchives({ output }: Pick<ReleaseRun, "output">): readonly Made[] {
  return OPTIONAL_MODELS.filter(({ archive }) => archive.url === null).map((model) => {
    const file = join(output, `${model.id}.zip`);
    writeFileSync(file, modelArchive(model));
    return { file };
  });
}

/** The archive of a model in this repository. */
export function modelArchive({ folder, files }: Pick<OptionalModel, "folder" | "files">): Uint8Array {
  const entries = files.map(({ name, path }) => [path, readFileSync(join(MODELS, folder, name))] as const);
  return zipped(Object.fromEntries(entries), { level: 0, time: FILE_TIME });
}
