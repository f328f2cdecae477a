// How a webhook's receiver can tell that a message is ours: secrets and signatures after Standard Webhooks 1.0
// (standardwebhooks.com). What is sent and when is left to whoever delivers.

import { createHmac } from "node:crypto";

/** What every secret begins with. */
const SECRET_PREFIX = "whsec_";
/** The standard allows 24 to 64; 32 is the output of SHA-256, and a longer key adds nothing. */
const SECRET_BYTES = 32;

/** What is signed. */
export interface SignedMessage {
  /** The header `webhook-id`: the same for every attempt of a delivery. */
  readonly id: string;
  /** The header `webhook-timestamp`: Unix seconds of this attempt, a whole number. */
  readonly timestampSeconds: number;
  /** The body to the byte, as it is sent. */
  readonly body: string;
  /** `whsec_…`, as `newWebhookSecret` made it. */
  readonly secret: string;
}

/**
 * A new secret: `whsec_` and 32 random bytes in base64.
 * @param random makes `count` cryptographically random bytes.
 */
export function newWebhookSecret(random: (count: number) => Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(random(SECRET_BYTES)).toString("base64");
}

/** The header `webhook-signature`: `v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. */
export function signWebhook({ id, timestampSeconds, body, secret }: SignedMessage): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestampSeconds}.${body}`).digest("base64")}`;
}
