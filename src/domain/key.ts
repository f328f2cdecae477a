// API keys without their secrets. Stores keep only a hash of a secret.

import type { KeyId, ProjectId } from "./ids.ts";
import type { KeyScope } from "./scope.ts";

/** A stored API key. Times are Unix milliseconds. */
export interface ApiKey {
  readonly id: KeyId;
  readonly projectId: ProjectId;
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  /** User that the key is confined to; null if the key covers the whole project. */
  readonly userId: string | null;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  /** First product of the last `User-Agent` that was sent with the key, such as `curl/8.9.1`; null if there is none. */
  readonly lastClient: string | null;
  readonly createdAt: number;
  /** The secret's first and last characters, such as `ctx_ab…wxyz`. */
  readonly redacted: string;
}

/** Maximum length of `lastClient`. */
const CLIENT_CHARACTERS = 64;
// a product (RFC 9110, 10.1.5): a token, with a version if there is a slash
const PRODUCT = /^[ \t]*([\w!#$%&'*+.^`|~-]+(?:\/[\w!#$%&'*+.^`|~-]+)?)/;

/** The first product of a `User-Agent` with its version; null if it does not begin with one. */
export function clientOf(userAgent: string): string | null {
  return PRODUCT.exec(userAgent)?.[1]?.slice(0, CLIENT_CHARACTERS) ?? null;
}

/** Input for a new key. */
export interface KeyDraft {
  readonly name: string;
  readonly scopes: readonly KeyScope[];
  readonly userId: string | null;
  readonly expiresAt: number | null;
}

/** The key that is created with a new project. */
export const FIRST_KEY: KeyDraft = { name: "first key", scopes: ["*"], userId: null, expiresAt: null };

/** Changes to a key. A field that is absent stays unchanged; an `expiresAt` of null removes the expiry. */
export interface KeyChange {
  readonly name?: string;
  readonly scopes?: readonly KeyScope[];
  readonly expiresAt?: number | null;
}

/** A key with its secret, which is shown only once. */
export interface IssuedKey {
  readonly key: ApiKey;
  readonly secret: string;
}
