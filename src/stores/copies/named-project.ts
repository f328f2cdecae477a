// Finds the project that a command names.

import { Fault } from "../../domain/fault.ts";
import type { AnyRow, Reader } from "../session.ts";

const NAMED = `SELECT project_key AS key, * FROM projects
  WHERE deleted_at IS NULL AND CASE WHEN CAST($named AS TEXT) IS NULL THEN is_default = 1
    ELSE id = $named OR name = $named END ORDER BY project_key`;

/** A row of `projects` with its key. */
export type NamedProject = AnyRow & { readonly key: bigint; readonly id: string };

/**
 * @param named id or name of the project; null: the default project
 * @throws Fault `project_not_found`, or `invalid_request` for the name of several projects
 */
export async function projectNamed(rows: Reader, named: string | null): Promise<NamedProject> {
  const found = await rows.all<NamedProject>(NAMED, { named });
  const [project, second] = found;
  if (second !== undefined) {
    const ids = found.map(({ id }) => id).join(", ");
    throw new Fault("invalid_request", `${JSON.stringify(named)} is the name of several projects: ${ids}.`);
  }
  if (project === undefined) throw new Fault("project_not_found", `There is no project ${JSON.stringify(named)}.`);
  return project;
}
