// The operations on the history of a memory.

import type { Actor, HistoryEntry } from "../domain/history.ts";
import { LIMITS } from "../domain/limits.ts";
import { isoTime } from "../kit/clock.ts";
import type { HistoryService } from "../services/history.ts";
import { memoryPathId } from "./ids.ts";
import { absent } from "./memories.ts";
import { changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { relationView } from "./relations.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/history.ts";
import { isoTimeOrNull, listView, type View } from "./views.ts";

/** The operations on /v1/memories/{id}/history. */
export function historyOperations(history: HistoryService): readonly Operation[] {
  return [
    reading({
      name: "getMemoryHistory",
      group: "Memories",
      summary:
        "List the texts that a memory has and had, and when relations were set and removed, newest first. Earlier ones are kept for the project's retention period.",
      method: "GET",
      path: "/v1/memories/:id/history",
      scope: "memories:read",
      query: schema.ListHistory,
      answers: { 200: schema.HistoryList },
      faults: ["memory_not_found", "invalid_cursor"],
      read: async ({ principal, params, query }) => {
        const id = memoryPathId(params.id);
        const page = await history.page(principal, id, { limit: LIMITS.pageItemsDefault, ...query });
        if (page === null) throw absent(id);
        return { status: 200, body: listView(page, entryView) };
      },
    }),

    changing({
      name: "eraseMemoryHistory",
      group: "Memories",
      summary: "Erase all earlier texts of a memory for good, such as a secret that was corrected.",
      method: "DELETE",
      path: "/v1/memories/:id/history",
      scope: "memories:write",
      query: NoQuery,
      answers: { 204: null },
      faults: ["memory_not_found"],
      change: async (tx, { principal, params }) => {
        const id = memoryPathId(params.id);
        if (!(await history.erase(tx, principal, id))) throw absent(id);
      },
      answer: () => NO_CONTENT,
    }),
  ];
}

/** Converts an entry of the history of a memory to the schema `HistoryEntry`. */
function entryView(entry: HistoryEntry): View<typeof schema.HistoryEntry> {
  const by = actorView(entry.by);
  if (entry.kind === "relation") {
    const { kind, action, at, relation } = entry;
    return { kind, action, at: isoTime(at), relation: relationView(relation), by };
  }
  const { kind, version, content, from, until } = entry;
  return { kind, version, content, from: isoTime(from), until: isoTimeOrNull(until), by };
}

function actorView({ kind, id }: Actor): View<typeof schema.Actor> {
  return { kind, id };
}
