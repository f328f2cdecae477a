// What an API key is, without its secret: of that only a hash is ever stored.

import type { KeyId, ProjectId } from "./ids.ts";
import type { KeyScope } from "./scope.ts";

/** A key as the stores hold it. Times are Unix milliseconds. */
export interface ApiKey {
  readonly id: KeyId;
  readonly projectId: ProjectId;
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** The user that the key is confined to; null: the whole project. */
  readonly userId: string | null;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  /** What may be shown of the secret: its first and last characters, such as `ctx_ab…wxyz`. */
  readonly redacted: string;
}

/** What a caller gives to make a key. */
export interface KeyDraft {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly userId: string | null;
  readonly expiresAt: number | null;
}

/** The key that comes with a new project. */
export const FIRST_KEY: KeyDraft = { name: "first key", scopes: ["*"], userId: null, expiresAt: null };

/** What changes in a key; absent fields stay, an `expiresAt` of null lifts the expiry. */
export interface KeyChange {
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  readonly expiresAt?: number | null;
}

/** A key with its secret: the one time that it is shown. */
export interface IssuedKey {
  readonly key: ApiKey;
  readonly secret: string;
}
