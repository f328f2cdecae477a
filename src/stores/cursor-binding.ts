// Bindings of cursors: a cursor works only for the list and the conditions for which it was made.

import { PROJECT_SECRET_BYTES } from "../domain/chunk-ids.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { CursorBinding } from "../domain/page.ts";
import type { Session } from "./session.ts";

const SECRET = "SELECT secret FROM projects WHERE id = $project";
const SECRET_OF_DEFAULT = "SELECT secret FROM projects WHERE is_default = 1";

/** Secret of a project that does not exist. Its lists are empty. */
const NO_SECRET = new Uint8Array(PROJECT_SECRET_BYTES);

type SecretRow = { readonly secret: Uint8Array };

/**
 * Binding of cursors to a list of a project.
 * @param parts kind of the list, and everything that it depends on
 */
export async function cursorBinding(
  session: Session,
  projectId: ProjectId,
  parts: readonly [kind: string, ...(string | null)[]],
): Promise<CursorBinding> {
  const row = await session.get<SecretRow>(SECRET, { project: projectId });
  return { list: JSON.stringify([projectId, ...parts]), secret: () => row?.secret ?? NO_SECRET };
}

/** Binding of cursors to the list of all projects. */
export function projectsCursorBinding(session: Session): Promise<CursorBinding> {
  return deploymentBinding(session, ["projects"]);
}

/** Binding of cursors to the list of the models of a task, or of all. */
export function modelsCursorBinding(session: Session, task: string | null): Promise<CursorBinding> {
  return deploymentBinding(session, ["models", task]);
}

async function deploymentBinding(session: Session, parts: readonly (string | null)[]): Promise<CursorBinding> {
  const row = await session.get<SecretRow>(SECRET_OF_DEFAULT);
  return { list: JSON.stringify(parts), secret: () => row?.secret ?? NO_SECRET };
}
