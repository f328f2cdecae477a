// Lists memories in pages, newest first.

import type { ProjectId } from "../../domain/ids.ts";
import type { Memory } from "../../domain/memory.ts";
import { decodeCursor, type Page } from "../../domain/page.ts";
import type { Clock } from "../../kit/clock.ts";
import type { MemoryListing } from "../../ports/memory-store.ts";
import { cursorBinding } from "../cursor-binding.ts";
import { foldTitle, type MemoryRow } from "../rows/memory.ts";
import { memoryPage } from "../rows/memory-page.ts";
import { LIVE, MEMORY_COLUMNS, OPEN_PROJECT } from "../rows/sql.ts";
import type { Session, Value } from "../session.ts";
import { USER_KEY } from "../user-rows.ts";

/** Lists memories. */
export class MemoryLists {
  constructor(
    private readonly session: Session,
    private readonly clock: Clock,
  ) {}

  /** See MemoryStore.list. */
  async page(projectId: ProjectId, listing: MemoryListing): Promise<Page<Memory>> {
    const { status = null, type = null, userId = null, agentId = null, sessionId = null, tag = null, limit } = listing;
    const part = listing.q === undefined ? null : foldTitle(listing.q);
    const list = ["memories", status, type, userId, tag, part, agentId, sessionId] as const;
    const binding = await cursorBinding(this.session, projectId, list);
    const before = listing.cursor === undefined ? null : decodeCursor(listing.cursor, binding);
    const conditions = [`memories.project_key = ${OPEN_PROJECT}`, LIVE];
    // one row more than requested shows whether another page follows
    const values: Record<string, Value> = { project: projectId, now: this.clock.now(), rows: limit + 1 };
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
    restrict("strpos(memories.title_folded, $part) > 0", "part", part);
    restrict("memories.memory_key < $before", "before", before);
    const from = tag === null ? "memories" : "memory_tags JOIN memories USING (memory_key)";
    const rows = await this.session.all<MemoryRow>(
      `SELECT ${MEMORY_COLUMNS} FROM ${from} WHERE ${conditions.join(" AND ")}
       ORDER BY memories.memory_key DESC LIMIT $rows`,
      values,
    );
    return memoryPage(rows, listing, binding);
  }
}
