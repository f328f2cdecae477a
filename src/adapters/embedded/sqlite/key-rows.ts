// The API keys of mneme.sqlite and who holds them. Of a secret only its SHA-256 is kept. Whom a secret let in is
// remembered only as long as the file counts no change of access: a command beside the server changes keys, and that
// counts within 10 ms.

import { timingSafeEqual } from "node:crypto";
import { Fault, invariant } from "../../../domain/fault.ts";
import type { KeyId, ProjectId } from "../../../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../../../domain/key.ts";
import { decodeCursor, type Page, pageOf } from "../../../domain/page.ts";
import type { KeyScope, Principal } from "../../../domain/scope.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { Listing } from "../../../ports/user-store.ts";
import type { SqliteDatabase } from "./database.ts";
import { OPEN_PROJECT } from "./memory-row.ts";
import { newId, type RandomBytes } from "./random.ts";

const SECRET_RANDOM_BYTES = 32;
const SECRET_PREFIX = "ctx_";
/** Characters of a secret that are shown: after the prefix, and at its end. */
const SHOWN_FIRST = 2;
const SHOWN_LAST = 4;
/** How long a look into the file holds for changes by other processes, in milliseconds: no person notices it. */
const ACCESS_TRUSTED_MS = 10;
/** Keys that are remembered at once; beyond, remembering starts anew. */
const HOLDERS_MAX = 10_000;

const OPERATOR_NAME = "operator";
const OPERATOR_SCOPES: readonly KeyScope[] = ["*", "admin"];
/** What migrations.ts shows of secrets that were stored before anything was shown of them. */
const REDACTED_BEFORE = "ctx_…";

interface KeyRow {
  readonly key_key: bigint;
  readonly id: string;
  readonly project_id: string;
  readonly name: string;
  readonly scopes: string;
  readonly user_id: string | null;
  readonly redacted: string;
  readonly expires_at: bigint | null;
  readonly last_used_at: bigint | null;
  readonly created_at: bigint;
}

interface HolderRow {
  readonly sha256: Uint8Array;
  readonly key_key: bigint;
  readonly id: string;
  readonly project_id: string;
  readonly scopes: string;
  readonly user_id: string | null;
  readonly until: bigint | null;
}

/** Whom a secret let in. */
interface Holder {
  readonly key: bigint;
  readonly principal: Principal;
  /** Unix milliseconds; from then on it lets nobody in. */
  readonly until: number;
}

interface KnownSecretRow {
  readonly key_key: bigint;
  readonly redacted: string;
  readonly is_operator: bigint;
  readonly is_default: bigint;
}

const COLUMNS = `key_key, api_keys.id, (SELECT projects.id FROM projects WHERE projects.project_key = api_keys.project_key)
  AS project_id, api_keys.name, scopes, user_id, redacted, expires_at, last_used_at, api_keys.created_at`;
const OF_PROJECT = `api_keys.project_key = ${OPEN_PROJECT}`;

const ACCESS = "SELECT next FROM sequences WHERE name = 'access'";
const HOLDER = `SELECT sha256, key_secrets.key_key, api_keys.id, projects.id AS project_id, scopes, user_id,
    min(ifnull(valid_until, expires_at), ifnull(expires_at, valid_until)) AS until
  FROM key_secrets JOIN api_keys USING (key_key) JOIN projects USING (project_key)
  WHERE sha256 = $hash AND (valid_until IS NULL OR valid_until > $now) AND (expires_at IS NULL OR expires_at > $now)
    AND projects.deleted_at IS NULL`;
const HAS_ADMIN = `SELECT 1 AS found FROM api_keys WHERE ${OF_PROJECT} AND user_id IS NULL
  AND (expires_at IS NULL OR expires_at > $now)
  AND EXISTS (SELECT 1 FROM json_each(api_keys.scopes) WHERE value = 'admin') LIMIT 1`;

const FIND = `SELECT ${COLUMNS} FROM api_keys WHERE api_keys.id = $id AND ${OF_PROJECT}`;
const NEWEST = `SELECT ${COLUMNS} FROM api_keys WHERE ${OF_PROJECT} ORDER BY key_key DESC LIMIT $rows`;
const NEWEST_BEFORE = `SELECT ${COLUMNS} FROM api_keys WHERE ${OF_PROJECT} AND key_key < $before
  ORDER BY key_key DESC LIMIT $rows`;
const INSERT = `INSERT INTO api_keys
    (id, project_key, name, scopes, user_id, redacted, is_operator, expires_at, created_at)
  SELECT $id, project_key, $name, $scopes, $userId, $redacted, $isOperator, $expiresAt, $now
  FROM projects WHERE id = $project AND deleted_at IS NULL RETURNING ${COLUMNS}`;
const CHANGE = `UPDATE api_keys SET name = ifnull($name, name), scopes = ifnull($scopes, scopes),
  expires_at = iif($setsExpiry, $expiresAt, expires_at) WHERE id = $id AND ${OF_PROJECT} RETURNING ${COLUMNS}`;
const SHOW_OTHER_SECRET = `UPDATE api_keys SET redacted = $redacted WHERE key_key = $key RETURNING ${COLUMNS}`;
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

/** When keys were last used, by `key_key`, in Unix milliseconds; only what `flush` has not stored yet. */
export type KeyLastUses = Map<bigint, number>;

/** The part of AccountStore that is about keys; what each method owes stands there. */
export class KeyRows {
  /** By SHA-256, in hexadecimal; true under `#access`. A query for each request would cost ten times the look-up. */
  readonly #holders = new Map<string, Holder>();
  #access = 0n;
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
    const holder = this.#holderOf(secret, now);
    if (holder === null) return null;
    this.lastUses.set(holder.key, now);
    return holder.principal;
  }

  #holderOf(secret: string, now: number): Holder | null {
    this.#forgetIfAccessChanged();
    // look-ups go by the hash, whose bytes a caller cannot choose, so that their time tells nothing
    const name = Bun.SHA256.hash(secret, "hex");
    const known = this.#holders.get(name);
    if (known !== undefined) return known.until > now ? known : null;

    const hash = hashOf(secret);
    const row = this.database.prepare<HolderRow, { hash: Uint8Array; now: number }>(HOLDER).get({ hash, now });
    if (row === null || !timingSafeEqual(row.sha256, hash)) return null;
    const holder: Holder = {
      key: row.key_key,
      principal: {
        keyId: row.id as KeyId,
        projectId: row.project_id as ProjectId,
        userId: row.user_id,
        scopes: JSON.parse(row.scopes) as readonly KeyScope[],
      },
      until: row.until === null ? Number.POSITIVE_INFINITY : Number(row.until),
    };
    this.#holders.set(name, holder);
    return holder;
  }

  // What this process changed counts at once, what another did after a few milliseconds: looking into the file for
  // every request costs more than all the rest of authentication.
  #forgetIfAccessChanged(): void {
    const changes = this.database.changes.value;
    const now = performance.now();
    if (changes === this.#changesSeen && now - this.#accessReadAt < ACCESS_TRUSTED_MS) return;
    this.#changesSeen = changes;
    this.#accessReadAt = now;
    const access = this.database.prepare<{ next: bigint }>(ACCESS).get({})?.next ?? 0n;
    if (access !== this.#access || this.#holders.size >= HOLDERS_MAX) this.#holders.clear();
    this.#access = access;
  }

  /** See AccountStore.flush. */
  flush(): void {
    if (this.lastUses.size === 0) return;
    this.database.atomically(() => {
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
    const secret = this.#newSecret();
    return { key: this.#insert(projectId, draft, secret, 0), secret };
  }

  /** See AccountStore.setOperatorKey. */
  setOperator(projectId: ProjectId, secret: string): void {
    this.database.atomically(() => {
      const known = this.database
        .prepare<KnownSecretRow, { hash: Uint8Array }>(KNOWN_SECRET)
        .get({ hash: hashOf(secret) });
      if (known === null) {
        this.database.prepare<never>(REMOVE_OPERATOR).run({});
        const draft = { name: OPERATOR_NAME, scopes: OPERATOR_SCOPES, userId: null, expiresAt: null };
        this.#insert(projectId, draft, secret, 1);
        return;
      }
      // one that was set before keys said whose they are is taken over
      const isTakenOver = known.is_default === 1n && known.redacted === REDACTED_BEFORE;
      if (known.is_operator === 0n && !isTakenOver) {
        throw new Fault(
          "invalid_request",
          "This secret is that of a key which was issued already. Choose another one.",
        );
      }
      this.#makeOperator(known.key_key, secret);
    });
  }

  /** See AccountStore.key. */
  get(projectId: ProjectId, id: KeyId): ApiKey | null {
    const row = this.#find(projectId, id);
    return row === null ? null : this.#toKey(row);
  }

  /** See AccountStore.listKeys. */
  list(projectId: ProjectId, { limit, cursor }: Listing): Page<ApiKey> {
    const binding = JSON.stringify(["keys", projectId]);
    // one more than asked for tells whether the page is the last
    const rows = limit + 1;
    const found =
      cursor === undefined
        ? this.database.prepare<KeyRow, { project: string; rows: number }>(NEWEST).all({ project: projectId, rows })
        : this.database
            .prepare<KeyRow, { project: string; before: bigint; rows: number }>(NEWEST_BEFORE)
            .all({ project: projectId, before: decodeCursor(cursor, binding), rows });
    const toItems = (page: readonly KeyRow[]) => page.map((row) => this.#toKey(row));
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
    return row === null ? null : this.#toKey(row);
  }

  /** See AccountStore.rotateKey. */
  rotate(projectId: ProjectId, id: KeyId, graceMs: number): IssuedKey | null {
    return this.database.atomically(() => {
      const found = this.#find(projectId, id);
      if (found === null) return null;
      const key = found.key_key;
      const now = this.clock.now();
      this.database.prepare<never, { key: bigint; until: number }>(END_SECRETS).run({ key, until: now + graceMs });
      this.database.prepare<never, { key: bigint; now: number }>(REMOVE_ENDED_SECRETS).run({ key, now });
      const secret = this.#newSecret();
      this.#addSecret(key, secret);
      const row = this.database
        .prepare<KeyRow, { key: bigint; redacted: string }>(SHOW_OTHER_SECRET)
        .get({ key, redacted: redact(secret) });
      invariant(row !== null, `key ${id} vanished while it was rotated`);
      return { key: this.#toKey(row), secret };
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
    return this.database.atomically(() => {
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
      return this.#toKey(row);
    });
  }

  // Whatever was changed of the operator's key since, its configuration has the last word.
  #makeOperator(key: bigint, secret: string): void {
    this.database.prepare<never, { key: bigint }>(REMOVE_OTHER_OPERATORS).run({ key });
    this.database
      .prepare<never, { key: bigint; name: string; scopes: string; redacted: string }>(MAKE_OPERATOR)
      .run({ key, name: OPERATOR_NAME, scopes: JSON.stringify(OPERATOR_SCOPES), redacted: redact(secret) });
    const hash = hashOf(secret);
    this.database.prepare<never, { key: bigint; hash: Uint8Array }>(REMOVE_OTHER_SECRETS).run({ key, hash });
    this.database.prepare<never, { hash: Uint8Array }>(KEEP_SECRET).run({ hash });
  }

  #addSecret(key: bigint, secret: string): void {
    this.database.prepare<never, { key: bigint; hash: Uint8Array }>(ADD_SECRET).run({ key, hash: hashOf(secret) });
  }

  #newSecret(): string {
    return `${SECRET_PREFIX}${Buffer.from(this.random(SECRET_RANDOM_BYTES)).toString("base64url")}`;
  }

  #toKey(row: KeyRow): ApiKey {
    const written = row.last_used_at === null ? null : Number(row.last_used_at);
    const waiting = this.lastUses.get(row.key_key);
    return {
      id: row.id as KeyId,
      projectId: row.project_id as ProjectId,
      name: row.name,
      scopes: JSON.parse(row.scopes) as readonly KeyScope[],
      userId: row.user_id,
      expiresAt: row.expires_at === null ? null : Number(row.expires_at),
      lastUsedAt: waiting === undefined ? written : Math.max(waiting, written ?? waiting),
      createdAt: Number(row.created_at),
      redacted: row.redacted,
    };
  }
}

function hashOf(secret: string): Uint8Array {
  return Bun.SHA256.hash(secret) as Uint8Array;
}

function redact(secret: string): string {
  const first = secret.slice(0, SECRET_PREFIX.length + SHOWN_FIRST);
  return `${first}…${secret.slice(-SHOWN_LAST)}`;
}
