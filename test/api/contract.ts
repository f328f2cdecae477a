// The promised contract of every operation, written by hand from the API's specification and never from the code. Tests
// that cover all operations compare the code with it.

/** The scopes of API keys. */
export const SCOPES = [
  "memories:read",
  "memories:write",
  "query",
  "chats:read",
  "chats:write",
  "users:read",
  "users:write",
  "webhooks",
  "keys",
  "usage",
  "project",
  "admin",
  "*",
] as const;
/** One scope of an API key. */
export type Scope = (typeof SCOPES)[number];

/** One operation of the contract. */
export interface Promised {
  /** The operation's name in the specification; null if it gives none. */
  readonly name: string | null;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path without the prefix /v1, with `{}` for each path parameter. */
  readonly path: string;
  /** null: any key. */
  readonly scope: Scope | null;
  /** Limit of requests per minute and key. */
  readonly perMinute: number;
  /** Statuses of successful answers. */
  readonly successes: readonly number[];
  /** Whether a key that is confined to one user may call the operation. */
  readonly isForConfinedKeys: boolean;
  readonly heedsIdempotencyKey: boolean;
  /** Names of the headers that it reads besides those that all do. */
  readonly headers: readonly string[];
  /** Names of the query parameters. */
  readonly query: readonly string[];
  /** Names of the body's fields; null if there is no body. */
  readonly body: readonly string[] | null;
  /** Names of the required body fields. */
  readonly required: readonly string[];
}

type Rest = Partial<Pick<Promised, "name" | "perMinute" | "headers" | "query" | "body" | "required">>;
type Area = readonly [scope: Scope | null, isForConfinedKeys: boolean];

const PER_MINUTE = { GET: 300, POST: 100, PUT: 100, PATCH: 100, DELETE: 100 } as const;
const PAGE = ["limit", "cursor"];
const MEMORY = [
  "content",
  "title",
  "type",
  "tags",
  "metadata",
  "userId",
  "agentId",
  "sessionId",
  "language",
  "externalId",
  "expires_at",
  "occurred_at",
];
const UPLOAD = ["file", "ocr", ...MEMORY.filter((field) => field !== "content")];
const SCOPE = ["userId", "agentId", "sessionId"];
const SELECTED = ["status", "type", ...SCOPE, "tag", "q", "superseded", "knownAt", "container"];
const SEARCH = [
  "query",
  "filters",
  "limit",
  "includeGraph",
  ...SCOPE,
  "mode",
  "explain",
  "min_score",
  "asOf",
  "knownAt",
  "time_zone",
];
const QUERY = [
  ...["query", "stream", "mode", "maxSources", "instructions", ...SCOPE],
  ...["filters", "includeGraph", "asOf", "knownAt", "time_zone", "model"],
];
const MESSAGE = ["message", "mode", "instructions", "maxSources", "filters", "asOf", "time_zone"];
const COMPLETION = [
  ...["model", "messages", "stream", "stream_options", "user", "mneme", "metadata", "temperature", "max_tokens"],
  ...["max_completion_tokens", "n", "logprobs", "response_format", "modalities", "tools", "functions", "tool_choice"],
  ...["function_call", "audio", "moderation", "top_logprobs", "web_search_options", "frequency_penalty", "logit_bias"],
  ...["parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options"],
  ...["prompt_cache_retention", "reasoning_effort", "safety_identifier", "seed", "service_tier", "stop", "store"],
  ...["top_p", "verbosity"],
];
const PROJECT = [
  "name",
  "plan",
  "llm",
  "smart_ingestion",
  "retention_days",
  "min_evidence",
  "default_mode",
  "superseding",
  "ocr",
  "time_zone",
  "keep_files",
  "vector_index",
];
const WEBHOOK = ["url", "events", "description", "enabled"];

/** Creates one row of the table. @param rest values that differ from the defaults */
function promised(
  route: `${Promised["method"]} ${string}`,
  [scope, isForConfinedKeys]: Area,
  successes: readonly number[],
  heedsIdempotencyKey: boolean,
  rest: Rest = {},
): Promised {
  const [method, path] = route.split(" ") as [Promised["method"], string];
  return {
    name: null,
    method,
    path,
    scope,
    perMinute: PER_MINUTE[method],
    successes,
    isForConfinedKeys,
    heedsIdempotencyKey,
    headers: [],
    query: [],
    body: null,
    required: [],
    ...rest,
  };
}

const readMemories: Area = ["memories:read", true];
const writeMemories: Area = ["memories:write", true];
const readChats: Area = ["chats:read", true];
const writeChats: Area = ["chats:write", true];
const readUsers: Area = ["users:read", true];
const writeUsers: Area = ["users:write", true];
const keys: Area = ["keys", false];
const anyKey: Area = [null, true];
const project: Area = ["project", false];
const admin: Area = ["admin", false];
const webhooks: Area = ["webhooks", false];

/** Every operation of the API. */
export const OPERATIONS: readonly Promised[] = [
  promised("POST /memories", writeMemories, [200, 202], true, {
    name: "createMemory",
    body: MEMORY,
    required: ["content"],
  }),
  promised("GET /memories", readMemories, [200], false, {
    name: "listMemories",
    query: [...PAGE, "order", ...SELECTED],
  }),
  promised("GET /memories/count", readMemories, [200], false, {
    name: "countMemories",
    query: [...SELECTED, "filters"],
  }),
  promised("GET /memories/{}", readMemories, [200], false, { name: "getMemory", query: ["knownAt"] }),
  promised("PUT /memories/{}/relations", writeMemories, [200], false, {
    name: "setRelation",
    body: ["memory_id", "type"],
    required: ["memory_id", "type"],
  }),
  promised("DELETE /memories/{}/relations", writeMemories, [204], false, {
    name: "forgetRelation",
    query: ["memory_id"],
    required: ["memory_id"],
  }),
  promised("GET /memories/{}/history", readMemories, [200], false, { name: "getMemoryHistory", query: PAGE }),
  promised("DELETE /memories/{}/history", writeMemories, [204], false, { name: "eraseMemoryHistory" }),
  promised("GET /memories/{}/file", readMemories, [200, 206, 304], false, {
    name: "getMemoryFile",
    headers: ["Range", "If-None-Match", "If-Range"],
  }),
  promised("GET /memories/{}/graph", readMemories, [200], false, { query: ["limit"] }),
  promised("GET /memories/map", readMemories, [200], false, {
    name: "getMemoryMap",
    query: [...SCOPE, "filters", "limit"],
  }),
  promised("GET /graph/entities", readMemories, [200], false, {
    name: "listEntities",
    query: ["q", "kind", "userId", ...PAGE],
  }),
  promised("GET /graph/entities/{}", readMemories, [200], false, { name: "getEntity", query: ["userId", "limit"] }),
  promised("GET /graph/path", readMemories, [200], false, {
    name: "findPath",
    query: ["from", "to", "userId"],
    required: ["from", "to"],
  }),
  promised("PUT /graph/entities/{}", ["memories:write", false], [200], false, {
    name: "updateEntity",
    body: ["name", "merged_into"],
  }),
  promised("PUT /memories/{}", writeMemories, [200, 202], false, { name: "updateMemory", body: MEMORY }),
  promised("DELETE /memories/{}", writeMemories, [204], false, { name: "deleteMemory", query: ["purge"] }),
  promised("DELETE /memories", writeMemories, [200, 202], false, {
    name: "deleteMemories",
    body: [...SCOPE, "filters", "dryRun", "matched"],
  }),
  promised("GET /jobs/{}", writeMemories, [200], false, { name: "getJob" }),
  promised("POST /memories/{}/retry", writeMemories, [202], true, { name: "retryMemory" }),
  promised("POST /memories/retry", writeMemories, [202], true, { name: "retryMemories", body: ["userId"] }),
  promised("POST /memories/upload", writeMemories, [200, 202], true, {
    name: "uploadMemory",
    body: UPLOAD,
    required: ["file"],
  }),
  promised("POST /memories/url", writeMemories, [200, 202], true, {
    name: "createMemoryFromUrl",
    body: ["url", "ocr", ...MEMORY.filter((field) => field !== "content")],
    required: ["url"],
  }),
  promised("POST /memories/{}/refetch", writeMemories, [200, 202], false, { name: "refetchMemory" }),
  promised("POST /memories/batch", writeMemories, [202], true, {
    name: "batchCreate",
    body: ["memories"],
    required: ["memories"],
  }),
  promised("POST /memories/search", readMemories, [200], false, {
    name: "searchMemories",
    perMinute: 60,
    body: SEARCH,
    required: ["query"],
  }),
  promised("GET /memories/search", readMemories, [200], false, { perMinute: 60, query: SEARCH }),
  promised("POST /memories/query", ["query", true], [200], false, {
    name: "queryMemories",
    perMinute: 30,
    body: QUERY,
    required: ["query"],
  }),

  promised("POST /chats", writeChats, [201], true, { name: "createChat", perMinute: 60, body: [...SCOPE, "title"] }),
  promised("GET /chats", readChats, [200], false, { name: "listChats", query: [...PAGE, ...SCOPE] }),
  promised("GET /chats/{}", readChats, [200], false, { name: "getChatHistory" }),
  promised("PUT /chats/{}", writeChats, [200], false, { body: ["title"], required: ["title"] }),
  promised("DELETE /chats/{}", writeChats, [204], false),
  promised("GET /chats/{}/messages", readChats, [200], false, { query: PAGE }),
  promised("POST /chats/{}/messages", writeChats, [200], true, {
    name: "sendMessage",
    perMinute: 30,
    body: MESSAGE,
    required: ["message"],
  }),
  promised("POST /chats/{}/messages/stream", writeChats, [200], true, {
    name: "streamMessage",
    perMinute: 30,
    body: MESSAGE,
    required: ["message"],
  }),

  promised("GET /models", readMemories, [200], false, { name: "listModels" }),
  promised("GET /models/{}", readMemories, [200], false, { name: "getModel" }),
  promised("GET /models/{}/{}", readMemories, [200], false),
  promised("POST /chat/completions", ["query", true], [200], true, {
    name: "createChatCompletion",
    body: COMPLETION,
    required: ["model", "messages"],
  }),

  promised("POST /embeddings", readMemories, [200], false, {
    name: "createEmbeddings",
    body: ["model", "input", "encoding_format", "dimensions", "input_type", "truncate", "user"],
    required: ["model", "input"],
  }),

  promised("POST /users", writeUsers, [200], true, {
    name: "upsertUser",
    body: ["id", "name", "email", "metadata", "time_zone"],
    required: ["id"],
  }),
  promised("GET /users", readUsers, [200], false, { query: PAGE }),
  promised("GET /users/{}", readUsers, [200], false),
  promised("DELETE /users/{}", writeUsers, [204], false, { name: "deleteUser", query: ["cascade"] }),
  promised("POST /users/{}/events", writeUsers, [201], true, {
    name: "createEvent",
    body: ["type", "data"],
    required: ["type"],
  }),
  promised("GET /users/{}/profile", readMemories, [200], false, {
    name: "getProfile",
    query: ["max_tokens", "agentId", "sessionId", "time_zone"],
  }),
  promised("GET /users/{}/events", readUsers, [200], false, { query: ["type", ...PAGE] }),

  promised("POST /keys", keys, [201], true, {
    body: ["name", "scopes", "userId", "expires_at", "projectId"],
    required: ["name", "scopes"],
  }),
  promised("GET /keys", keys, [200], false, { query: [...PAGE, "projectId"] }),
  promised("GET /keys/current", anyKey, [200], false),
  promised("PATCH /keys/{}", keys, [200], false, { query: ["projectId"], body: ["name", "scopes", "expires_at"] }),
  promised("DELETE /keys/{}", keys, [204], false, { query: ["projectId"] }),
  promised("POST /keys/{}/rotate", keys, [200], false, { query: ["projectId"], body: ["grace_seconds"] }),

  promised("GET /project", project, [200], false, { query: ["projectId"] }),
  promised("PUT /project", project, [200], false, { query: ["projectId"], body: PROJECT }),
  promised("POST /project/llm/test", project, [200], false, { query: ["projectId"], body: ["llm"] }),
  promised("POST /projects", admin, [201], true, { body: PROJECT, required: ["name"] }),
  promised("GET /projects", admin, [200], false, { query: PAGE }),
  promised("GET /projects/{}", admin, [200], false),
  promised("PUT /projects/{}", admin, [200], false, { body: PROJECT }),
  promised("DELETE /projects/{}", admin, [204], false),
  promised("GET /embedders", project, [200], false),
  promised("GET /project/embedder", project, [200], false, { query: ["projectId"] }),
  promised("GET /project/vector-index", project, [200], false, { query: ["projectId"] }),
  promised("PUT /projects/{}/embedder", admin, [202], false, { body: ["model"], required: ["model"] }),
  promised("DELETE /projects/{}/embedder", admin, [204], false),
  promised("DELETE /projects/{}/embedder/previous", admin, [204], false),
  promised("GET /installed-models", admin, [200], false, { query: [...PAGE, "task"] }),
  promised("POST /installed-models", admin, [201, 202], false, { body: ["source", "remote", "sha256", "id"] }),
  promised("GET /installed-models/{}", admin, [200], false),
  promised("DELETE /installed-models/{}", admin, [204], false),
  promised("POST /installed-models/{}/retry", admin, [202], false),
  promised("POST /installed-models/{}/test", admin, [200], false),
  promised("POST /installed-models/{}/calibrate", admin, [202], false, { body: ["projectId"] }),
  promised("DELETE /installed-models/{}/calibrate", admin, [204], false),
  promised("PUT /projects/{}/reranker", admin, [200], false, { body: ["model"], required: ["model"] }),
  promised("GET /project/activity", ["usage", false], [200], false, { query: ["step", "from", "to"] }),
  promised("GET /usage", ["usage", false], [200], false),

  promised("GET /system", admin, [200], false, { name: "getSystem" }),
  promised("POST /cases", project, [201], true, {
    body: ["query", "userId", "mode", "expected"],
    required: ["query", "expected"],
  }),
  promised("GET /cases", project, [200], false, { query: PAGE }),
  promised("DELETE /cases/{}", project, [204], false),
  promised("POST /cases/runs", project, [202], true, { body: ["modes"] }),
  promised("GET /cases/runs", project, [200], false, { query: PAGE }),
  promised("GET /cases/runs/{}", project, [200], false),

  promised("POST /webhooks", webhooks, [201], true, { body: WEBHOOK, required: ["url", "events"] }),
  promised("GET /webhooks", webhooks, [200], false, { query: PAGE }),
  promised("GET /webhooks/{}", webhooks, [200], false),
  promised("PUT /webhooks/{}", webhooks, [200], false, { body: WEBHOOK }),
  promised("DELETE /webhooks/{}", webhooks, [204], false),
  promised("POST /webhooks/{}/test", webhooks, [202], true),
  promised("POST /webhooks/{}/rotate-secret", webhooks, [200], false),
  promised("GET /webhooks/{}/deliveries", webhooks, [200], false, { query: PAGE }),
  promised("POST /webhooks/{}/deliveries/{}/redeliver", webhooks, [202], true),
];

/** Groups of operations that share a rate-limit window. */
export const SAME_WINDOW: readonly (readonly string[])[] = [["POST /memories/search", "GET /memories/search"]];

/** Name of a route in these tests, such as `GET /memories/{}`. */
export function routeOf({ method, path }: Pick<Promised, "method" | "path">): string {
  return `${method} ${path}`;
}

/** Whether a key with these scopes may call an operation that requires `scope`. */
export function allows(scopes: readonly Scope[], scope: Scope | null): boolean {
  if (scope === null) return true;
  if (scopes.includes(scope)) return true;
  if (scope === "admin") return false;
  // the scope admin includes the scopes keys and project, for every project
  return scopes.includes("*") || (scopes.includes("admin") && (scope === "keys" || scope === "project"));
}

/** Fields of each kind of resource in answers, optional fields included. */
export const RESOURCES: Readonly<Record<string, readonly string[]>> = {
  Memory: [
    ...["id", "status", "content", "title", "type", "tags", "metadata", ...SCOPE, "created_at", "updated_at"],
    ...[
      "language",
      "externalId",
      "expires_at",
      "occurred_at",
      "occurred_at_given",
      "source",
      "error",
      "progress",
      "chunk_count",
      "parts",
      "extraction",
      "superseded_by",
      "relations",
    ],
  ],
  SearchResult: ["id", "content", "score", "memory_id", "metadata", "explain", "cited", "citation", "answer_spans"],
  SearchResults: ["results", "total_results", "explain"],
  QueryResult: ["answer", "answer_state", "evidence", "sources", "usage"],
  Chat: ["id", ...SCOPE, "title", "created_at"],
  Message: ["id", "role", "content", "sources", "answer_state", "created_at", "interrupted", "failure"],
  User: ["id", "name", "email", "metadata", "time_zone", "created_at"],
  Event: ["id", "userId", "type", "data", "created_at"],
  Profile: [...["userId", "generated_at", "facts", "preferences", "people", "events", "text", "tokens", "omitted"]],
  ProfileEntry: ["text", "memory_id", "start", "end", "occurred_at"],
  ProfilePerson: ["name", "text", "memory_id", "start", "end", "occurred_at"],
  Key: [
    "id",
    "projectId",
    "name",
    "scopes",
    "userId",
    "expires_at",
    "last_used_at",
    "last_client",
    "created_at",
    "redacted",
  ],
  ListedProject: [
    ...[
      "id",
      "name",
      "plan",
      "llm",
      "smart_ingestion",
      "retention_days",
      "min_evidence",
      "default_mode",
      "superseding",
    ],
    ...["ocr", "time_zone", "keep_files", "vector_index", "reranker", "created_at"],
    ...["documents", "storage_bytes", "last_used_at"],
  ],
  Project: [
    "id",
    "name",
    "plan",
    "llm",
    "smart_ingestion",
    "retention_days",
    "min_evidence",
    "default_mode",
    "superseding",
    "ocr",
    "time_zone",
    "keep_files",
    "vector_index",
    "reranker",
    "created_at",
  ],
  Embedder: ["id", "dimensions", "languages", "is_default"],
  ProjectEmbedder: ["projectId", "model", "previous", "change"],
  VectorIndex: ["setting", "active", "build"],
  Entity: ["id", "name", "kind", "memories"],
  EntitySurroundings: ["id", "name", "kind", "memories", "neighbours", "passages"],
  EntityPath: ["entities", "links"],
  MemoryMap: ["state", "computed_at", "total", "points"],
  MapPoint: ["memory_id", "x", "y", "type", "userId", "created_at", "is_superseded"],
  Activity: ["step", "data"],
  ActivityPoint: [
    ...["at", "stored", "deleted", "failed", "queue", "answered", "partial", "not_found"],
    ...["searches", "p50_ms", "p95_ms"],
  ],
  Usage: ["plan", "period", "queries", "documents", "storage_bytes", "tokens"],
  System: [
    ...[
      "version",
      "started_at",
      "threads",
      "lanes",
      "warnings",
      "queue",
      "last_minute",
      "last_hour",
      "stores",
      "disk",
      "memory",
    ],
    "nodes",
    "last_backup_at",
  ],
  Case: ["id", "query", "userId", "mode", "expected", "created_at"],
  CaseRun: [
    ...["id", "modes", "setup", "status", "done", "skipped", "total", "error", "results", "created_at", "updated_at"],
  ],
  Webhook: ["id", "url", "events", "description", "enabled", "created_at"],
  Delivery: ["id", "webhook_id", "event", "status", "attempts", "created_at", "next_attempt_at"],
  Model: ["id", "object", "created", "owned_by", "mneme"],
  ModelList: ["object", "data"],
  Embeddings: ["object", "data", "model", "usage"],
  ChatCompletion: ["id", "object", "created", "model", "choices", "usage", "mneme"],
  ChatCompletionChunk: ["id", "object", "created", "model", "choices", "usage", "mneme"],
  ErrorBody: ["code", "message", "status", "param", "request_id", "retry_after_seconds", "items"],
};

/** Every error code, by status. */
export const CODES: Readonly<Record<number, readonly string[]>> = {
  400: [
    ...["invalid_request", "invalid_filter", "invalid_cursor", "too_many_tags", "metadata_too_large"],
    ...["batch_too_large", "webhook_limit_reached", "unsafe_url"],
  ],
  401: ["missing_api_key", "invalid_api_key"],
  403: ["insufficient_scope"],
  404: [
    ...["not_found", "memory_not_found", "chat_not_found", "user_not_found", "webhook_not_found", "job_not_found"],
    ...["relation_not_found", "entity_not_found", "file_not_found", "case_not_found", "run_not_found"],
    ...["delivery_not_found", "key_not_found", "project_not_found", "model_not_found"],
  ],
  405: ["method_not_allowed"],
  409: ["idempotency_conflict", "external_id_conflict", "invalid_state"],
  413: ["payload_too_large"],
  415: ["unsupported_media_type"],
  416: ["range_not_satisfiable"],
  422: ["fetch_failed"],
  429: ["rate_limit_exceeded", "query_quota_exceeded", "document_quota_exceeded", "storage_quota_exceeded"],
  500: ["internal_error"],
  502: ["llm_error"],
  503: ["overloaded", "unavailable", "model_unavailable"],
  504: ["llm_timeout"],
};
