// The limits of the API as table rows for the reference: quotas of the plans and bounds of one request.
// domain/limits.ts and domain/project.ts define the numbers.

import { LIMITS } from "../domain/limits.ts";
import { ATTRIBUTES } from "../domain/memory-attributes.ts";
import { PLAN_NAMES, PLANS } from "../domain/project.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

const CALLER_IDS = ATTRIBUTES.flatMap(({ name, type }) => (type === "id" ? [`\`${name}\``] : [])).join(", ");

/** One row per plan: name, queries per month, memories, storage. */
export function planRows(): readonly (readonly string[])[] {
  return PLAN_NAMES.map((name) => {
    const { queriesPerMonth, documents, storageBytes } = PLANS[name];
    return [
      name,
      count(queriesPerMonth),
      count(documents),
      storageBytes === null ? count(null) : byteText(storageBytes),
    ];
  });
}

/** The bounds of a request; field names are in backticks. */
export function requestBoundRows(): readonly (readonly [what: string, atMost: string])[] {
  return [
    ["JSON body with the content of memories", byteText(LIMITS.bodyBytes)],
    ["any other JSON body", byteText(LIMITS.smallBodyBytes)],
    ["depth of a JSON body", `${LIMITS.jsonDepth} levels`],
    ["values of a JSON body", count(LIMITS.jsonValues)],
    ["values in the JSON of a memory", count(LIMITS.memoryJsonValues)],
    ["members in the JSON of a memory, or in a body without content", count(LIMITS.jsonMembers)],
    ["JSON of a memory without its texts over 64 KB", byteText(LIMITS.memoryJsonBytes)],
    ["uploaded file", byteText(LIMITS.uploadBytes)],
    ["memories per batch", count(LIMITS.memoriesPerBatch)],
    ["tags per memory", count(LIMITS.tagsPerMemory)],
    ["`metadata` as JSON", byteText(LIMITS.metadataBytes)],
    ["an event's `data` as JSON", byteText(LIMITS.eventDataBytes)],
    [CALLER_IDS, characters(LIMITS.callerIdCharacters)],
    ["`title`", characters(LIMITS.titleCharacters)],
    ["`query`", characters(LIMITS.queryCharacters)],
    ["a chat's `message`", characters(LIMITS.messageCharacters)],
    ["`instructions`", characters(LIMITS.instructionsCharacters)],
    ["messages of a chat completion", count(LIMITS.completionMessages)],
    ["texts of one embeddings request", count(LIMITS.embeddedTexts)],
    ["tokens of one embeddings request", count(LIMITS.embeddingTokens)],
    ["items per page", `${LIMITS.pageItems} (${LIMITS.pageItemsDefault} without \`limit\`)`],
    ["messages per page", `${LIMITS.messagesPage} (${LIMITS.messagesPageDefault} without \`limit\`)`],
    ["results of a search", `${LIMITS.searchResults} (${LIMITS.searchResultsDefault} without \`limit\`)`],
    ["sources of an answer", `${LIMITS.sources} (${LIMITS.sourcesDefault} without \`maxSources\`)`],
    ["webhooks per project", count(LIMITS.webhooksPerProject)],
  ];
}

function count(limit: number | null): string {
  return limit === null ? "unlimited" : limit.toLocaleString("en-US");
}

function characters(limit: number): string {
  return `${count(limit)} characters`;
}

/** A number of bytes in the largest unit that fits, of KB, MB and GB with 1,024 each: `10 KB`. */
export function byteText(bytes: number): string {
  if (bytes >= GiB) return `${bytes / GiB} GB`;
  return bytes >= MiB ? `${bytes / MiB} MB` : `${bytes / KiB} KB`;
}
