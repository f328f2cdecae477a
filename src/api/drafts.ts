// A checked createMemory body to a draft: the rules that a schema cannot say.

import { Fault } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { JsonObject, MemoryDraft } from "../domain/memory.ts";
import type { CreateMemory } from "./schema.ts";

/**
 * @param at where the body stands in the request (`memories[3]`), for the error's `param`.
 * @throws Fault `invalid_request`, `too_many_tags` or `metadata_too_large`.
 */
export function draftOf(body: CreateMemory, nowMs: number, at = ""): MemoryDraft {
  const field = (name: string) => (at === "" ? name : `${at}.${name}`);
  if (body.content.trim() === "") {
    throw new Fault("invalid_request", `'${field("content")}' is blank: give the text to store.`, {
      param: field("content"),
    });
  }
  const { content, title, type, tags, userId, externalId } = body;
  const metadata =
    body.metadata === undefined || body.metadata === null ? null : checkMetadata(body.metadata, field("metadata"));
  const language = body.language ? checkLanguage(body.language, field("language")) : null;
  const expiresAt = body.expires_at ? checkExpiry(body.expires_at, nowMs, field("expires_at")) : null;
  if (tags && tags.length > LIMITS.tagsPerMemory) {
    throw new Fault("too_many_tags", `A memory holds at most ${LIMITS.tagsPerMemory} tags, found ${tags.length}.`, {
      param: field("tags"),
    });
  }
  return {
    content,
    ...(title && { title }),
    ...(type && { type }),
    ...(tags && { tags }),
    ...(metadata && { metadata }),
    ...(userId && { userId }),
    ...(language && { language }),
    ...(externalId && { externalId }),
    ...(expiresAt !== null && { expiresAt }),
  };
}

function checkMetadata(metadata: Record<string, unknown>, param: string): JsonObject {
  const bytes = Buffer.byteLength(JSON.stringify(metadata), "utf8");
  if (bytes > LIMITS.metadataBytes) {
    throw new Fault(
      "metadata_too_large",
      `'${param}' is ${bytes} bytes as compact JSON; at most ${LIMITS.metadataBytes} are stored.`,
      { param },
    );
  }
  const reserved = Object.keys(metadata).find((name) => name.startsWith("_"));
  if (reserved !== undefined) {
    throw new Fault("invalid_request", `'${param}.${reserved}': keys that begin with '_' are used by search results.`, {
      param: `${param}.${reserved}`,
    });
  }
  return metadata as JsonObject;
}

function checkLanguage(language: string, param: string): string {
  try {
    return Intl.getCanonicalLocales(language)[0] ?? language;
  } catch (cause) {
    throw new Fault(
      "invalid_request",
      `'${param}' must be a BCP 47 tag such as "en" or "pt-BR", found "${language}".`,
      {
        param,
        cause,
      },
    );
  }
}

const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

function checkExpiry(text: string, nowMs: number, param: string): number {
  const [, year, month, day] = DATE_TIME.exec(text) ?? [];
  // Date.parse turns 31 February into 3 March
  const isDay = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day);
  const time = isDay ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) {
    throw new Fault("invalid_request", `'${param}' must be an ISO 8601 time such as "2030-01-31T12:00:00Z".`, {
      param,
    });
  }
  if (time <= nowMs) throw new Fault("invalid_request", `'${param}' lies in the past.`, { param });
  return time;
}
