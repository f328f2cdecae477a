// Secrets of API keys, and rows of the tables `api_keys` and `key_secrets`. Only the SHA-256 of a secret is stored.

import { Fault } from "../../domain/fault.ts";
import type { KeyId, ProjectId } from "../../domain/ids.ts";
import { type ApiKey, clientOf, type KeyDraft } from "../../domain/key.ts";
import type { KeyScope, Principal } from "../../domain/scope.ts";
import type { RandomBytes } from "./random.ts";

const SECRET_RANDOM_BYTES = 32;
const SECRET_PREFIX = "ctx_";
/**
 * Number of characters of a secret that stay visible: after the prefix (`SHOWN_FIRST`) and at its end (`SHOWN_LAST`).
 */
const SHOWN_FIRST = 2;
const SHOWN_LAST = 4;
/** The operator's key. */
export const OPERATOR: KeyDraft = { name: "operator", scopes: ["*", "admin"], userId: null, expiresAt: null };

/** The columns of a KeyRow, for SELECT and RETURNING. */
export const KEY_COLUMNS = `key_key, api_keys.id, (SELECT projects.id FROM projects WHERE projects.project_key = api_keys.project_key)
  AS project_id, api_keys.name, scopes, user_id, redacted, expires_at, last_used_at, last_client,
  api_keys.created_at`;

/** A row of `api_keys`, with the id of its project. */
export interface KeyRow {
  readonly key_key: bigint;
  readonly id: string;
  readonly project_id: string;
  readonly name: string;
  readonly scopes: string;
  readonly user_id: string | null;
  readonly redacted: string;
  readonly expires_at: bigint | null;
  readonly last_used_at: bigint | null;
  readonly last_client: string | null;
  readonly created_at: bigint;
}

/** The columns of a SecretRow, for SELECT. */
export const SECRET_COLUMNS = "sha256, key_secrets.key_key, api_keys.id, projects.id AS project_id, scopes, user_id";

/** A row of `key_secrets`, with its key. */
export interface SecretRow {
  readonly sha256: Uint8Array;
  readonly key_key: bigint;
  readonly id: string;
  readonly project_id: string;
  readonly scopes: string;
  readonly user_id: string | null;
}

/** Who acts with the key of a secret. */
export function toPrincipal(row: SecretRow): Principal {
  return {
    keyId: row.id as KeyId,
    projectId: row.project_id as ProjectId,
    userId: row.user_id,
    scopes: JSON.parse(row.scopes) as readonly KeyScope[],
  };
}

/** The last use of a key. */
export interface KeyUse {
  /** Unix milliseconds. */
  readonly at: number;
  /** The last User-Agent header that was sent with the key; null if there was none. */
  readonly userAgent: string | null;
}

/** Last uses of keys by `key_key` that `AccountStore.flush` has not stored yet. */
export type KeyLastUses = Map<bigint, KeyUse>;

/** Notes that a key was used. */
export function noteUse(uses: KeyLastUses, key: bigint, { at, userAgent }: KeyUse): void {
  uses.set(key, { at, userAgent: userAgent ?? uses.get(key)?.userAgent ?? null });
}

/**
 * The name of the client of a use. It is parsed here and not in requests, because only the last use of a key is stored.
 */
export function clientOfUse({ userAgent }: KeyUse): string | null {
  return userAgent === null ? null : clientOf(userAgent);
}

/** Converts a row to an ApiKey. */
export function toKey(row: KeyRow, lastUses: KeyLastUses): ApiKey {
  const written = row.last_used_at === null ? null : Number(row.last_used_at);
  const waiting = lastUses.get(row.key_key);
  return {
    id: row.id as KeyId,
    projectId: row.project_id as ProjectId,
    name: row.name,
    scopes: JSON.parse(row.scopes) as readonly KeyScope[],
    userId: row.user_id,
    expiresAt: row.expires_at === null ? null : Number(row.expires_at),
    lastUsedAt: waiting === undefined ? written : Math.max(waiting.at, written ?? waiting.at),
    lastClient: (waiting === undefined ? null : clientOfUse(waiting)) ?? row.last_client,
    createdAt: Number(row.created_at),
    redacted: row.redacted,
  };
}

/** Makes a new secret. */
export function newSecret(random: RandomBytes): string {
  return `${SECRET_PREFIX}${Buffer.from(random(SECRET_RANDOM_BYTES)).toString("base64url")}`;
}

/** The Fault for an operator's secret that another key has. */
export function secretTaken(): Fault {
  return new Fault("invalid_request", "This secret belongs to a key that was issued already. Choose another one.");
}

/** SHA-256 of a secret. */
export function hashOf(secret: string): Uint8Array {
  return Bun.SHA256.hash(secret) as Uint8Array;
}

/** The part of a secret that stays visible. */
export function redact(secret: string): string {
  const first = secret.slice(0, SECRET_PREFIX.length + SHOWN_FIRST);
  return `${first}…${secret.slice(-SHOWN_LAST)}`;
}
