// What the cursors of lists are bound to.

import { PROJECT_SECRET_BYTES } from "../../domain/chunk-ids.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { CursorBinding } from "../../domain/page.ts";
import type { SqliteDatabase } from "./database.ts";

const SECRET = "SELECT secret FROM projects WHERE id = $project";
const SECRET_OF_DEFAULT = "SELECT secret FROM projects WHERE is_default = 1";

/** Secret of a project that does not exist. Its lists are empty. */
const NO_SECRET = new Uint8Array(PROJECT_SECRET_BYTES);

/**
 * Binding of cursors to a list of a project.
 * @param parts kind of the list, and everything that it depends on
 */
export function cursorBinding(
  database: SqliteDatabase,
  projectId: ProjectId,
  parts: readonly [kind: string, ...(string | null)[]],
): CursorBinding {
  return {
    list: JSON.stringify([projectId, ...parts]),
    secret: () =>
      database.prepare<{ secret: Uint8Array }, { project: string }>(SECRET).get({ project: projectId })?.secret ??
      NO_SECRET,
  };
}

/** Binding of cursors to the list of all projects. */
export function projectsCursorBinding(database: SqliteDatabase): CursorBinding {
  return {
    list: JSON.stringify(["projects"]),
    secret: () => database.prepare<{ secret: Uint8Array }>(SECRET_OF_DEFAULT).get({})?.secret ?? NO_SECRET,
  };
}
