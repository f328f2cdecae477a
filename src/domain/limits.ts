// Every bound that a caller can meet, each with its unit. Requests a minute stand in account/rate-limits.ts, quotas of plans
// in project.ts; every other number of the interface stands here and nowhere else.

const KiB = 1024;
const MiB = 1024 * KiB;

/** Bounds of the HTTP interface. */
export const LIMITS = {
  /** Largest JSON body. */
  bodyBytes: 100 * MiB,
  /** JSON bodies that are read or worked on at once, in all. */
  bodiesInFlightBytes: 400 * MiB,
  /** Compact UTF-8 JSON of `metadata`. */
  metadataBytes: 10 * KiB,
  tagsPerMemory: 50,
  tagCharacters: 256,
  titleCharacters: 1024,
  typeCharacters: 128,
  /** `userId` and `externalId`. */
  callerIdCharacters: 256,
  memoriesPerBatch: 100,
  pageItemsDefault: 20,
  pageItems: 100,
  /** Contents of one page of a list in all; a page is shorter where they are longer. */
  pageContentBytes: 32 * MiB,
  searchResultsDefault: 10,
  searchResults: 100,
  /** Memories that `GET /memories/{id}/graph` shows beside one; the most is that of its names, too. */
  neighboursDefault: 20,
  neighbours: 100,
  queryCharacters: 8_192,
  requestIdCharacters: 128,
  /** A user's `name` and `email`, and the names of keys and projects. */
  nameCharacters: 256,
  emailCharacters: 320,
  /** Compact UTF-8 JSON of an event's `data`. */
  eventDataBytes: 10 * KiB,
  eventTypeCharacters: 128,
  messageCharacters: 32_768,
  instructionsCharacters: 8_192,
  messagesPageDefault: 50,
  messagesPage: 200,
  sourcesDefault: 8,
  sources: 50,
  /** Messages before a question that it may go on with. */
  chatTurns: 20,
  /** Messages that may wait for the one under way in the same chat. */
  messagesWaitingPerChat: 16,
  webhooksPerProject: 10,
  webhookUrlCharacters: 2_048,
  descriptionCharacters: 1_024,
  idempotencyKeyCharacters: 256,
  /** How long an answer is remembered under its Idempotency-Key, in milliseconds. */
  idempotencyMs: 24 * 60 * 60 * 1000,
  /** Longest time that a rotated key's old secret may live on, in seconds. */
  graceSeconds: 30 * 24 * 60 * 60,
  retentionDays: 3_650,
  /** Largest file of uploadMemory. */
  uploadBytes: 100 * MiB,
  filenameCharacters: 255,
  /** Contents of memories that were read lately, in memory. */
  contentCacheBytes: 32 * MiB,
} as const;
