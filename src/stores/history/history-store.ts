// Implements HistoryStore. A page of the history is read by one statement over texts and relations; the contents of its
// texts are read after the page was cut to its size.

import type { Actor, RelationEntry } from "../../domain/history.ts";
import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import { decodeCursor, encodeCursor, type Page } from "../../domain/page.ts";
import { DAY_MS, isoTime } from "../../kit/clock.ts";
import { fittingTogether } from "../../kit/fitting.ts";
import type {
  EarlierText,
  HistoryListing,
  HistoryStore,
  StoredHistoryEntry,
  StoredTextEntry,
  TextThen,
} from "../../ports/history-store.ts";
import type { StoreContext } from "../context.ts";
import { cursorBinding } from "../cursor-binding.ts";
import type { Dialect } from "../dialect.ts";
import { relationOf, type ShownRow } from "../relations/relation-view.ts";
import { LIVE, PROJECT_KEY } from "../rows/sql.ts";
import type { Session } from "../session.ts";

/** Value of `until` of a text that was erased. */
const NEVER = 0n;

/**
 * Orders entries by time in milliseconds, then by key and kind. Times up to the year 2200 fit into 63 bits. Two entries
 * of one memory have the same place only if their keys differ by a multiple of 262,144 within the same millisecond.
 */
const place = (at: string, key: string, kind: number) =>
  `CAST(${at} AS bigint) * 1048576 + CAST(${key} AS bigint) % 262144 * 4 + ${kind}`;
const none = (type: "bigint" | "text", ...names: readonly string[]) =>
  names.map((name) => `CAST(NULL AS ${type}) AS ${name}`).join(", ");
const TEXT_NAMES = ["version", "until", "earlier_text_key", "content_bytes"] as const;
const NO_RELATION = `${none("text", "kind", "state", "made_by")}, ${none("bigint", "confidence")},
  ${none("text", "evidence")}, ${none("bigint", "created_at")}, ${none("text", "other_id")}, ${none("bigint", "is_own")}`;

const CURRENT_TEXT = `SELECT ${place("coalesce(text_since, memories.created_at)", "text_version", 0)} AS place,
    'text' AS entry, coalesce(text_since, memories.created_at) AS at, text_by AS actor, text_version AS version,
    ${none("bigint", "until", "earlier_text_key")}, content_bytes, ${NO_RELATION}
  FROM memories WHERE memories.memory_key = $key AND memories.project_key = ${PROJECT_KEY} AND ${LIVE}`;
const EARLIER_TEXTS = `SELECT ${place("since", "text_version", 0)}, 'text', since, text_by, text_version, until,
    earlier_text_key, content_bytes, ${NO_RELATION}
  FROM earlier_texts WHERE memory_key = $key AND until > ${NEVER} AND until >= $horizon
    AND EXISTS (SELECT 1 FROM memories WHERE memories.memory_key = $key AND ${LIVE})`;
const relationEntries = (
  table: "relations" | "earlier_relations",
  entry: "set" | "removed",
  kind: number,
) => `SELECT ${place(entry === "set" ? `${table}.created_at` : "removed_at", table === "relations" ? "relation_key" : "earlier_relation_key", kind)},
    '${entry}', ${entry === "set" ? `${table}.created_at` : "removed_at"}, ${entry === "set" ? "set_by" : "removed_by"},
    ${none("bigint", ...TEXT_NAMES)}, ${table}.kind, ${table}.state, ${table}.made_by, ${table}.confidence,
    ${table}.evidence, ${table}.created_at, memories.id,
    CAST(CASE WHEN ${table}.memory_key = $key THEN 1 ELSE 0 END AS bigint)
  FROM ${table} JOIN memories ON memories.memory_key =
    CASE WHEN ${table}.memory_key = $key THEN ${table}.other_key ELSE ${table}.memory_key END
  WHERE (${table}.memory_key = $key OR ${table}.other_key = $key) AND ${table}.project_key = ${PROJECT_KEY}
    AND ${table}.kind <> 'none' AND ${LIVE} ${table === "relations" ? "" : "AND removed_at >= $horizon"}`;
const ENTRIES = `SELECT * FROM (
    ${CURRENT_TEXT} UNION ALL ${EARLIER_TEXTS} UNION ALL ${relationEntries("relations", "set", 1)}
    UNION ALL ${relationEntries("earlier_relations", "set", 2)}
    UNION ALL ${relationEntries("earlier_relations", "removed", 3)}
  ) AS entries WHERE CAST($before AS bigint) IS NULL OR place < $before ORDER BY place DESC LIMIT $rows`;
const CONTENTS = ({ isIn }: Dialect) => `SELECT earlier_text_key, content FROM earlier_texts
  WHERE earlier_text_key ${isIn("keys")}`;

const HORIZON = ({ greatest, retentionDays }: Dialect) => `SELECT
    ${greatest("history_since", `CAST($now AS bigint) - ${DAY_MS} * ${retentionDays}`)} AS horizon
  FROM projects WHERE id = $project`;
const TEXTS_AT = ({ isIn }: Dialect) => `SELECT memories.memory_key, earlier_texts.text_version AS version, content
  FROM memories LEFT JOIN earlier_texts ON earlier_texts.memory_key = memories.memory_key
    AND earlier_texts.since <= $at AND earlier_texts.until > $at AND earlier_texts.until >= $horizon
  WHERE memories.memory_key ${isIn("keys")} AND coalesce(memories.text_since, memories.created_at) > $at`;
const EARLIER_TEXTS_AT = `SELECT earlier_texts.memory_key, earlier_text_key, content
  FROM memories JOIN earlier_texts ON earlier_texts.memory_key = memories.memory_key
  WHERE memories.project_key = ${PROJECT_KEY} AND memories.text_since > $at AND memories.text_since IS NOT NULL
    AND since <= $at AND until > $at AND until >= $horizon AND content IS NOT NULL AND ${LIVE}
  ORDER BY until DESC, earlier_text_key DESC LIMIT $limit`;
const ARCHIVED = ({ isIn }: Dialect) => `SELECT memory_key, until FROM earlier_texts
  WHERE memory_key ${isIn("keys")} AND content IS NULL`;
const KEEP = "UPDATE earlier_texts SET content = $content WHERE memory_key = $key AND content IS NULL";
const FORGET = "DELETE FROM earlier_texts WHERE memory_key = $key AND content IS NULL";
const ERASE = "DELETE FROM earlier_texts WHERE memory_key = $key AND content IS NOT NULL";
// the row stays until the text archive has a newer text: the archived text is erased then, too
const HIDE_ARCHIVED = "UPDATE earlier_texts SET until = $never WHERE memory_key = $key";
const ERASE_EVIDENCE = "UPDATE earlier_relations SET evidence = NULL WHERE memory_key = $key OR other_key = $key";
// Conditions for rows that may quote an earlier text: sources of answers contain passages, events contain the title,
// and extractions of a text or file are kept until the next ones.
const SINCE = `(SELECT text_since FROM memories WHERE memory_key = $key)`;
const ERASE_SOURCES = `DELETE FROM message_sources WHERE memory_key = $key
  AND message_key IN (SELECT message_key FROM messages WHERE messages.created_at < ${SINCE})`;
const ofOtherContent = (table: string) => `DELETE FROM ${table} WHERE memory_key = $key
  AND content_sha256 <> (SELECT memories.content_sha256 FROM memories WHERE memories.memory_key = $key)`;
const ERASE_FINDINGS = ofOtherContent("memory_findings");
const ERASE_FACTS = ofOtherContent("document_facts");
const EARLIER_DELIVERIES = `SELECT delivery_key, event, created_at, memory_id FROM deliveries
  WHERE memory_id = (SELECT id FROM memories WHERE memory_key = $key) AND created_at < ${SINCE}`;
const SET_BODY = "UPDATE deliveries SET body = $body WHERE delivery_key = $key";

const old =
  (table: "earlier_texts" | "earlier_relations", key: string, endedAt: string) =>
  ({ retentionDays }: Dialect): string =>
    `SELECT ${key} AS key FROM ${table}
    JOIN memories ON memories.memory_key = ${table}.memory_key
    JOIN projects ON projects.project_key = memories.project_key
  WHERE ${endedAt} > ${NEVER} AND ${endedAt} < $now - (SELECT min(${DAY_MS} * ${retentionDays}) FROM projects)
    AND ${endedAt} < $now - ${DAY_MS} * ${retentionDays}
  LIMIT $limit`;
const erase =
  (table: string, key: string) =>
  ({ isIn }: Dialect) =>
    `DELETE FROM ${table} WHERE ${key} ${isIn("keys")}`;
const OLD_TEXTS = {
  find: old("earlier_texts", "earlier_text_key", "until"),
  erase: erase("earlier_texts", "earlier_text_key"),
};
const OLD_RELATIONS = {
  find: old("earlier_relations", "earlier_relation_key", "removed_at"),
  erase: erase("earlier_relations", "earlier_relation_key"),
};

interface EntryRow extends ShownRow {
  readonly place: bigint;
  readonly entry: "text" | "set" | "removed";
  readonly at: bigint;
  readonly actor: string | null;
  readonly version: bigint | null;
  readonly until: bigint | null;
  readonly earlier_text_key: bigint | null;
  readonly content_bytes: bigint | null;
}

/** Earlier states of memories. */
export class StoredHistory implements HistoryStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async entries(projectId: ProjectId, key: MemoryKey, listing: HistoryListing): Promise<Page<StoredHistoryEntry>> {
    const { limit, cursor, contentBytesMax } = listing;
    const binding = await cursorBinding(this.session, projectId, ["history", String(key)]);
    const rows = await this.session.all<EntryRow>(ENTRIES, {
      ...{ project: projectId, key, now: this.#now, horizon: await this.horizon(projectId), rows: limit + 1 },
      before: cursor === undefined ? null : decodeCursor(cursor, binding),
    });
    const bytesOf = ({ content_bytes }: EntryRow) => Number(content_bytes ?? 0n);
    const shown = fittingTogether(rows.slice(0, limit), contentBytesMax, bytesOf);
    const keys = shown.flatMap(({ earlier_text_key }) => earlier_text_key ?? []);
    const found = await this.session.all<{ earlier_text_key: bigint; content: string | null }>(CONTENTS, { keys });
    const contents = new Map(found.map(({ earlier_text_key, content }) => [earlier_text_key, content]));
    const last = shown.at(-1);
    const isLast = rows.length === shown.length || last === undefined;
    return {
      items: shown.map((row) => entryOf(row, contents.get(row.earlier_text_key ?? 0n) ?? null)),
      cursor: isLast ? null : encodeCursor(last.place, binding),
    };
  }

  async erase(_projectId: ProjectId, key: MemoryKey): Promise<void> {
    this.context.noteErasure();
    await this.session.run(ERASE, { key });
    await this.session.run(HIDE_ARCHIVED, { key, never: NEVER });
    for (const sql of [ERASE_EVIDENCE, ERASE_SOURCES, ERASE_FINDINGS, ERASE_FACTS])
      await this.session.run(sql, { key });
    type Delivery = { delivery_key: bigint; event: string; created_at: bigint; memory_id: string };
    for (const delivery of await this.session.all<Delivery>(EARLIER_DELIVERIES, { key })) {
      const { delivery_key, event: type, created_at, memory_id: id } = delivery;
      const body = JSON.stringify({ type, timestamp: isoTime(Number(created_at)), data: { id } });
      await this.session.run(SET_BODY, { key: delivery_key, body });
    }
  }

  async horizon(projectId: ProjectId): Promise<number> {
    const params = { project: projectId, now: this.#now };
    return Number((await this.session.get<{ horizon: bigint }>(HORIZON, params))?.horizon ?? this.#now);
  }

  async textsAt(
    projectId: ProjectId,
    keys: readonly MemoryKey[],
    at: number,
  ): Promise<ReadonlyMap<MemoryKey, TextThen | null>> {
    if (keys.length === 0) return new Map();
    type Row = { memory_key: bigint; version: bigint | null; content: string | null };
    const rows = await this.session.all<Row>(TEXTS_AT, { keys, at, horizon: await this.horizon(projectId) });
    return new Map(
      rows.map(({ memory_key, version, content }) => [
        memory_key as MemoryKey,
        version === null ? null : { version: Number(version), content },
      ]),
    );
  }

  async earlierTexts(projectId: ProjectId, at: number, limit: number): Promise<readonly EarlierText[]> {
    type Row = { memory_key: bigint; earlier_text_key: bigint; content: string };
    const horizon = await this.horizon(projectId);
    const params = { project: projectId, at, limit, horizon, now: this.#now };
    const rows = await this.session.all<Row>(EARLIER_TEXTS_AT, params);
    return rows.map(({ memory_key: key, earlier_text_key: id, content }) => ({ key: key as MemoryKey, id, content }));
  }

  async archived(keys: readonly MemoryKey[]): Promise<ReadonlyMap<MemoryKey, { readonly isWanted: boolean }>> {
    if (keys.length === 0) return new Map();
    const rows = await this.session.all<{ memory_key: bigint; until: bigint }>(ARCHIVED, { keys });
    return new Map(rows.map(({ memory_key, until }) => [memory_key as MemoryKey, { isWanted: until !== NEVER }]));
  }

  async keep(key: MemoryKey, content: string | null): Promise<void> {
    await (content === null ? this.session.run(FORGET, { key }) : this.session.run(KEEP, { key, content }));
  }

  async eraseOld(limit: number): Promise<boolean> {
    let isMore = false;
    for (const { find, erase } of [OLD_TEXTS, OLD_RELATIONS]) {
      const rows = await this.session.all<{ key: bigint }>(find, { now: this.#now, limit });
      if (rows.length === 0) continue;
      this.context.noteErasure();
      await this.session.run(erase, { keys: rows.map(({ key }) => key) });
      isMore ||= rows.length === limit;
    }
    return isMore;
  }

  get #now(): number {
    return this.context.clock.now();
  }
}

function entryOf(row: EntryRow, content: string | null): StoredHistoryEntry {
  return row.entry === "text" ? textEntry(row, content) : relationEntry(row, row.entry);
}

function textEntry({ version, at, until, actor }: EntryRow, content: string | null): StoredTextEntry {
  return {
    ...{ kind: "text", version: Number(version), content, from: Number(at) },
    ...{ until: until === null ? null : Number(until), by: keyOrSystem(actor) },
  };
}

function relationEntry(row: EntryRow, action: RelationEntry["action"]): RelationEntry {
  const relation = relationOf(row);
  const isFound = action === "set" && relation.by !== "person";
  const by = isFound ? ({ kind: relation.by, id: null } as Actor) : keyOrSystem(row.actor);
  return { kind: "relation", action, at: Number(row.at), relation, by };
}

function keyOrSystem(id: string | null): Actor {
  return { kind: id === null ? "system" : "key", id };
}
