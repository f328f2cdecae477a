// Implements EntityStore: one row per entity that a person renamed or merged.

import type { EntityChange, EntityHash, EntityNote } from "../domain/entity.ts";
import { Fault } from "../domain/fault.ts";
import type { ProjectId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { EntityStore } from "../ports/entity-store.ts";
import type { StoreContext } from "./context.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";
import { projectKeyOf } from "./user-rows.ts";

const LIST = `SELECT entity, name, merged_into FROM entity_notes WHERE project_key = ${OPEN_PROJECT}
  ORDER BY entity_note_key LIMIT ${LIMITS.entityNotes}`;
const GET = "SELECT entity, name, merged_into FROM entity_notes WHERE project_key = $projectKey AND entity = $entity";
const COUNT = "SELECT count(*) AS n FROM entity_notes WHERE project_key = $projectKey";
const SET = `INSERT INTO entity_notes (project_key, entity, name, merged_into, updated_at)
  VALUES ($projectKey, $entity, $name, $mergedInto, $now)
  ON CONFLICT (project_key, entity) DO UPDATE SET name = excluded.name, merged_into = excluded.merged_into,
    updated_at = excluded.updated_at`;
const REMOVE = "DELETE FROM entity_notes WHERE project_key = $projectKey AND entity = $entity";

interface EntityNoteRow {
  /** 16 hexadecimal digits, like `merged_into`. */
  readonly entity: string;
  readonly name: string | null;
  readonly merged_into: string | null;
}

/** Names and merges of entities. */
export class StoredEntities implements EntityStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async notes(projectId: ProjectId): Promise<readonly EntityNote[]> {
    return (await this.session.all<EntityNoteRow>(LIST, { project: projectId })).map(toNote);
  }

  async change(projectId: ProjectId, entity: EntityHash, change: EntityChange): Promise<void> {
    const projectKey = await projectKeyOf(this.session, projectId);
    const known = await this.#find(projectKey, entity);
    const { name = known?.name ?? null, mergedInto = known?.mergedInto ?? null } = change;
    if (name === null && mergedInto === null) {
      await this.session.run(REMOVE, { projectKey, entity: digitsOf(entity) });
      return;
    }
    if (mergedInto !== null) await this.#refuseCircle(projectKey, entity, mergedInto);
    if (known === null) await this.#refuseTooMany(projectKey);
    const row = { entity: digitsOf(entity), name, mergedInto: mergedInto === null ? null : digitsOf(mergedInto) };
    await this.session.run(SET, { projectKey, ...row, now: this.context.clock.now() });
  }

  async #find(projectKey: bigint, entity: EntityHash): Promise<EntityNote | null> {
    const row = await this.session.get<EntityNoteRow>(GET, { projectKey, entity: digitsOf(entity) });
    return row === null ? null : toNote(row);
  }

  async #refuseCircle(projectKey: bigint, entity: EntityHash, into: EntityHash): Promise<void> {
    let next: EntityHash | null = into;
    for (let steps = 0; next !== null && steps <= LIMITS.entityNotes; steps++) {
      if (next === entity) {
        throw new Fault(
          "invalid_state",
          "Entities cannot be merged in a circle: the other one is merged into this one.",
          {
            param: "merged_into",
          },
        );
      }
      next = (await this.#find(projectKey, next))?.mergedInto ?? null;
    }
  }

  async #refuseTooMany(projectKey: bigint): Promise<void> {
    const counted = await this.session.get<{ n: bigint }>(COUNT, { projectKey });
    if (Number(counted?.n ?? 0n) < LIMITS.entityNotes) return;
    const message = `The project has names and merges of ${LIMITS.entityNotes} entities, which is the limit. Take some back.`;
    throw new Fault("invalid_request", message, { param: "id" });
  }
}

function toNote({ entity, name, merged_into: into }: EntityNoteRow): EntityNote {
  return { entity: BigInt(`0x${entity}`), name, mergedInto: into === null ? null : BigInt(`0x${into}`) };
}

function digitsOf(entity: EntityHash): string {
  return entity.toString(16).padStart(16, "0");
}
