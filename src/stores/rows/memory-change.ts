// Computes how a draft or a change alters a memory's row: its columns, its content, and conflicts of `externalId`.

import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { Fault } from "../../domain/fault.ts";
import type { MemoryChange, ReceivedFile } from "../../domain/memory.ts";
import {
  type AttributeName,
  type ChangedAttributes,
  EXTRACTED_FIELDS,
  type ExtractedField,
} from "../../domain/memory-attributes.ts";
import { parseJson } from "../../kit/exact-json.ts";
import { foldTitle, type MemoryRow } from "./memory.ts";
import { type GivenColumns, OWN_ATTRIBUTES, type TextColumns, toColumn } from "./memory-columns.ts";
import { type ContentFingerprint, fingerprintOfFile } from "./memory-file.ts";

/** A row of an existing memory, with the additional columns that a change needs. */
export type KnownRow = MemoryRow &
  TextColumns & {
    readonly content_sha256: Uint8Array;
    readonly original_bytes: bigint;
    readonly project_id: string;
  };

/**
 * Whether a row has all of these values already. JSON is compared by value: the order of the members of `metadata` does
 * not count.
 */
export function isUnchanged(known: MemoryRow, after: GivenColumns): boolean {
  return (
    after.user_key === known.user_key &&
    after.given === known.given &&
    OWN_ATTRIBUTES.every(
      ({ column, type }) =>
        after[column] === known[column] ||
        (type === "object" && isDeepStrictEqual(parseJson(`${after[column]}`), parseJson(`${known[column]}`))),
    )
  );
}

/** Size and hash of a text. Cost: one SHA-256 over its UTF-8. */
export function fingerprintOf(content: string): ContentFingerprint {
  return {
    contentBytes: Buffer.byteLength(content, "utf8"),
    contentSha256: hash("sha256", content, "buffer"),
  };
}

/**
 * The columns after a change. A value replaces the old one and counts as given by a caller; null clears it. A field
 * that the change lacks keeps its value in `known`. If the content is processed again (`isRework`), values that no
 * caller ever gave are cleared, so that they are extracted again.
 */
export function columnsAfter(
  change: ChangedAttributes,
  known: MemoryRow | null,
  {
    userKey,
    isRework,
    text,
  }: { readonly userKey: bigint | null; readonly isRework: boolean; readonly text: TextColumns },
): GivenColumns {
  const givenBefore: readonly AttributeName[] = known === null ? [] : JSON.parse(known.given);
  const { text_version, text_since, text_by } = text;
  const after: Partial<Record<keyof GivenColumns, string | bigint | null>> = { text_version, text_since, text_by };
  for (const attribute of OWN_ATTRIBUTES) {
    const { property, column, setBy } = attribute;
    const value = change[property];
    if (value != null) {
      after[column] = toColumn(attribute, value);
      continue;
    }
    const stays = value === undefined && (!isRework || setBy !== "extraction" || givenBefore.includes(property));
    after[column] = known !== null && stays ? known[column] : null;
  }
  const isGiven = (field: ExtractedField) =>
    change[field] === undefined ? givenBefore.includes(field) : change[field] !== null;
  const { title } = after as GivenColumns;
  after.title_folded = title === null ? null : foldTitle(title);
  after.given = JSON.stringify(EXTRACTED_FIELDS.filter(isGiven));
  after.user_key = userKey;
  return after as GivenColumns;
}

/** A content to process. */
export type NewWork = {
  readonly content: string;
  readonly fingerprint: ContentFingerprint;
  readonly upload: ReceivedFile | null;
  /** Whether the memory already has this content, and is processed again because it failed. */
  readonly isSame: boolean;
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
  return isSame && known.status !== "failed" ? null : { content, fingerprint, upload, isSame };
}

/** A value after a change; undefined keeps the value before it. */
function valueAfter<T>(change: T | null | undefined, before: T | null): T | null {
  return change === undefined ? before : change;
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
