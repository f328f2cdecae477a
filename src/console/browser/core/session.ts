// The session: the keys of this tab, the current key, and what the server lets it do.

import { signal } from "@preact/signals";
import { call, currentKey, refusedKey } from "./api.ts";
import type { CurrentKey, Key, Project } from "./calls.ts";
import { keySlot } from "./storage.ts";

/** A key that is signed in in this tab. */
export interface SignedIn {
  readonly key: string;
  readonly projectId: string;
  readonly projectName: string;
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
  /** Whether the key may only see the data of one user. */
  readonly isConfined: boolean;
}

/** Whether a key may ask questions, either single ones or in chats. */
export function mayAsk({ query, chatsRead, chatsWrite }: Rights): boolean {
  return query || (chatsRead && chatsWrite);
}

/** Whether a key may add memories in the view of memories. */
export function mayAdd({ memoriesRead, memoriesWrite }: Rights): boolean {
  return memoriesRead && memoriesWrite;
}

/** The keys of this tab. The first one is the current key. */
export const signedIn = signal<readonly SignedIn[]>([]);
/** What the current key may do; null until the server has told it. */
export const rights = signal<Rights | null>(null);
/** The current key without its secret; null until the server has described it. */
export const ownKey = signal<CurrentKey | null>(null);
/** Settings of the project of the current key; null if the key may not read them. */
export const project = signal<Project | null>(null);

/**
 * Signs in with a key, and keeps it in this tab. @throws ApiError if the server refuses the key or cannot be reached
 */
export async function signIn(key: string): Promise<void> {
  const found = await accessOf(key);
  const { project: of } = found.own;
  const entry: SignedIn = { key, projectId: of.id, projectName: of.name };
  refusedKey.value = null;
  signedIn.value = [entry, ...signedIn.value.filter((other) => other.key !== key)];
  keySlot.set(JSON.stringify(signedIn.value));
  currentKey.value = key;
  ownKey.value = found.own;
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
  ownKey.value = null;
  rights.value = null;
  project.value = null;
  refusedKey.value = null;
}

/** Whether a listed key is the current one. */
export function isCurrent({ id }: Pick<Key, "id">): boolean {
  return id === ownKey.value?.id;
}

function keptKeys(): readonly SignedIn[] {
  try {
    const kept: unknown = JSON.parse(keySlot.get() ?? "[]");
    return Array.isArray(kept) ? kept.filter((entry) => typeof entry?.key === "string") : [];
  } catch {
    return []; // not in this format: another version of the page stored it
  }
}

interface Access {
  readonly rights: Rights;
  /** The key's project; null if the key may not read it. */
  readonly project: Project | null;
}

async function accessOf(key: string): Promise<Access & { readonly own: CurrentKey }> {
  const own = await call("getCurrentKey", { key });
  const rights = rightsOf(own);
  return { own, rights, project: rights.project && !rights.isConfined ? await call("getOwnProject", { key }) : null };
}

/** What a key may do. A key that is confined to one user may not call operations on all users, whatever its scopes. */
function rightsOf({ allowed_scopes: allowed, userId }: CurrentKey): Rights {
  const has = (scope: Key["scopes"][number]) => allowed.includes(scope);
  const isConfined = userId !== null;
  const ofAll = (scope: Key["scopes"][number]) => !isConfined && has(scope);
  return {
    ...{ memoriesRead: has("memories:read"), memoriesWrite: has("memories:write"), query: has("query") },
    ...{ chatsRead: has("chats:read"), chatsWrite: has("chats:write") },
    ...{ usersRead: has("users:read"), usersWrite: has("users:write") },
    ...{ webhooks: ofAll("webhooks"), usage: ofAll("usage"), keys: ofAll("keys"), project: ofAll("project") },
    ...{ admin: ofAll("admin"), isConfined },
  };
}
