// API keys. Only the SHA-256 of a secret is stored. key-access.ts authenticates.

import { Fault, invariant } from "../domain/fault.ts";
import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../domain/key.ts";
import type { Page } from "../domain/page.ts";
import type { Listing } from "../ports/user-store.ts";
import type { StoreContext } from "./context.ts";
import { cursorBinding } from "./cursor-binding.ts";
import type { Dialect } from "./dialect.ts";
import { type PagedList, readPage } from "./pages.ts";
import { hashOf, KEY_COLUMNS, type KeyRow, newSecret, OPERATOR, redact, secretTaken, toKey } from "./rows/key.ts";
import { newId } from "./rows/random.ts";
import { OPEN_PROJECT } from "./rows/sql.ts";
import type { Session } from "./session.ts";

/** Stands for the visible part of secrets in keys of the first SQLite schema, which did not store that part. */
const REDACTED_BEFORE = "ctx_…";

interface KnownSecretRow {
  readonly key_key: bigint;
  readonly redacted: string;
  readonly is_operator: bigint;
  readonly is_default: bigint;
}

const OF_PROJECT = `api_keys.project_key = ${OPEN_PROJECT}`;

const HAS_ADMIN = ({ hasElement }: Dialect) => `SELECT 1 AS found FROM api_keys WHERE ${OF_PROJECT}
  AND user_id IS NULL AND (expires_at IS NULL OR expires_at > $now) AND ${hasElement("scopes", "'admin'")} LIMIT 1`;

const FIND = `SELECT ${KEY_COLUMNS} FROM api_keys WHERE api_keys.id = $id AND ${OF_PROJECT}`;
const NEWEST = `SELECT ${KEY_COLUMNS} FROM api_keys WHERE ${OF_PROJECT} ORDER BY key_key DESC LIMIT $rows`;
const NEWEST_BEFORE = `SELECT ${KEY_COLUMNS} FROM api_keys WHERE ${OF_PROJECT} AND key_key < $before
  ORDER BY key_key DESC LIMIT $rows`;
const INSERT = `INSERT INTO api_keys
    (id, project_key, name, scopes, user_id, redacted, is_operator, expires_at, created_at)
  SELECT $id, project_key, $name, $scopes, $userId, $redacted, $isOperator, $expiresAt, $now
  FROM projects WHERE id = $project AND deleted_at IS NULL RETURNING ${KEY_COLUMNS}`;
const CHANGE = `UPDATE api_keys SET name = coalesce($name, name), scopes = coalesce($scopes, scopes),
  expires_at = CASE WHEN CAST($setsExpiry AS bigint) = 1 THEN $expiresAt ELSE expires_at END
  WHERE id = $id AND ${OF_PROJECT} RETURNING ${KEY_COLUMNS}`;
const SHOW_OTHER_SECRET = `UPDATE api_keys SET redacted = $redacted WHERE key_key = $key RETURNING ${KEY_COLUMNS}`;
const REMOVE = `DELETE FROM api_keys WHERE id = $id AND ${OF_PROJECT}`;
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
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  /** See AccountStore.hasAdminKey. */
  async hasAdmin(projectId: ProjectId): Promise<boolean> {
    return (await this.session.get(HAS_ADMIN, { project: projectId, now: this.context.clock.now() })) !== null;
  }

  /** See AccountStore.issueKey. */
  async issue(projectId: ProjectId, draft: KeyDraft): Promise<IssuedKey> {
    const secret = newSecret(this.context.random);
    return { key: await this.#insert(projectId, draft, secret, 0), secret };
  }

  /** See AccountStore.setOperatorKey. `projectId` is the default project, whose lock the transaction has. */
  async setOperator(projectId: ProjectId, secret: string): Promise<void> {
    const hash = hashOf(secret);
    const known = await this.session.get<KnownSecretRow>(KNOWN_SECRET, { hash });
    if (known === null) {
      await this.session.run(REMOVE_OPERATOR);
      await this.#insert(projectId, OPERATOR, secret, 1);
      return;
    }
    // a secret that was stored before the column `is_operator` existed becomes the operator's key
    const isTakenOver = known.is_default === 1n && known.redacted === REDACTED_BEFORE;
    if (known.is_operator === 0n && !isTakenOver) throw secretTaken();
    // undoes all changes that callers made to the operator's key, because it is defined by the configuration
    const key = known.key_key;
    await this.session.run(REMOVE_OTHER_OPERATORS, { key });
    const { name, scopes } = OPERATOR;
    await this.session.run(MAKE_OPERATOR, { key, name, scopes: JSON.stringify(scopes), redacted: redact(secret) });
    await this.session.run(REMOVE_OTHER_SECRETS, { key, hash });
    await this.session.run(KEEP_SECRET, { hash });
  }

  /** See AccountStore.key. */
  async get(projectId: ProjectId, id: KeyId): Promise<ApiKey | null> {
    const row = await this.#find(projectId, id);
    return row === null ? null : toKey(row, this.context.lastUses);
  }

  /** See AccountStore.listKeys. */
  async list(projectId: ProjectId, listing: Listing): Promise<Page<ApiKey>> {
    const list: PagedList<KeyRow, ApiKey> = {
      ...{ first: NEWEST, next: NEWEST_BEFORE, params: { project: projectId } },
      binding: await cursorBinding(this.session, projectId, ["keys"]),
      keyOf: (row) => row.key_key,
      toItem: (row) => toKey(row, this.context.lastUses),
    };
    return readPage(this.session, list, listing);
  }

  /** See AccountStore.changeKey. */
  async change(projectId: ProjectId, id: KeyId, { name, scopes, expiresAt }: KeyChange): Promise<ApiKey | null> {
    const row = await this.session.get<KeyRow>(CHANGE, {
      project: projectId,
      id,
      name: name ?? null,
      scopes: scopes === undefined ? null : JSON.stringify(scopes),
      setsExpiry: expiresAt === undefined ? 0 : 1,
      expiresAt: expiresAt ?? null,
    });
    return row === null ? null : toKey(row, this.context.lastUses);
  }

  /** See AccountStore.rotateKey. */
  async rotate(projectId: ProjectId, id: KeyId, graceMs: number): Promise<IssuedKey | null> {
    const found = await this.#find(projectId, id);
    if (found === null) return null;
    const key = found.key_key;
    const now = this.context.clock.now();
    await this.session.run(END_SECRETS, { key, until: now + graceMs });
    await this.session.run(REMOVE_ENDED_SECRETS, { key, now });
    const secret = newSecret(this.context.random);
    await this.session.run(ADD_SECRET, { key, hash: hashOf(secret) });
    const row = await this.session.get<KeyRow>(SHOW_OTHER_SECRET, { key, redacted: redact(secret) });
    invariant(row !== null, `key ${id} disappeared while it was rotated`);
    return { key: toKey(row, this.context.lastUses), secret };
  }

  /** See AccountStore.removeKey. */
  async remove(projectId: ProjectId, id: KeyId): Promise<boolean> {
    return (await this.session.run(REMOVE, { project: projectId, id })) > 0;
  }

  #find(projectId: ProjectId, id: KeyId): Promise<KeyRow | null> {
    return this.session.get<KeyRow>(FIND, { project: projectId, id });
  }

  async #insert(projectId: ProjectId, draft: KeyDraft, secret: string, isOperator: 0 | 1): Promise<ApiKey> {
    const now = this.context.clock.now();
    const row = await this.session.get<KeyRow>(INSERT, {
      id: newId("key", now, this.context.random),
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
    await this.session.run(ADD_SECRET, { key: row.key_key, hash: hashOf(secret) });
    return toKey(row, this.context.lastUses);
  }
}
