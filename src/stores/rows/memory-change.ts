// What a draft or a change makes of a memory's row: attributes, content, and conflicts of `externalId`.

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Fault } from "../../domain/fault.ts";
import { EXTRACTED_FIELDS, type ExtractedField, type MemoryChange, type ReceivedFile } from "../../domain/memory.ts";
import { foldTitle, type MemoryRow, numberOrNull } from "./memory.ts";
import { type ContentFingerprint, fingerprintOfFile } from "./memory-file.ts";

/** A row of an existing memory, with the additional columns that a change needs. */
export type KnownRow = MemoryRow & { readonly content_sha256: Uint8Array; readonly project_id: string };

/** Attributes that callers can give, in their stored form. */
export type AttributeColumns = {
  readonly title: string | null;
  readonly titleFolded: string | null;
  readonly type: string | null;
  readonly tags: string | null;
  readonly language: string | null;
  readonly metadata: string | null;
  readonly given: string;
  readonly expiresAt: number | null;
  readonly occurredAt: number | null;
  readonly agentId: string | null;
  readonly sessionId: string | null;
};

/** The owner and the name of a memory, in their stored form. */
export type OwnerColumns = { readonly userKey: bigint | null; readonly externalId: string | null };

/**
 * Whether a row has all of these values already. JSON is compared by value: the order of the members of `metadata` does
 * not count.
 */
export function isUnchanged(known: MemoryRow, after: AttributeColumns & OwnerColumns): boolean {
  return (
    after.userKey === known.user_key &&
    after.externalId === known.external_id &&
    after.title === known.title &&
    after.type === known.type &&
    after.tags === known.tags &&
    after.language === known.language &&
    isSameJson(after.metadata, known.metadata) &&
    after.given === known.given &&
    after.expiresAt === numberOrNull(known.expires_at) &&
    after.occurredAt === numberOrNull(known.occurred_at) &&
    after.agentId === known.agent_id &&
    after.sessionId === known.session_id
  );
}

function isSameJson(one: string | null, other: string | null): boolean {
  return one === other || (one !== null && other !== null && isDeepStrictEqual(JSON.parse(one), JSON.parse(other)));
}

/** Size and hash of a text. Cost: one SHA-256 over its UTF-8. */
export function fingerprintOf(content: string): ContentFingerprint {
  return {
    contentBytes: Buffer.byteLength(content, "utf8"),
    contentSha256: createHash("sha256").update(content, "utf8").digest(),
  };
}

/**
 * The attributes after a change. A value replaces the old one and counts as given by a caller; null clears it. A field
 * that the change lacks keeps its value in `known`. If the content is processed again (`isRework`), values that no
 * caller ever gave are cleared, so that they are extracted again.
 */
export function attributesOf(change: MemoryChange, known: MemoryRow | null, isRework: boolean): AttributeColumns {
  const givenBefore = known === null ? [] : (JSON.parse(known.given) as readonly ExtractedField[]);
  const stays = (field: ExtractedField) =>
    known === null || (isRework && !givenBefore.includes(field)) ? null : known[field];
  const isGiven = (field: ExtractedField) =>
    change[field] === undefined ? givenBefore.includes(field) : change[field] !== null;
  const timeBefore = (column: "expires_at" | "occurred_at") => numberOrNull(known?.[column] ?? null);
  const title = valueAfter(change.title, stays("title"));
  return {
    title,
    titleFolded: title === null ? null : foldTitle(title),
    type: valueAfter(change.type, stays("type")),
    tags: valueAfter(jsonOf(change.tags), stays("tags")),
    language: valueAfter(change.language, stays("language")),
    metadata: valueAfter(jsonOf(change.metadata), known?.metadata ?? null),
    given: JSON.stringify(EXTRACTED_FIELDS.filter(isGiven)),
    expiresAt: valueAfter(change.expiresAt, timeBefore("expires_at")),
    occurredAt: valueAfter(change.occurredAt, timeBefore("occurred_at")),
    agentId: valueAfter(change.agentId, known?.agent_id ?? null),
    sessionId: valueAfter(change.sessionId, known?.session_id ?? null),
  };
}

/** A content to process. */
export type NewWork = {
  readonly content: string;
  readonly fingerprint: ContentFingerprint;
  readonly upload: ReceivedFile | null;
};

/**
 * Returns the content to process; null if the change has none. Content that the memory already has is processed again
 * only if the memory failed.
 */
export function newWork(known: KnownRow, change: Pick<MemoryChange, "content" | "upload">): NewWork | null {
  const { content, upload = null } = change;
  if (content === undefined) return null;
  const fingerprint = upload === null ? fingerprintOf(content) : fingerprintOfFile(upload);
  const isSame = Buffer.from(known.content_sha256).equals(fingerprint.contentSha256);
  return isSame && known.status !== "failed" ? null : { content, fingerprint, upload };
}

/** A value after a change; undefined keeps the value before it. */
export function valueAfter<T>(change: T | null | undefined, before: T | null): T | null {
  return change === undefined ? before : change;
}

function jsonOf(value: object | null | undefined): string | null | undefined {
  return value === null || value === undefined ? value : JSON.stringify(value);
}

/**
 * The pair of user and `externalId` that a change gives to a memory; null if the memory keeps its pair, or has no
 * `externalId` after the change.
 */
export function newPair(
  known: MemoryRow,
  change: Pick<MemoryChange, "externalId" | "userId">,
): { readonly userId: string | null; readonly externalId: string } | null {
  const externalId = valueAfter(change.externalId, known.external_id);
  const userId = valueAfter(change.userId, known.user_id);
  if (externalId === null || (externalId === known.external_id && userId === known.user_id)) return null;
  return { userId, externalId };
}

/** The Fault for a pair of user and `externalId` that another memory has. */
export function externalIdConflict(userId: string | null): Fault {
  const owner = userId === null ? "that belongs to no user" : "of this user";
  return new Fault("external_id_conflict", `Another memory ${owner} has this externalId: choose one that is free.`, {
    param: "externalId",
  });
}
