// Who is signed in: the keys of this tab, the current one, and what it may do. The API has no operation that says what
// a key may do, so small requests that change nothing find it out.

import { signal } from "@preact/signals";
import { ApiError, call, currentKey, refusedKey, type Sent } from "./api.ts";
import type { Answers, Key, Project } from "./calls.ts";
import { keySlot } from "./storage.ts";

/** A key of this tab. */
export interface SignedIn {
  readonly key: string;
  /** Id of its project; null if the key may not read it. */
  readonly projectId: string | null;
  readonly projectName: string | null;
}

/** What the current key may do. */
export interface Rights {
  readonly memoriesRead: boolean;
  readonly memoriesWrite: boolean;
  readonly query: boolean;
  readonly chatsRead: boolean;
  readonly chatsWrite: boolean;
  readonly usersRead: boolean;
  readonly usersWrite: boolean;
  readonly webhooks: boolean;
  readonly keys: boolean;
  readonly usage: boolean;
  readonly project: boolean;
  readonly admin: boolean;
  /** Whether it sees the data of one user only. */
  readonly isConfined: boolean;
}

/** The keys of this tab; the first is the current one. */
export const signedIn = signal<readonly SignedIn[]>([]);
/** Rights of the current key; null until they are known. */
export const rights = signal<Rights | null>(null);
/** The project of the current key; null if the key may not read it. */
export const project = signal<Project | null>(null);

/** Signs in with a key, and keeps it in this tab. @throws ApiError if the server refuses the key or is away */
export async function signIn(key: string): Promise<void> {
  const found = await accessOf(key);
  const entry: SignedIn = { key, projectId: found.project?.id ?? null, projectName: found.project?.name ?? null };
  refusedKey.value = null;
  signedIn.value = [entry, ...signedIn.value.filter((other) => other.key !== key)];
  keySlot.set(JSON.stringify(signedIn.value));
  currentKey.value = key;
  rights.value = found.rights;
  project.value = found.project;
}

/** Signs in with the key that this tab kept; does nothing without one. @throws ApiError */
export async function resume(): Promise<void> {
  const kept = keptKeys();
  signedIn.value = kept;
  const [first] = kept;
  if (first !== undefined) await signIn(first.key);
}

/** Whether this tab has kept a key. */
export function hasKeptKey(): boolean {
  return keptKeys().length > 0;
}

/** Forgets all keys of this tab. */
export function signOut(): void {
  keySlot.remove();
  signedIn.value = [];
  currentKey.value = null;
  rights.value = null;
  project.value = null;
  refusedKey.value = null;
}

/** Whether a listed key is the current one: its first and last characters are those of the current one. */
export function isCurrent({ redacted }: Pick<Key, "redacted">): boolean {
  const [start = "", end = ""] = redacted.split(/…|\.\.\.|\*+/);
  const key = currentKey.value ?? "";
  return start !== "" && end !== "" && key.startsWith(start) && key.endsWith(end);
}

function keptKeys(): readonly SignedIn[] {
  try {
    const kept: unknown = JSON.parse(keySlot.get() ?? "[]");
    return Array.isArray(kept) ? kept.filter((entry) => typeof entry?.key === "string") : [];
  } catch {
    return []; // another version of the page kept something else
  }
}

interface Access {
  readonly rights: Rights;
  /** null if the key may not read it. */
  readonly project: Project | null;
}

async function accessOf(key: string): Promise<Access> {
  const one = { query: { limit: 1 }, key };
  const nothing = { body: {}, key };
  // this first request tells a wrong key from one without rights
  const memoriesRead = await may("listMemories", one);
  const [
    memoriesWrite,
    query,
    chatsRead,
    chatsWrite,
    usersRead,
    usersWrite,
    keys,
    webhooks,
    usage,
    admin,
    own,
    memoriesOfOther,
  ] = await Promise.all([
    may("createMemory", nothing), // refused, because there is no content
    may("queryMemories", nothing),
    may("listChats", one),
    may("updateChat", { params: { id: "none" }, body: { title: null }, key }),
    may("listUsers", one),
    may("upsertUser", nothing),
    may("listKeys", one),
    may("listWebhooks", one),
    may("getUsage", { key }),
    may("listProjects", one),
    ifInScope("getOwnProject", { key }),
    memoriesRead ? ifInScope("listMemories", { query: { limit: 1, userId: "mneme-console" }, key }) : null,
  ]);
  // a confined key may not name a user that is not its own
  const isConfined = memoriesRead && memoriesOfOther === null;
  const found: Rights = {
    ...{ memoriesRead, memoriesWrite, query, chatsRead, chatsWrite, usersRead, usersWrite },
    ...{ keys, webhooks, usage, project: own !== null, admin, isConfined },
  };
  return { rights: found, project: own };
}

// Whether the key has the scope of an operation. Any other error but a refused key shows that it has.
async function may(name: keyof Answers, request: Sent): Promise<boolean> {
  try {
    await call(name, request);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.code === "insufficient_scope") return false;
    if (error.status === 401 || error.isTemporary) throw error;
    return true;
  }
}

// The answer of an operation; null if the key lacks its scope.
async function ifInScope<Name extends keyof Answers>(name: Name, request: Sent): Promise<Answers[Name] | null> {
  try {
    return await call(name, request);
  } catch (error) {
    if (error instanceof ApiError && error.code === "insufficient_scope") return null;
    throw error;
  }
}
