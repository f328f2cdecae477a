// AccountStore in memory: projects, keys and usage. Only the SHA-256 of a secret is stored.

import { createHash } from "node:crypto";
import { ChunkIds, PROJECT_SECRET_BYTES } from "../../src/domain/chunk-ids.ts";
import { Fault, invariant } from "../../src/domain/fault.ts";
import type { KeyId, MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { ApiKey, IssuedKey, KeyChange, KeyDraft } from "../../src/domain/key.ts";
import { decodeCursor, type Page, pageOf } from "../../src/domain/page.ts";
import {
  DEFAULT_SETTINGS,
  monthOf,
  type Plan,
  type Project,
  type ProjectChange,
  type ProjectSettings,
  type Usage,
} from "../../src/domain/project.ts";
import type { Principal } from "../../src/domain/scope.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type { Listing } from "../../src/ports/user-store.ts";
import { eraseMemory, recordExpiry, stored, unrecordedExpiries, update } from "./memory-row.ts";
import { cursorBinding, existingProject, NO_SECRET, openProject } from "./projects.ts";
import { jsonCopy, type KeyRow, keyOf, type ProjectRow, type Session, type Synchronous } from "./session.ts";
import { removeWebhook } from "./webhooks.ts";

const OPERATOR = { name: "operator", scopes: ["*", "admin"], userId: null, expiresAt: null } as const;

type ProjectDraft = { readonly name: string; readonly plan: Plan; readonly settings: ProjectSettings };

/** AccountStore in memory. */
export class InMemoryAccounts implements Synchronous<AccountStore> {
  constructor(private readonly session: Session) {}

  defaultProject(): ProjectId {
    const found = this.session.tables.projects.find(({ project }) => project.isDefault);
    if (found !== undefined) return found.project.id;
    return this.#addProject({ name: "default", plan: "enterprise", settings: DEFAULT_SETTINGS }, true).id;
  }

  projects(): readonly ProjectId[] {
    return this.#openProjects().map(({ project }) => project.id);
  }

  createProject(draft: ProjectDraft): Project {
    return this.#addProject(draft, false);
  }

  project(id: ProjectId): Project | null {
    return openProject(this.session, id)?.project ?? null;
  }

  chunkIds(id: ProjectId): ChunkIds | null {
    const row = openProject(this.session, id);
    return row === null ? null : new ChunkIds(row.secret);
  }

  listProjects({ limit, cursor }: Listing): Page<Project> {
    const secret = () => this.session.tables.projects.find(({ project }) => project.isDefault)?.secret ?? NO_SECRET;
    const binding = { list: JSON.stringify(["projects"]), secret };
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rows = this.#openProjects()
      .filter(({ key }) => before === null || key < before)
      .reverse();
    const toItems = (page: readonly ProjectRow[]) => page.map(({ project }) => project);
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  changeProject(id: ProjectId, change: ProjectChange): Project | null {
    const row = openProject(this.session, id);
    if (row === null) return null;
    return this.session.tables.projects.set(id, { ...row, project: { ...row.project, ...jsonCopy(change) } }).project;
  }

  removeProject(id: ProjectId): boolean {
    const row = openProject(this.session, id);
    if (row === null) return false;
    if (row.project.isDefault) throw new Fault("invalid_state", "The default project cannot be deleted.");
    const { tables, now } = this.session;
    tables.projects.set(id, { ...row, deletedAt: now });
    for (const { apiKey } of tables.keys.rows((key) => key.apiKey.projectId === id)) tables.keys.delete(apiKey.id);
    for (const { webhook } of tables.webhooks.rows(({ projectId }) => projectId === id)) {
      removeWebhook(this.session, webhook.id);
    }
    // without its lease, a running job cannot publish its memory any more
    for (const memory of tables.memories.rows(({ projectId, lease }) => projectId === id && lease !== null)) {
      update(this.session, memory, { lease: null });
    }
    return true;
  }

  removedProjects(): readonly ProjectId[] {
    return this.session.tables.projects.rows(({ deletedAt }) => deletedAt !== null).map(({ project }) => project.id);
  }

  memoriesOfRemoved(id: ProjectId, limit: number): readonly bigint[] {
    if (!this.#isRemoved(id)) return [];
    return this.session.tables.memories
      .rows(({ projectId }) => projectId === id)
      .slice(0, limit)
      .map(({ key }) => key);
  }

  eraseMemoriesOfRemoved(id: ProjectId, keys: readonly bigint[]): readonly string[] {
    if (!this.#isRemoved(id)) return [];
    return keys.flatMap((key) => {
      const row = this.session.tables.memories.get(key as MemoryKey);
      if (row === undefined || row.projectId !== id) return [];
      eraseMemory(this.session, row);
      return row.file ?? [];
    });
  }

  eraseProject(id: ProjectId): void {
    if (!this.#isRemoved(id)) return;
    invariant(this.memoriesOfRemoved(id, 1).length === 0, `project ${id} still has memories and cannot be erased`);
    const { tables } = this.session;
    const eraseOf = <Key, Row extends { readonly projectId: ProjectId }>(
      table: { rows(condition: (row: Row) => boolean): Row[]; delete(key: Key): boolean },
      keyOfRow: (row: Row) => Key,
    ) => {
      for (const row of table.rows(({ projectId }) => projectId === id)) table.delete(keyOfRow(row));
    };
    const chats = new Set(tables.chats.rows(({ projectId }) => projectId === id).map((chat) => chat.id));
    for (const message of tables.messages.rows(({ chatId }) => chats.has(chatId))) tables.messages.delete(message.id);
    eraseOf(tables.chats, (chat) => chat.id);
    eraseOf(tables.events, (event) => event.key);
    eraseOf(tables.users, ({ projectId, user }) => keyOf(projectId, user.id));
    for (const { slot } of tables.answers.rows((answer) => answer.slot.projectId === id)) {
      tables.answers.delete(JSON.stringify(slot));
    }
    tables.models.delete(id);
    for (const { id: deletion } of tables.deletions.rows(({ projectId }) => projectId === id)) {
      tables.deletions.delete(deletion);
    }
    tables.projects.delete(id);
  }

  hasAdminKey(projectId: ProjectId): boolean {
    return this.#keysOf(projectId).some(
      ({ apiKey: { userId, scopes, expiresAt } }) =>
        userId === null && scopes.includes("admin") && (expiresAt === null || expiresAt > this.session.now),
    );
  }

  issueKey(projectId: ProjectId, draft: KeyDraft): IssuedKey {
    const secret = this.#newSecret();
    return { key: this.#addKey(projectId, draft, secret, false), secret };
  }

  setOperatorKey(secret: string): void {
    const { tables } = this.session;
    const projectId = this.defaultProject();
    const hash = sha256(secret);
    const known = tables.keys.find(({ secrets }) => secrets.some((one) => one.sha256 === hash));
    if (known !== undefined && !known.isOperator) {
      throw new Fault("invalid_request", "This secret belongs to a key that was issued already. Choose another one.");
    }
    for (const { apiKey } of tables.keys.rows((key) => key.isOperator && key !== known)) tables.keys.delete(apiKey.id);
    if (known === undefined) this.#addKey(projectId, OPERATOR, secret, true);
    else {
      const apiKey = { ...known.apiKey, ...OPERATOR, redacted: redacted(secret) };
      tables.keys.set(apiKey.id, { ...known, apiKey, secrets: [{ sha256: hash, validUntil: null }] });
    }
  }

  key(projectId: ProjectId, id: KeyId): ApiKey | null {
    const row = this.#findKey(projectId, id);
    return row === null ? null : this.#toKey(row);
  }

  listKeys(projectId: ProjectId, { limit, cursor }: Listing): Page<ApiKey> {
    const binding = cursorBinding(this.session, projectId, ["keys"]);
    const before = cursor === undefined ? null : decodeCursor(cursor, binding);
    const rows = this.#keysOf(projectId)
      .filter(({ key }) => before === null || key < before)
      .reverse();
    const toItems = (page: readonly KeyRow[]) => page.map((row) => this.#toKey(row));
    return pageOf(rows.slice(0, limit + 1), { limit, binding, keyOf: ({ key }) => key, toItems });
  }

  changeKey(projectId: ProjectId, id: KeyId, change: KeyChange): ApiKey | null {
    const row = this.#findKey(projectId, id);
    if (row === null) return null;
    return this.#toKey(this.session.tables.keys.set(id, { ...row, apiKey: { ...row.apiKey, ...jsonCopy(change) } }));
  }

  rotateKey(projectId: ProjectId, id: KeyId, graceMs: number): IssuedKey | null {
    const row = this.#findKey(projectId, id);
    if (row === null) return null;
    const until = this.session.now + graceMs;
    const ending = row.secrets
      .map((one) => ({ ...one, validUntil: Math.min(one.validUntil ?? until, until) }))
      .filter(({ validUntil }) => validUntil > this.session.now);
    const secret = this.#newSecret();
    const apiKey = { ...row.apiKey, redacted: redacted(secret) };
    const secrets = [...ending, { sha256: sha256(secret), validUntil: null }];
    return { key: this.#toKey(this.session.tables.keys.set(id, { ...row, apiKey, secrets })), secret };
  }

  removeKey(projectId: ProjectId, id: KeyId): boolean {
    return this.#findKey(projectId, id) !== null && this.session.tables.keys.delete(id);
  }

  authenticate(secret: string): Principal | null {
    const { tables, now, surroundings } = this.session;
    const hash = sha256(secret);
    const isValid = (until: number | null) => until === null || until > now;
    const row = tables.keys.find(({ secrets }) =>
      secrets.some((one) => one.sha256 === hash && isValid(one.validUntil)),
    );
    if (row === undefined || !isValid(row.apiKey.expiresAt)) return null;
    const { id: keyId, projectId, userId, scopes } = row.apiKey;
    surroundings.lastUses.set(keyId, now);
    return { keyId, projectId, userId, scopes };
  }

  flush(): void {
    const { tables, surroundings } = this.session;
    for (const [id] of surroundings.lastUses) {
      const row = tables.keys.get(id);
      if (row !== undefined) tables.keys.set(id, { ...row, apiKey: this.#toKey(row) });
    }
    surroundings.lastUses.clear();
  }

  usage(projectId: ProjectId): Usage {
    const { project } = existingProject(this.session, projectId);
    recordExpiry(this.session, unrecordedExpiries(this.session, projectId));
    const period = monthOf(this.session.now);
    const month = this.session.tables.months.get(keyOf(projectId, period.start));
    const { documents, bytes } = stored(this.session, projectId);
    return {
      plan: project.plan,
      period,
      queries: month?.queries ?? 0,
      documents,
      storageBytes: bytes,
      tokens: { prompt: month?.prompt ?? 0, completion: month?.completion ?? 0 },
    };
  }

  countQuery(projectId: ProjectId, tokens: { readonly prompt: number; readonly completion: number }): void {
    countUsage(this.session, projectId, { queries: 1, ...tokens });
  }

  #openProjects(): ProjectRow[] {
    return this.session.tables.projects.rows(({ deletedAt }) => deletedAt === null);
  }

  #isRemoved(id: ProjectId): boolean {
    return (this.session.tables.projects.get(id)?.deletedAt ?? null) !== null;
  }

  #addProject(draft: ProjectDraft, isDefault: boolean): Project {
    const { name, plan, settings } = jsonCopy(draft);
    const id = this.session.newId("prj") as ProjectId;
    const project = { id, name, plan, settings, isDefault, createdAt: this.session.now };
    return this.session.tables.projects.set(id, {
      ...{ key: this.session.next("project"), project, secret: this.session.random(PROJECT_SECRET_BYTES) },
      ...{ deletedAt: null, servedLease: 0, occupiedBytes: 0 },
    }).project;
  }

  #keysOf(projectId: ProjectId): KeyRow[] {
    return this.session.tables.keys.rows(({ apiKey }) => apiKey.projectId === projectId);
  }

  #findKey(projectId: ProjectId, id: KeyId): KeyRow | null {
    const row = this.session.tables.keys.get(id);
    return row === undefined || row.apiKey.projectId !== projectId ? null : row;
  }

  #addKey(projectId: ProjectId, draft: KeyDraft, secret: string, isOperator: boolean): ApiKey {
    existingProject(this.session, projectId);
    const id = this.session.newId("key") as KeyId;
    const { name, scopes, userId, expiresAt } = draft;
    const times = { expiresAt, lastUsedAt: null, createdAt: this.session.now };
    return this.session.tables.keys.set(id, {
      key: this.session.next("key"),
      apiKey: { id, projectId, name, scopes: [...scopes], userId, ...times, redacted: redacted(secret) },
      isOperator,
      secrets: [{ sha256: sha256(secret), validUntil: null }],
    }).apiKey;
  }

  #newSecret(): string {
    return `ctx_${Buffer.from(this.session.random(32)).toString("base64url")}`;
  }

  #toKey({ apiKey }: KeyRow): ApiKey {
    const waiting = this.session.surroundings.lastUses.get(apiKey.id) ?? null;
    if (waiting === null) return apiKey;
    return { ...apiKey, lastUsedAt: Math.max(waiting, apiKey.lastUsedAt ?? waiting) };
  }
}

/** Adds queries and tokens to the current month. Does nothing for a project that does not exist. */
export function countUsage(
  session: Session,
  projectId: ProjectId,
  used: { readonly queries: number; readonly prompt: number; readonly completion: number },
): void {
  if (openProject(session, projectId) === null) return;
  const key = keyOf(projectId, monthOf(session.now).start);
  const before = session.tables.months.get(key) ?? { queries: 0, prompt: 0, completion: 0 };
  session.tables.months.set(key, {
    projectId,
    queries: before.queries + used.queries,
    prompt: before.prompt + used.prompt,
    completion: before.completion + used.completion,
  });
}

function sha256(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

function redacted(secret: string): string {
  return `${secret.slice(0, 6)}…${secret.slice(-4)}`;
}
