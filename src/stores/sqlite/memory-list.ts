// Lists memories in pages, newest first.

import type { ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import { decodeCursor, type Page } from "../../domain/page.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MemoryListing } from "../../ports/memory-store.ts";
import { foldTitle, type MemoryRow } from "../rows/memory.ts";
import { memoryPage } from "../rows/memory-page.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { SqliteDatabase } from "./database.ts";
import { USER_KEY } from "./user-rows.ts";

/** The FROM clause of a list query, and the column by which rows are ordered. */
type Source = { readonly from: string; readonly key: string };

// Each query names its index, because SQLite could choose a worse one. Each index has only memories that are not
// deleted, in the order of their keys.
const ALL: Source = { from: "memories INDEXED BY memories_by_key", key: "memories.memory_key" };
const OF_STATUS: Source = { from: "memories INDEXED BY memories_by_status", key: "memories.memory_key" };
const OF_TYPE: Source = { from: "memories INDEXED BY memories_by_type", key: "memories.memory_key" };
const OF_USER: Source = { from: "memories INDEXED BY memories_by_user", key: "memories.memory_key" };
const OF_AGENT: Source = { from: "memories INDEXED BY memories_by_agent", key: "memories.memory_key" };
const OF_SESSION: Source = { from: "memories INDEXED BY memories_by_session", key: "memories.memory_key" };
// CROSS JOIN makes SQLite begin with the tags
const TAGGED: Source = {
  from: "memory_tags CROSS JOIN memories ON memories.memory_key = memory_tags.memory_key",
  key: "memory_tags.memory_key",
};

type Values = Record<string, string | bigint | number>;

/** Lists memories. */
export class MemoryLists {
  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
  ) {}

  /**
   * See MemoryStore.list. Cost: the index applies only the most selective condition. The query reads rows that meet it
   * until the page is full, at most all of them: 80 ms if `q` matches none of 132,000 memories.
   */
  page(projectId: ProjectId, listing: MemoryListing): Page<Memory> {
    const { status = null, type = null, userId = null, agentId = null, sessionId = null, tag = null, limit } = listing;
    const part = listing.q === undefined ? null : foldTitle(listing.q);
    const list = ["memories", status, type, userId, tag, part, agentId, sessionId] as const;
    const binding = cursorBinding(this.database, projectId, list);
    const before = listing.cursor === undefined ? null : decodeCursor(listing.cursor, binding);
    const { from, key } = sourceOf(listing);
    const conditions = [`memories.project_key = ${OPEN_PROJECT}`, LIVE];
    // one row more than requested shows whether another page follows
    const values: Values = { project: projectId, now: this.clock.now(), rows: limit + 1 };
    const restrict = (condition: string, name: string, value: string | bigint | null) => {
      if (value === null) return;
      conditions.push(condition);
      values[name] = value;
    };
    restrict("memories.status = $status", "status", status);
    restrict("memories.type = $type", "type", type);
    restrict(`memories.user_key = ${USER_KEY}`, "userId", userId);
    restrict("memories.agent_id = $agentId", "agentId", agentId);
    restrict("memories.session_id = $sessionId", "sessionId", sessionId);
    restrict(`memory_tags.project_key = ${OPEN_PROJECT} AND memory_tags.tag = $tag`, "tag", tag);
    restrict("instr(memories.title_folded, $part) > 0", "part", part);
    restrict(`${key} < $before`, "before", before);

    const rows = this.database
      .prepare<MemoryRow, Values>(
        `SELECT ${MEMORY_COLUMNS} FROM ${from} WHERE ${conditions.join(" AND ")} ORDER BY ${key} DESC LIMIT $rows`,
      )
      .all(values);
    return memoryPage(rows, listing, binding);
  }
}

// Chooses the index for the condition that leaves the fewest rows. Few memories are processing or failed; most are
// completed. A session has fewer memories than its user, and an agent may serve all users.
function sourceOf({ tag, userId, agentId, sessionId, status, type }: MemoryListing): Source {
  if (tag !== undefined) return TAGGED;
  if (sessionId !== undefined) return OF_SESSION;
  if (userId !== undefined) return OF_USER;
  if (agentId !== undefined) return OF_AGENT;
  if (status !== undefined && (status !== "completed" || type === undefined)) return OF_STATUS;
  return type === undefined ? ALL : OF_TYPE;
}
