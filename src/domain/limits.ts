// Limits of the API; the name of a limit tells its unit. Request rates are in account/rate-limits.ts, plan quotas in
// project.ts, limits of filters in filter.ts, and those of relations in relation.ts.

const KiB = 1024;
const MiB = 1024 * KiB;

/** Limits of the HTTP API. */
export const LIMITS = {
  /** Maximum size of a JSON body with the content of memories. */
  bodyBytes: 100 * MiB,
  /** Maximum size of any other JSON body. */
  smallBodyBytes: MiB,
  /** Maximum nesting depth of a JSON body. Recursive functions that read a checked body stay within the call stack. */
  jsonDepth: 64,
  /** Maximum number of values in a JSON body. */
  jsonValues: 1_000_000,
  /**
   * Maximum number of values in the JSON of a memory: one with 50 tags and metadata of 10 KB has 5,200. JavaScript
   * takes about 10 ms to parse so many.
   */
  memoryJsonValues: 20_000,
  /**
   * Maximum size of the JSON of a memory without its texts over 64 KiB. Applies to bodies over 1 MiB;
   * native/src/json/split.rs enforces it.
   */
  memoryJsonBytes: MiB,
  /** Maximum number of members of all objects in the JSON of a memory, or in a body without content. */
  jsonMembers: 10_000,
  /** Maximum total size of the JSON bodies that are read or processed at the same time. */
  bodiesInFlightBytes: 400 * MiB,
  /** Maximum size of `metadata` as compact UTF-8 JSON. */
  metadataBytes: 10 * KiB,
  tagsPerMemory: 50,
  /** Maximum number of sentences about what was not read of a file. */
  warningsPerMemory: 20,
  /** Maximum number of files in an archive, mailbox or message, at all depths. */
  partsPerContainer: 1_000,
  /** Maximum size of all these files together. */
  unpackedBytes: 500 * 1024 * 1024,
  tagCharacters: 256,
  titleCharacters: 1024,
  typeCharacters: 128,
  /** Maximum length of `userId`, `agentId`, `sessionId` and `externalId`. */
  callerIdCharacters: 256,
  memoriesPerBatch: 100,
  /** Maximum number of deletions by conditions of a project that are in progress. */
  deletionsInProgress: 10,
  /** Maximum number of failed memories that one request processes again. */
  retriedMemories: 1_000,
  pageItemsDefault: 20,
  pageItems: 100,
  /**
   * Maximum total size of the contents on one page of a list. If the contents are larger, the page has fewer items than
   * its limit.
   */
  pageContentBytes: 32 * MiB,
  searchResultsDefault: 10,
  searchResults: 100,
  /**
   * Number of related memories that `GET /memories/{id}/graph` shows; `neighbours` also limits its number of entities.
   */
  neighboursDefault: 20,
  neighbours: 100,
  /** Maximum number of memories on a map. */
  mapPoints: 20_000,
  mapPointsDefault: 5_000,
  /** Maximum number of entities of a project that people named or merged. */
  entityNotes: 10_000,
  /** Maximum number of cases of a project, of memories that a case expects, and of runs that are in progress. */
  casesPerProject: 1_000,
  memoriesPerCase: 100,
  caseRunsInProgress: 5,
  /** Maximum number of models that are added to a deployment. */
  installedModels: 1_000,
  queryCharacters: 8_192,
  requestIdCharacters: 128,
  /** Maximum length of a user's `name` and `email`, and of the names of keys and projects. */
  nameCharacters: 256,
  emailCharacters: 320,
  /** Maximum length of a time in a request. */
  timeCharacters: 40,
  /** Maximum length of the name of a time zone. */
  timeZoneCharacters: 64,
  /** Bounds of the text of a user's profile, in estimated tokens. */
  profileTokensMin: 100,
  profileTokens: 8_000,
  profileTokensDefault: 2_000,
  /** Maximum size of an event's `data` as compact UTF-8 JSON. */
  eventDataBytes: 10 * KiB,
  eventTypeCharacters: 128,
  messageCharacters: 32_768,
  /** Maximum number of messages in the body of a chat completion. */
  completionMessages: 1_000,
  /** Maximum number of texts that are embedded at once, as in OpenAI's API. */
  embeddedTexts: 2_048,
  /** Maximum number of tokens that are embedded at once: about 8 s of one core. */
  embeddingTokens: 131_072,
  /** Maximum length of filters that are written as text in a body. */
  filterTextCharacters: 32_768,
  instructionsCharacters: 8_192,
  messagesPageDefault: 50,
  messagesPage: 200,
  sourcesDefault: 8,
  sources: 50,
  /** Number of earlier messages that a question can refer to. */
  chatTurns: 20,
  /** Maximum number of messages that wait while another one in the same chat is being answered. */
  messagesWaitingPerChat: 16,
  /** Maximum number of steps of activity in one response. */
  activitySteps: 1_000,
  webhooksPerProject: 10,
  webhookUrlCharacters: 2_048,
  descriptionCharacters: 1_024,
  idempotencyKeyCharacters: 256,
  /** How long a response is stored under its Idempotency-Key, in milliseconds. */
  idempotencyMs: 24 * 60 * 60 * 1000,
  /** Maximum time, in seconds, for which the old secret of a rotated key stays valid. */
  graceSeconds: 30 * 24 * 60 * 60,
  retentionDays: 3_650,
  /** Maximum size of an uploaded file. */
  uploadBytes: 100 * MiB,
  filenameCharacters: 255,
  /** Size of the in-memory cache of recently read contents. */
  contentCacheBytes: 32 * MiB,
} as const;
