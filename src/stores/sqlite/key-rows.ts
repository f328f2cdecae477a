// API keys in mneme.sqlite, and authentication. Only the SHA-256 of a secret is stored. Successful authentications are
// cached until keys or projects change. A command that runs at the same time as the server may change keys too. The
// server notices such a change within 10 ms.

import { timingSafeEqual } from "node:crypto";
import { Fault, invariant } from "../../domain/fault.ts";
import type { KeyId, ProjectId } from "../../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../../domain/key.ts";
import { decodeCursor, type Page, pageOf } from "../../domain/page.ts";
import type { KeyScope, Principal } from "../../domain/scope.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Listing } from "../../ports/user-store.ts";
import {
  hashOf,
  KEY_COLUMNS,
  type KeyLastUses,
  type KeyRow,
  newSecret,
  OPERATOR,
  redact,
  secretTaken,
  toKey,
} from "../rows/key.ts";
import { newId, type RandomBytes } from "../rows/random.ts";
import { OPEN_PROJECT } from "../rows/sql.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { SqliteDatabase } from "./database.ts";

/** How long the cache is used before the file is checked for changes by other processes, in milliseconds. */
const ACCESS_TRUSTED_MS = 10;
/** Maximum number of cached secrets. A full cache is emptied. */
const CACHED_SECRETS_MAX = 10_000;

/**
 * Visible part that migrations.ts set for keys of the first schema, which did not store the visible part of secrets.
 */
const REDACTED_BEFORE = "ctx_…";

interface SecretRow {
  readonly sha256: Uint8Array;
  readonly key_key: bigint;
  readonly id: string;
  readonly project_id: string;
  readonly scopes: string;
  readonly user_id: string | null;
  readonly until: bigint | null;
}

/** Result of a successful authentication. */
interface Authentication {
  readonly key: bigint;
  readonly principal: Principal;
  /** Unix milliseconds. From then on the secret is refused. */
  readonly until: number;
}

interface KnownSecretRow {
  readonly key_key: bigint;
  readonly redacted: string;
  readonly is_operator: bigint;
  readonly is_default: bigint;
}

const OF_PROJECT = `api_keys.project_key = ${OPEN_PROJECT}`;

const ACCESS = "SELECT next FROM sequences WHERE name = 'access'";
const FIND_SECRET = `SELECT sha256, key_secrets.key_key, api_keys.id, projects.id AS project_id, scopes, user_id,
    min(ifnull(valid_until, expires_at), ifnull(expires_at, valid_until)) AS until
  FROM key_secrets JOIN api_keys USING (key_key) JOIN projects USING (project_key)
  WHERE sha256 = $hash AND (valid_until IS NULL OR valid_until > $now) AND (expires_at IS NULL OR expires_at > $now)
    AND projects.deleted_at IS NULL`;
const HAS_ADMIN = `SELECT 1 AS found FROM api_keys WHERE ${OF_PROJECT} AND user_id IS NULL
  AND (expires_at IS NULL OR expires_at > $now)
  AND EXISTS (SELECT 1 FROM json_each(api_keys.scopes) WHERE value = 'admin') LIMIT 1`;

const FIND = `SELECT ${KEY_COLUMNS} FROM api_keys WHERE api_keys.id = $id AND ${OF_PROJECT}`;
const NEWEST = `SELECT ${KEY_COLUMNS} FROM api_keys WHERE ${OF_PROJECT} ORDER BY key_key DESC LIMIT $rows`;
const NEWEST_BEFORE = `SELECT ${KEY_COLUMNS} FROM api_keys WHERE ${OF_PROJECT} AND key_key < $before
  ORDER BY key_key DESC LIMIT $rows`;
const INSERT = `INSERT INTO api_keys
    (id, project_key, name, scopes, user_id, redacted, is_operator, expires_at, created_at)
  SELECT $id, project_key, $name, $scopes, $userId, $redacted, $isOperator, $expiresAt, $now
  FROM projects WHERE id = $project AND deleted_at IS NULL RETURNING ${KEY_COLUMNS}`;
const CHANGE = `UPDATE api_keys SET name = ifnull($name, name), scopes = ifnull($scopes, scopes),
  expires_at = iif($setsExpiry, $expiresAt, expires_at) WHERE id = $id AND ${OF_PROJECT} RETURNING ${KEY_COLUMNS}`;
const SHOW_OTHER_SECRET = `UPDATE api_keys SET redacted = $redacted WHERE key_key = $key RETURNING ${KEY_COLUMNS}`;
const REMOVE = `DELETE FROM api_keys WHERE id = $id AND ${OF_PROJECT}`;
const WRITE_LAST_USED = `UPDATE api_keys SET last_used_at = max(ifnull(last_used_at, 0), $at) WHERE key_key = $key`;

const ADD_SECRET = "INSERT INTO key_secrets (sha256, key_key) VALUES ($hash, $key)";
const END_SECRETS = `UPDATE key_secrets SET valid_until = $until
  WHERE key_key = $key AND (valid_until IS NULL OR valid_until > $until)`;
const REMOVE_ENDED_SECRETS = "DELETE FROM key_secrets WHERE key_key = $key AND valid_until <= $now";
const REMOVE_OTHER_SECRETS = "DELETE FROM key_secrets WHERE key_key = $key AND sha256 <> $hash";
const KEEP_SECRET = "UPDATE key_secrets SET valid_until = NULL WHERE sha256 = $hash";

const KNOWN_SECRET = `SELECT key_secrets.key_key, redacted, is_operator, is_default
  FROM key_secrets JOIN api_keys USING (key_key) JOIN projects USING (project_key) WHERE sha256 = $hash`;
const REMOVE_OPERATOR = "DELETE FROM api_keys WHERE is_operator = 1";
const REMOVE_OTHER_OPERATORS = "DELETE FROM api_keys WHERE is_operator = 1 AND key_key <> $key";
const MAKE_OPERATOR = `UPDATE api_keys SET name = $name, scopes = $scopes, user_id = NULL, redacted = $redacted,
  is_operator = 1, expires_at = NULL WHERE key_key = $key`;

/** The methods of AccountStore for keys. They are documented there. */
export class KeyRows {
  /**
   * Cache of authentications, by SHA-256 of the secret in hexadecimal. It is valid while the access counter is
   * `#accessCount`. A query per request would take ten times as long as a look-up here.
   */
  readonly #authentications = new Map<string, Authentication>();
  #accessCount = 0n;
  #changesSeen = -1;
  #accessReadAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly database: SqliteDatabase,
    private readonly clock: Clock,
    private readonly random: RandomBytes,
    private readonly lastUses: KeyLastUses,
  ) {}

  /** See AccountStore.authenticate. */
  authenticate(secret: string): Principal | null {
    const now = this.clock.now();
    const found = this.#authenticationOf(secret, now);
    if (found === null) return null;
    this.lastUses.set(found.key, now);
    return found.principal;
  }

  #authenticationOf(secret: string, now: number): Authentication | null {
    this.#clearIfAccessChanged();
    // the look-up needs no constant time: a caller cannot choose the bytes of the hash, so its duration reveals nothing
    // about stored secrets
    const hashText = Bun.SHA256.hash(secret, "hex");
    const known = this.#authentications.get(hashText);
    if (known !== undefined) return known.until > now ? known : null;

    const hash = hashOf(secret);
    const row = this.database.prepare<SecretRow, { hash: Uint8Array; now: number }>(FIND_SECRET).get({ hash, now });
    if (row === null || !timingSafeEqual(row.sha256, hash)) return null;
    const found: Authentication = {
      key: row.key_key,
      principal: {
        keyId: row.id as KeyId,
        projectId: row.project_id as ProjectId,
        userId: row.user_id,
        scopes: JSON.parse(row.scopes) as readonly KeyScope[],
      },
      until: row.until === null ? Number.POSITIVE_INFINITY : Number(row.until),
    };
    this.#authentications.set(hashText, found);
    return found;
  }

  // Empties the cache if the access counter has changed. A change by this process is seen at once, a change by another
  // process after a few milliseconds: reading the file for every request would take longer than the rest of
  // authentication.
  #clearIfAccessChanged(): void {
    const changes = this.database.changes.value;
    const now = performance.now();
    if (changes === this.#changesSeen && now - this.#accessReadAt < ACCESS_TRUSTED_MS) return;
    this.#changesSeen = changes;
    this.#accessReadAt = now;
    const accessCount = this.database.prepare<{ next: bigint }>(ACCESS).get({})?.next ?? 0n;
    if (accessCount !== this.#accessCount || this.#authentications.size >= CACHED_SECRETS_MAX)
      this.#authentications.clear();
    this.#accessCount = accessCount;
  }

  /** See AccountStore.flush. */
  flush(): void {
    if (this.lastUses.size === 0) return;
    this.database.transaction(() => {
      for (const [key, at] of this.lastUses) {
        this.database.prepare<never, { key: bigint; at: number }>(WRITE_LAST_USED).run({ key, at });
      }
    });
    this.lastUses.clear();
  }

  /** See AccountStore.hasAdminKey. */
  hasAdmin(projectId: ProjectId): boolean {
    return (
      this.database
        .prepare<{ found: bigint }, { project: string; now: number }>(HAS_ADMIN)
        .get({ project: projectId, now: this.clock.now() }) !== null
    );
  }

  /** See AccountStore.issueKey. */
  issue(projectId: ProjectId, draft: KeyDraft): IssuedKey {
    const secret = newSecret(this.random);
    return { key: this.#insert(projectId, draft, secret, 0), secret };
  }

  /** See AccountStore.setOperatorKey. */
  setOperator(projectId: ProjectId, secret: string): void {
    this.database.transaction(() => {
      const known = this.database
        .prepare<KnownSecretRow, { hash: Uint8Array }>(KNOWN_SECRET)
        .get({ hash: hashOf(secret) });
      if (known === null) {
        this.database.prepare<never>(REMOVE_OPERATOR).run({});
        this.#insert(projectId, OPERATOR, secret, 1);
        return;
      }
      // a secret that was stored before the column `is_operator` existed becomes the operator's key
      const isTakenOver = known.is_default === 1n && known.redacted === REDACTED_BEFORE;
      if (known.is_operator === 0n && !isTakenOver) {
        throw secretTaken();
      }
      this.#makeOperator(known.key_key, secret);
    });
  }

  /** See AccountStore.key. */
  get(projectId: ProjectId, id: KeyId): ApiKey | null {
    const row = this.#find(projectId, id);
    return row === null ? null : toKey(row, this.lastUses);
  }

  /** See AccountStore.listKeys. */
  list(projectId: ProjectId, { limit, cursor }: Listing): Page<ApiKey> {
    const binding = cursorBinding(this.database, projectId, ["keys"]);
    // one row more than requested shows whether another page follows
    const rows = limit + 1;
    const found =
      cursor === undefined
        ? this.database.prepare<KeyRow, { project: string; rows: number }>(NEWEST).all({ project: projectId, rows })
        : this.database
            .prepare<KeyRow, { project: string; before: bigint; rows: number }>(NEWEST_BEFORE)
            .all({ project: projectId, before: decodeCursor(cursor, binding), rows });
    const toItems = (page: readonly KeyRow[]) => page.map((row) => toKey(row, this.lastUses));
    return pageOf(found, { limit, binding, keyOf: (row) => row.key_key, toItems });
  }

  /** See AccountStore.changeKey. */
  change(projectId: ProjectId, id: KeyId, { name, scopes, expiresAt }: KeyChange): ApiKey | null {
    const row = this.database
      .prepare<
        KeyRow,
        {
          project: string;
          id: string;
          name: string | null;
          scopes: string | null;
          setsExpiry: number;
          expiresAt: number | null;
        }
      >(CHANGE)
      .get({
        project: projectId,
        id,
        name: name ?? null,
        scopes: scopes === undefined ? null : JSON.stringify(scopes),
        setsExpiry: expiresAt === undefined ? 0 : 1,
        expiresAt: expiresAt ?? null,
      });
    return row === null ? null : toKey(row, this.lastUses);
  }

  /** See AccountStore.rotateKey. */
  rotate(projectId: ProjectId, id: KeyId, graceMs: number): IssuedKey | null {
    return this.database.transaction(() => {
      const found = this.#find(projectId, id);
      if (found === null) return null;
      const key = found.key_key;
      const now = this.clock.now();
      this.database.prepare<never, { key: bigint; until: number }>(END_SECRETS).run({ key, until: now + graceMs });
      this.database.prepare<never, { key: bigint; now: number }>(REMOVE_ENDED_SECRETS).run({ key, now });
      const secret = newSecret(this.random);
      this.#addSecret(key, secret);
      const row = this.database
        .prepare<KeyRow, { key: bigint; redacted: string }>(SHOW_OTHER_SECRET)
        .get({ key, redacted: redact(secret) });
      invariant(row !== null, `key ${id} disappeared while it was rotated`);
      return { key: toKey(row, this.lastUses), secret };
    });
  }

  /** See AccountStore.removeKey. */
  remove(projectId: ProjectId, id: KeyId): boolean {
    return this.database.prepare<never, { project: string; id: string }>(REMOVE).run({ project: projectId, id }) > 0;
  }

  #find(projectId: ProjectId, id: KeyId): KeyRow | null {
    return this.database.prepare<KeyRow, { project: string; id: string }>(FIND).get({ project: projectId, id });
  }

  #insert(projectId: ProjectId, draft: KeyDraft, secret: string, isOperator: 0 | 1): ApiKey {
    return this.database.transaction(() => {
      const now = this.clock.now();
      const row = this.database
        .prepare<
          KeyRow,
          {
            id: string;
            project: string;
            name: string;
            scopes: string;
            userId: string | null;
            redacted: string;
            isOperator: number;
            expiresAt: number | null;
            now: number;
          }
        >(INSERT)
        .get({
          id: newId("key", now, this.random),
          project: projectId,
          name: draft.name,
          scopes: JSON.stringify(draft.scopes),
          userId: draft.userId,
          redacted: redact(secret),
          isOperator,
          expiresAt: draft.expiresAt,
          now,
        });
      if (row === null) throw new Fault("project_not_found", `There is no project ${projectId}.`);
      this.#addSecret(row.key_key, secret);
      return toKey(row, this.lastUses);
    });
  }

  // Undoes all changes that callers made to the operator's key, because it is defined by the configuration.
  #makeOperator(key: bigint, secret: string): void {
    this.database.prepare<never, { key: bigint }>(REMOVE_OTHER_OPERATORS).run({ key });
    this.database
      .prepare<never, { key: bigint; name: string; scopes: string; redacted: string }>(MAKE_OPERATOR)
      .run({ key, name: OPERATOR.name, scopes: JSON.stringify(OPERATOR.scopes), redacted: redact(secret) });
    const hash = hashOf(secret);
    this.database.prepare<never, { key: bigint; hash: Uint8Array }>(REMOVE_OTHER_SECRETS).run({ key, hash });
    this.database.prepare<never, { hash: Uint8Array }>(KEEP_SECRET).run({ hash });
  }

  #addSecret(key: bigint, secret: string): void {
    this.database.prepare<never, { key: bigint; hash: Uint8Array }>(ADD_SECRET).run({ key, hash: hashOf(secret) });
  }
}
