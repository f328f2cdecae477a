// Stores drafts: creates memories, or updates the memory with the same `externalId` (memory-change.ts). The jobs for
// their contents are in job-store.ts.

import { Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import type { MemoryDraft } from "../../domain/memory.ts";
import type { Accepted } from "../../ports/memory-store.ts";
import type { StoreContext } from "../context.ts";
import type { Dialect } from "../dialect.ts";
import type { NewMemory } from "../engine.ts";
import { ProjectQuotas } from "../project-quotas.ts";
import { toMemory } from "../rows/memory.ts";
import { columnsAfter, fingerprintOf, type KnownRow } from "../rows/memory-change.ts";
import { type ContentFingerprint, fingerprintOfFile, originalOf, unreadSource } from "../rows/memory-file.ts";
import type { UsedRow } from "../rows/project.ts";
import { newId } from "../rows/random.ts";
import type { Session } from "../session.ts";
import { UserKeys } from "../user-rows.ts";
import { KNOWN_COLUMNS, type MemoryChanges } from "./memory-change.ts";
import { MemoryExpiry } from "./memory-expiry.ts";

const FIND_PROJECT = `SELECT project_key, plan, documents, storage_bytes FROM projects
  WHERE id = $project AND deleted_at IS NULL`;

// the memories that already have the pairs of user and externalId of drafts, even expired ones
const HOLDERS = ({ rows, keyOrZero, forUpdate }: Dialect) => `SELECT ${KNOWN_COLUMNS}
  FROM ${rows({ user_key: "bigint", external_id: "text" })} CROSS JOIN memories
  WHERE memories.project_key = $projectKey AND ${keyOrZero("memories.user_key")} = given.user_key
    AND memories.external_id = given.external_id AND memories.external_id IS NOT NULL
    AND memories.deleted_at IS NULL
  ${forUpdate("memories")}`;

/** Maximum size of the contents of the drafts that are inserted together, in UTF-16 code units. */
const INSERTED_CHARACTERS_MAX = 1024 * 1024;

/** Stores drafts. */
export class MemoryIntake {
  readonly #quotas: ProjectQuotas;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly changes: MemoryChanges,
  ) {
    this.#quotas = new ProjectQuotas(session, new MemoryExpiry(session, context));
  }

  /**
   * Stores all drafts in their order, so that a draft can update an earlier one.
   * @throws Fault `project_not_found` if the project does not exist
   */
  async accept(projectId: ProjectId, drafts: readonly MemoryDraft[]): Promise<readonly (Accepted | Fault)[]> {
    const params = { project: projectId };
    const project = await this.session.get<UsedRow & { readonly project_key: bigint }>(FIND_PROJECT, params);
    if (project === null) throw new Fault("project_not_found", `There is no project '${projectId}' any more.`);
    const projectKey = project.project_key;
    const users = new UserKeys(this.session, projectKey);
    await users.read(drafts.flatMap(({ userId }) => userId ?? []));
    const holders = await this.#holders(projectId, users, drafts);
    const results = new Map<number, Accepted | Fault>();
    const batch = new Insertions(this.session, this.context, users, results);
    const room = this.#quotas.room(projectKey, project);
    for (const [position, draft] of drafts.entries()) {
      const pair = pairOf(draft);
      if (holders.has(pair)) await batch.flush(); // an earlier draft of the batch may create its memory
      const known = await this.#holder(projectId, draft, holders.get(pair));
      if (pair !== NO_PAIR) holders.set(pair, "changed");
      if (known !== null) {
        results.set(position, await this.changes.apply(known, draft, users));
        room.readAgain();
        continue;
      }
      const fingerprint = draft.upload === undefined ? fingerprintOf(draft.content) : fingerprintOfFile(draft.upload);
      const growth = { documents: 1, bytes: fingerprint.contentBytes };
      let refusal = await room.refusal(growth);
      if (refusal !== null) {
        await batch.flush();
        refusal = await this.#quotas.refusal(projectKey, growth);
        room.readAgain();
      }
      if (refusal === null) {
        room.take(growth);
        await batch.add(position, draft, fingerprint);
      } else results.set(position, refusal);
    }
    await batch.flush();
    return drafts.map((_, position) => {
      const result = results.get(position);
      invariant(result !== undefined, "a draft has no outcome");
      return result;
    });
  }

  /** The memory that a draft updates. `holder` is the row with its pair, if one has it. */
  async #holder(projectId: ProjectId, draft: MemoryDraft, holder: Holder | undefined): Promise<KnownRow | null> {
    const { externalId, userId = null } = draft;
    if (externalId === undefined || holder === undefined) return null;
    return holder === "changed"
      ? this.changes.holderOf(projectId, userId, externalId)
      : this.changes.unlessExpired(holder);
  }

  /** The memories that have the pairs of user and externalId of drafts, by the names of the pairs (`pairOf`). */
  async #holders(projectId: ProjectId, users: UserKeys, drafts: readonly MemoryDraft[]): Promise<Map<string, Holder>> {
    const pairs = drafts.flatMap(({ userId, externalId }) => {
      const userKey = userId === undefined ? 0n : users.keyOf(userId);
      return externalId === undefined || userKey === null ? [] : [{ userKey, externalId }];
    });
    if (pairs.length === 0) return new Map();
    const rows = await this.session.all<KnownRow>(HOLDERS, {
      project: projectId,
      projectKey: users.projectKey,
      user_key: pairs.map(({ userKey }) => userKey),
      external_id: pairs.map(({ externalId }) => externalId),
    });
    return new Map(rows.map((row) => [nameOf(row.user_id, row.external_id), row]));
  }
}

/**
 * The row that had a pair of user and externalId before the drafts; "changed" if an earlier draft may have changed it.
 */
type Holder = KnownRow | "changed";

/** A draft to insert, and its position among the drafts. */
interface Insertion {
  readonly position: number;
  readonly memory: Omit<NewMemory, "id">;
}

/** Drafts that become new memories, and are inserted together. */
class Insertions {
  #waiting: Insertion[] = [];
  #characters = 0;

  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
    private readonly users: UserKeys,
    private readonly results: Map<number, Accepted | Fault>,
  ) {}

  async add(position: number, draft: MemoryDraft, fingerprint: ContentFingerprint): Promise<void> {
    const { userId, content, upload } = draft;
    const originalFile = originalOf(upload ?? null);
    const userKey = userId === undefined ? null : await this.users.ensureKnown(userId, this.context.clock.now());
    const source = upload === undefined ? null : unreadSource(upload);
    const text = { text_version: 1n, text_since: null, text_by: draft.by ?? null };
    const columns = columnsAfter(draft, null, { userKey, isRework: false, text });
    this.#waiting.push({ position, memory: { content, fingerprint, source, originalFile, columns } });
    this.#characters += content.length;
    if (this.#characters > INSERTED_CHARACTERS_MAX) await this.flush();
  }

  /** Inserts the drafts that wait. */
  async flush(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    [this.#waiting, this.#characters] = [[], 0];
    const { engine, clock, random } = this.context;
    const now = clock.now();
    const memories = waiting.map(({ memory }) => ({ ...memory, id: newId("mem", now, random) }));
    const rows = await engine.insertMemories(this.session, memories, { projectKey: this.users.projectKey, now });
    for (const [at, { position }] of waiting.entries()) {
      const row = rows[at];
      invariant(row !== undefined, "an inserted memory returned no row");
      this.results.set(position, { memory: toMemory(row), outcome: "created", releasedFile: null });
    }
  }
}

/** Stands for the pair of a draft without an externalId. */
const NO_PAIR = "";

/** A text that identifies the pair of user and externalId of a draft, as key of a map. */
function pairOf({ userId, externalId }: MemoryDraft): string {
  return externalId === undefined ? NO_PAIR : nameOf(userId ?? null, externalId);
}

function nameOf(userId: string | null, externalId: string | null): string {
  return `${JSON.stringify(userId)} ${externalId}`;
}
