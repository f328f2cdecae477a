// Checks webhook messages (Standard Webhooks 1.0).

import type {
  MemoryCompletedWebhookPayload,
  MemoryDeletedWebhookPayload,
  MemoryFailedWebhookPayload,
  MemoryUpdatedWebhookPayload,
  WebhookTestWebhookPayload,
} from "./core/index.ts";
import { WebhookVerificationError } from "./errors.ts";

/** A message that a webhook receives. */
export type WebhookMessage =
  | MemoryCompletedWebhookPayload
  | MemoryFailedWebhookPayload
  | MemoryUpdatedWebhookPayload
  | MemoryDeletedWebhookPayload
  | WebhookTestWebhookPayload;

/** Options of the check. */
export interface VerifyOptions {
  /** How far the time of the message may be from now, in seconds. Default: 300. */
  readonly toleranceSeconds?: number;
  /** The time now in Unix milliseconds. Default: the clock's. */
  readonly now?: number;
}

/** Headers as a Request, Express or Node has them. */
export type MessageHeaders = Headers | Readonly<Record<string, string | string[] | undefined>>;

const SECRET_PREFIX = "whsec_";
const TOLERANCE_SECONDS = 300;

/**
 * Checks the signature and the age of a webhook message, and returns it.
 * @param body the body as it was received: parsing and writing it again changes the bytes that were signed
 * @param secret `whsec_…` of the webhook; several while a secret is being changed
 * @throws WebhookVerificationError if the message must not be trusted
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: MessageHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookMessage> {
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (!/^\d{1,12}$/.test(timestamp)) throw refused("its webhook-timestamp is not a time");
  const apart = Math.abs(now / 1_000 - Number(timestamp));
  if (apart > toleranceSeconds) throw refused(`it is ${Math.round(apart)} s old, or the clocks differ`);
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  if (!(await isSigned(signed, signatures, [secret].flat()))) throw refused("its signature is wrong");
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw refused("its body is not JSON", error);
  }
}

/** Whether one of the signatures is by one of the secrets. WebCrypto compares in constant time. */
async function isSigned(signed: BufferSource, signatures: string, secrets: readonly string[]): Promise<boolean> {
  let isFound = false;
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey("raw", secretBytes(secret), { name: "HMAC", hash: "SHA-256" }, false, [
      "verify",
    ]);
    for (const signature of signatures.split(" ")) {
      const [version, value] = signature.split(",");
      const bytes = version === "v1" && value !== undefined ? base64Bytes(value) : null;
      if (bytes !== null && (await crypto.subtle.verify("HMAC", key, bytes, signed))) isFound = true;
    }
  }
  return isFound;
}

function secretBytes(secret: string): BufferSource {
  const bytes = base64Bytes(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret);
  if (bytes === null || bytes.byteLength === 0)
    throw new WebhookVerificationError("The secret is not a whsec_… secret.");
  return bytes;
}

function base64Bytes(text: string): Uint8Array<ArrayBuffer> | null {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null; // a wrong length; the signature does not match then
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function headerOf(headers: MessageHeaders, name: string): string {
  const found =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  const value = [found].flat()[0];
  if (typeof value !== "string" || value === "") throw refused(`the header ${name} is missing`);
  return value;
}

function refused(reason: string, cause?: unknown): WebhookVerificationError {
  return new WebhookVerificationError(`The webhook message is not trusted: ${reason}.`, { cause });
}
