// Lists memories in pages, and counts them.

import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import { decodeCursor, type Page } from "../../domain/page.ts";
import type { CountedPart, MemoryConditions, MemoryListing } from "../../ports/memory-store.ts";
import type { StoreContext } from "../context.ts";
import { cursorBinding } from "../cursor-binding.ts";
import type { Dialect } from "../dialect.ts";
import { hasEffect, RELATIONS_THEN } from "../relations/relation-rows.ts";
import { foldTitle, type MemoryRow } from "../rows/memory.ts";
import { memoryPage } from "../rows/memory-page.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import type { Bindings, Session } from "../session.ts";
import { USER_KEY } from "../user-rows.ts";

/** Lists and counts memories. */
export class MemoryLists {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  /**
   * See MemoryStore.list. Cost: the index applies only the most selective condition. The query reads rows that meet it
   * until the page is full, at most all of them: 80 ms if `q` matches none of 132,000 memories.
   */
  async page(projectId: ProjectId, listing: MemoryListing): Promise<Page<Memory>> {
    const { status = null, type = null, userId = null, agentId = null, sessionId = null, tag = null, limit } = listing;
    const part = foldedPart(listing);
    const list = ["memories", status, type, userId, tag, part, agentId, sessionId] as const;
    const { superseded, knownAt, container, order = "newest" } = listing;
    const known = knownAt === undefined ? [] : [`at ${knownAt}`];
    const contained = container === undefined ? [] : [`in ${container}`];
    const ordered = order === "newest" ? [] : [order];
    const bound = [
      ...list,
      ...(superseded === undefined ? [] : [String(superseded)]),
      ...known,
      ...contained,
      ...ordered,
    ] as const;
    const binding = await cursorBinding(this.session, projectId, bound);
    const last = listing.cursor === undefined ? null : decodeCursor(listing.cursor, binding);
    const { from, key, where, values } = this.#selected(projectId, listing);
    const direction = DIRECTIONS[order];
    const behind = last === null ? "" : `AND ${key} ${direction.behind} $last`;
    // one row more than requested shows whether another page follows
    const rows = await this.session.all<MemoryRow>(
      `SELECT ${MEMORY_COLUMNS} FROM ${from} WHERE ${where} ${behind} ORDER BY ${key} ${direction.sort} LIMIT $rows`,
      { ...values, last, rows: limit + 1 },
    );
    return memoryPage(rows, listing, binding);
  }

  /** See MemoryStore.countFrom. */
  async countFrom(
    projectId: ProjectId,
    conditions: MemoryConditions,
    { before, limit }: { readonly before: MemoryKey | null; readonly limit: number },
  ): Promise<CountedPart> {
    const { from, key, where, values } = this.#selected(projectId, conditions);
    const behind = before === null ? "" : `AND ${key} < $last`;
    const row = await this.session.get<{ memories: bigint; last: bigint | null }>(
      `SELECT count(*) AS memories, min(counted_key) AS last FROM (SELECT ${key} AS counted_key FROM ${from}
        WHERE ${where} ${behind} ORDER BY ${key} DESC LIMIT $rows) AS counted`,
      { ...values, last: before, rows: limit },
    );
    const memories = Number(row?.memories ?? 0n);
    return { memories, last: memories < limit ? null : ((row?.last ?? null) as MemoryKey | null) };
  }

  #selected(projectId: ProjectId, conditions: MemoryConditions) {
    const { status = null, type = null, userId = null, agentId = null, sessionId = null, tag = null } = conditions;
    const { superseded, knownAt, container } = conditions;
    const part = foldedPart(conditions);
    const { contains, indexedBy, container: containerOf } = this.session.dialect;
    const where = [
      ...[`memories.project_key = ${OPEN_PROJECT}`, LIVE],
      ...(status === null ? [] : ["memories.status = $status"]),
      ...(type === null ? [] : ["memories.type = $type"]),
      ...(userId === null ? [] : [`memories.user_key = ${USER_KEY}`]),
      ...(agentId === null ? [] : ["memories.agent_id = $agentId"]),
      ...(sessionId === null ? [] : ["memories.session_id = $sessionId"]),
      ...(tag === null ? [] : [TAGGED]),
      ...(container === undefined ? [] : [`${containerOf} = $container AND ${containerOf} IS NOT NULL`]),
      ...(superseded === undefined ? [] : [supersededWhere(superseded, knownAt, this.session.dialect)]),
      ...(knownAt === undefined ? [] : [HAD_TEXT]),
      ...(part === null ? [] : [contains("memories.title_folded", "$part")]),
    ];
    const values: Bindings = { project: projectId, now: this.context.clock.now(), knownAt: knownAt ?? null, part };
    return {
      // CROSS JOIN makes SQLite begin with the tags
      from: tag === null ? `memories ${indexedBy(indexOf(conditions))}` : "memory_tags CROSS JOIN memories",
      // the key by which the index of the tags is ordered
      key: tag === null ? "memories.memory_key" : "memory_tags.memory_key",
      where: where.join(" AND "),
      values: { ...values, status, type, userId, agentId, sessionId, tag, container: container ?? null },
    };
  }
}

const DIRECTIONS = { newest: { behind: "<", sort: "DESC" }, oldest: { behind: ">", sort: "ASC" } } as const;

function foldedPart({ q }: MemoryConditions): string | null {
  return q === undefined ? null : foldTitle(q);
}

const TAGGED = `memory_tags.memory_key = memories.memory_key AND memory_tags.project_key = ${OPEN_PROJECT}
  AND memory_tags.tag = $tag`;

const EARLIER_THEN = `FROM earlier_texts
  WHERE earlier_texts.memory_key = memories.memory_key AND since <= $knownAt AND until > $knownAt`;
const HAD_TEXT = `(coalesce(memories.text_since, memories.created_at) <= $knownAt OR EXISTS (SELECT 1 ${EARLIER_THEN}))`;
// agrees with RelationStore.supersededAt for a memory with one passage
const supersededThen = (dialect: Dialect) => `coalesce((SELECT passages ${EARLIER_THEN}), memories.chunk_count) <= 1
  AND EXISTS (SELECT 1 FROM ${RELATIONS_THEN} AS relations
    JOIN memories AS newer ON newer.memory_key = relations.memory_key
    JOIN projects ON projects.project_key = relations.project_key
    WHERE relations.other_key = memories.memory_key AND kind = 'supersedes' AND state = 'active'
    AND ${hasEffect(dialect)} AND newer.deleted_at IS NULL AND (newer.expires_at IS NULL OR newer.expires_at > $now))`;

function supersededWhere(superseded: boolean, knownAt: number | undefined, dialect: Dialect): string {
  if (knownAt === undefined) return `memories.superseded_by IS ${superseded ? "NOT NULL" : "NULL"}`;
  return `${superseded ? "" : "NOT "}(${supersededThen(dialect)})`;
}

// The index of the condition that leaves the fewest rows. Few memories are processing or failed; most are completed. A
// session has fewer memories than its user, and an agent may serve all users. Each index has only memories that are not
// deleted, in the order of their keys. SQLite could choose a worse one itself.
function indexOf({ userId, agentId, sessionId, status, type, container }: MemoryConditions): string {
  if (container !== undefined) return "memories_by_container";
  if (sessionId !== undefined) return "memories_by_session";
  if (userId !== undefined) return "memories_by_user";
  if (agentId !== undefined) return "memories_by_agent";
  if (status !== undefined && (status !== "completed" || type === undefined)) return "memories_by_status";
  return type === undefined ? "memories_by_key" : "memories_by_type";
}
