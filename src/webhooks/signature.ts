// Secrets and HMAC signatures of webhooks, after Standard Webhooks 1.0 (standardwebhooks.com). Receivers use them to
// verify that a message comes from this server. dispatcher.ts sends the messages.

import { createHmac } from "node:crypto";

/** Prefix of every secret. */
const SECRET_PREFIX = "whsec_";
/**
 * Number of random bytes of a secret. The standard allows 24 to 64. 32 is the output size of SHA-256; a longer key adds
 * no security.
 */
const SECRET_BYTES = 32;

/** A message to sign. */
export interface SignedMessage {
  /** Header `webhook-id`. It is the same for all attempts of a delivery. */
  readonly id: string;
  /** Header `webhook-timestamp`: Unix seconds of this attempt, an integer. */
  readonly timestampSeconds: number;
  /** The body exactly as it is sent. */
  readonly body: string;
  /** `whsec_…`, from `newWebhookSecret`. */
  readonly secret: string;
}

/**
 * Creates a secret: `whsec_` and 32 random bytes in base64.
 * @param random returns `count` cryptographically random bytes.
 */
export function newWebhookSecret(random: (count: number) => Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(random(SECRET_BYTES)).toString("base64");
}

/** The header `webhook-signature`: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. */
export function signWebhook({ id, timestampSeconds, body, secret }: SignedMessage): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`;
}
