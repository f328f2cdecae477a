// The routes of mem0's API that its clients call, under /compat/mem0. Each calls operations of Mneme's API with the
// caller's key.

import { type Operations, ofMemory } from "../../api/operation-calls.ts";
import type { ProtocolCall, ProtocolEndpoint, Settled } from "../../api/protocol-endpoint.ts";
import { COMPATIBLE_PREFIX } from "../../api/routes.ts";
import { Fault } from "../../domain/fault.ts";
import type { MemoryId } from "../../domain/ids.ts";
import { LIMITS } from "../../domain/limits.ts";
import type { Clock } from "../../kit/clock.ts";
import type { JsonRecord } from "../../kit/record.ts";
import { shortened } from "../../kit/shortened.ts";
import { addMemories, entitiesOf, expiryOf, occurredAt, ownMetadata, requireEntity } from "./adding.ts";
import { bodyOfQuery, withEntitiesInFilters } from "./earlier.ts";
import { entitiesIn, mnemeFilterOf, type Selection } from "./filters.ts";
import { matching } from "./listing.ts";
import {
  booleanField,
  DETAILS,
  ENTITY_NAMES,
  type Entities,
  fieldsOf,
  given,
  numberField,
  objectField,
  textField,
  textsField,
  wrong,
} from "./names.ts";
import { entityView, historyView, mem0Memory, metadataOf, resultView } from "./views.ts";

/** What the endpoints need besides operations. */
export interface Mem0Dependencies {
  readonly settled: Settled;
  readonly clock: Clock;
}

/** What a route gets. */
interface Mem0Call extends Omit<ProtocolCall, "operations"> {
  readonly operations: Operations;
  /** Query parameters. */
  readonly query: JsonRecord;
}

type Run = (call: Mem0Call) => Promise<unknown>;
/** A route whose answer has items. */
type RunList = (call: Mem0Call) => Promise<{ readonly results: readonly JsonRecord[] }>;

const BASE = `${COMPATIBLE_PREFIX}mem0`;
/** Maximum time that `add` waits for its memories to be searchable, in milliseconds. */
const SEARCHABLE_TIMEOUT_MS = 10_000;
/** Maximum time to wait for the deletion of many memories, and the polling interval, in milliseconds. */
const DELETED_TIMEOUT_MS = 30_000;
const JOB_POLL_MS = 100;
const PAGE_ITEMS_DEFAULT = 100;
const PAGE_ITEMS_MAX = 1_000;
const RESULTS_DEFAULT = 10;
/** Maximum number of memories in a batch. */
const BATCH_MAX = 100;
/** Maximum number of users that are listed. */
const USERS_MAX = 10_000;
/** Parameters that some clients add to every request. They have no effect, because the key determines the project. */
const EVERYWHERE = ["org_id", "project_id", "org_name", "project_name"] as const;

/** The endpoints of mem0's API. */
export function mem0Endpoints(parts: Mem0Dependencies): readonly ProtocolEndpoint[] {
  const reads = (path: string, name: string, run: Run) => endpoint("GET", path, name, false, run);
  const posts = (path: string, name: string, run: Run) => endpoint("POST", path, name, true, run);
  return [
    reads("/v1/ping/", "ping", ping),
    posts("/v3/memories/add/", "add", (call) => add(call, parts)),
    posts("/v3/memories/search/", "search", search),
    posts("/v3/memories/", "getAll", getAll),
    // routes of earlier clients, which expect lists without an envelope
    posts("/v1/memories/", "add", async (call) => (await add(call, parts)).results),
    ...["v1", "v2"].map((version) => posts(`/${version}/memories/search/`, "search", earlierSearch)),
    posts("/v2/memories/", "getAll", (call) => earlierList({ ...call, body: withEntitiesInFilters(call.body) })),
    reads("/v1/memories/", "getAll", ({ query: { page, page_size, ...rest }, ...call }) => {
      const pages = Object.fromEntries(Object.entries({ page, page_size }).filter(([, value]) => value !== undefined));
      return earlierList({ ...call, query: pages, body: bodyOfQuery(rest) });
    }),
    endpoint("DELETE", "/v1/memories/", "deleteAll", false, (call) => deleteAll(call, parts)),
    reads("/v1/memories/:id/", "get", async ({ operations, params, query }) => {
      fieldsOf(query, EVERYWHERE);
      return mem0Memory(await operations.call("getMemory", ofMemory(params.id ?? "")));
    }),
    endpoint("PUT", "/v1/memories/:id/", "update", true, ({ operations, params, body, query }) => {
      fieldsOf(query, EVERYWHERE);
      return update(operations, params.id ?? "", body, ["text", "metadata", "timestamp", "expiration_date"]);
    }),
    endpoint("DELETE", "/v1/memories/:id/", "delete", false, async ({ operations, params, query }) => {
      // older versions of a memory, which `delete_linked` is about, do not exist here
      fieldsOf(query, ["delete_linked", ...EVERYWHERE]);
      await operations.call("deleteMemory", ofMemory(params.id ?? ""));
      return { message: "Memory deleted successfully!" };
    }),
    reads("/v1/memories/:id/history/", "history", async ({ operations, params, query }) => {
      fieldsOf(query, EVERYWHERE);
      const memory = await operations.call("getMemory", ofMemory(params.id ?? ""));
      return historyView(memory, await textsOf(operations, params.id ?? ""));
    }),
    endpoint("PUT", "/v1/batch/", "batchUpdate", true, batchUpdate),
    endpoint("DELETE", "/v1/batch/", "batchDelete", true, batchDelete),
    reads("/v1/entities/", "entities", entities),
    ...["v1", "v2"].map((version) =>
      endpoint("DELETE", `/${version}/entities/:type/:id/`, "deleteEntity", false, (call) => deleteEntity(call, parts)),
    ),
  ];
}

/** The texts of a memory, newest first. */
async function textsOf(operations: Operations, id: string): Promise<readonly JsonRecord[]> {
  const texts: JsonRecord[] = [];
  for (let cursor: unknown; cursor !== null; ) {
    const query = { limit: LIMITS.pageItems, ...(cursor !== undefined && { cursor }) };
    const page = await operations.call("getMemoryHistory", { ...ofMemory(id), query });
    texts.push(...(page.data as JsonRecord[]).filter(({ kind }) => kind === "text"));
    cursor = page.cursor;
  }
  return texts;
}

function endpoint(
  method: ProtocolEndpoint["method"],
  path: string,
  name: string,
  takesBody: boolean,
  run: Run,
): ProtocolEndpoint {
  return {
    ...{ method, path: BASE + path, name: `mem0.${name}`, takesBody },
    answer: async (call) => {
      const query = queryOf(call.request);
      return Response.json(await run({ ...call, query, operations: call.operations(call.request.signal) }));
    },
  };
}

/** The query parameters. @throws Fault `invalid_request` if one is given twice: only one of the values would count */
function queryOf(request: Request): JsonRecord {
  const query: Record<string, string> = {};
  for (const [name, value] of new URL(request.url).searchParams) {
    if (Object.hasOwn(query, name)) {
      throw new Fault("invalid_request", `'${shortened(name)}' is given twice.`, { param: name });
    }
    Object.defineProperty(query, name, { value, enumerable: true });
  }
  return query;
}

const ping: Run = async ({ principal, query }) => {
  fieldsOf(query, EVERYWHERE);
  return { status: "ok", org_id: "mneme", project_id: principal.projectId, user_email: null };
};

async function add({ body, principal, operations, request }: Mem0Call, { settled }: Mem0Dependencies) {
  const { memories, errors } = await addMemories(body, principal, operations);
  const deadline = performance.now() + SEARCHABLE_TIMEOUT_MS;
  let isSearchable = true;
  for (const { id } of memories) {
    const leftMs = Math.max(0, deadline - performance.now());
    const memory = await settled(principal, id as MemoryId, leftMs, request.signal);
    if (memory?.state.status !== "completed") isSearchable = false;
  }
  const results = memories.map(({ id, content }) => ({ id, event: "ADD", memory: content, data: { memory: content } }));
  return {
    message: isSearchable ? "The memories are stored and searchable." : "The memories are stored, and searchable soon.",
    status: isSearchable ? "SUCCEEDED" : "PENDING",
    event_id: memories[0]?.id ?? null,
    results,
    ...(errors.length > 0 && { errors }),
  };
}

const SEARCH_FIELDS = [
  ...["query", "filters", "top_k", "limit", "rerank", "threshold", "fields", "categories", "metadata"],
  ...["show_expired", "reference_date", "latest_only", "keyword_search"],
] as const;
const SEARCH_IGNORED = ["output_format", "version", "enable_graph", "source", ...EVERYWHERE] as const;

const search: RunList = async ({ body, principal, operations }) => {
  const fields = fieldsOf(body, SEARCH_FIELDS, SEARCH_IGNORED);
  const wanted = numberField(fields, "top_k", 1, LIMITS.searchResults, true);
  const limit = wanted ?? numberField(fields, "limit", 1, LIMITS.searchResults, true) ?? RESULTS_DEFAULT;
  const reranks = booleanField(fields, "rerank");
  const threshold = numberField(fields, "threshold", 0, 1, false);
  const reference = given(fields, "reference_date");
  booleanField(fields, "latest_only"); // there are no older versions
  const found = await operations.call("searchMemories", {
    body: {
      query: textField(fields, "query") ?? "",
      filters: selectionOf(fields, requiredFilters(fields, principal)).filter,
      // several passages can be of one memory
      limit: Math.min(LIMITS.searchResults, limit * 4),
      ...(reranks !== undefined && { mode: reranks ? "balanced" : "hybrid" }),
      ...(booleanField(fields, "keyword_search") === true && reranks !== true && { mode: "hybrid" }),
      ...(threshold !== undefined && { min_score: threshold }),
      ...(reference !== undefined && { asOf: occurredAt(reference) }),
    },
  });
  const best = new Map<unknown, JsonRecord>();
  for (const result of found.results as readonly JsonRecord[]) {
    if (!best.has(result.memory_id)) best.set(result.memory_id, result);
  }
  return { results: picked([...best.values()].slice(0, limit).map(resultView), fields) };
};

const LIST_FIELDS = [
  "filters",
  "start_date",
  "end_date",
  "categories",
  "show_expired",
  "latest_only",
  "fields",
] as const;

const getAll: RunList = async ({ body, principal, operations, query, request }) => {
  const fields = fieldsOf(body, LIST_FIELDS, SEARCH_IGNORED);
  const asked = fieldsOf(query, ["page", "page_size"], EVERYWHERE);
  const page = countOf(asked, "page", 1, Number.MAX_SAFE_INTEGER);
  const size = countOf(asked, "page_size", PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX);
  booleanField(fields, "latest_only"); // there are no older versions
  const selection = selectionOf(fields, requiredFilters(fields, principal));
  const results: JsonRecord[] = [];
  let count = 0;
  for await (const memory of matching(selection, operations)) {
    if (count >= (page - 1) * size && results.length < size) results.push(mem0Memory(memory));
    count++;
  }
  return { ...paged(request, page, size, count), results: picked(results, fields) };
};

const earlierSearch: Run = async (call) => (await search({ ...call, body: withEntitiesInFilters(call.body) })).results;

/** A list is an envelope only if a page is asked for. */
const earlierList: Run = async (call) => {
  const page = await getAll(call);
  return Object.keys(call.query).length > 0 ? page : page.results;
};

/** Filters as mem0 requires them: without any, a request would see everybody's memories. */
function requiredFilters(fields: JsonRecord, principal: Mem0Call["principal"]): JsonRecord {
  const filters = objectField(fields, "filters") ?? {};
  if (Object.keys(filters).length > 0 || principal.userId !== null) return filters;
  throw new Fault("invalid_request", `'filters' is required, such as {"user_id": "ada"}.`, { param: "filters" });
}

/** What a request asks for: its filters, and the conditions that it has beside them. */
function selectionOf(fields: JsonRecord, filters: JsonRecord): Selection {
  if (booleanField(fields, "show_expired") === true) {
    throw new Fault("invalid_request", "Expired memories are deleted: 'show_expired' cannot be true.", {
      param: "show_expired",
    });
  }
  const [from, to] = [textField(fields, "start_date"), textField(fields, "end_date")];
  const [categories, metadata] = [textsField(fields, "categories"), objectField(fields, "metadata")];
  const parts = [
    mnemeFilterOf(filters),
    ...(from === undefined ? [] : [{ created_at: { $gte: from } }]),
    ...(to === undefined ? [] : [{ created_at: { $lte: to } }]),
    ...(categories === undefined ? [] : [{ tags: { $in: categories } }]),
    ...(metadata === undefined ? [] : [mnemeFilterOf({ metadata }, "body")]),
  ];
  return { filter: { $and: parts }, entities: entitiesIn(filters) };
}

/** Only the asked fields of each item; the id always. */
function picked(items: readonly JsonRecord[], fields: JsonRecord): readonly JsonRecord[] {
  const names = textsField(fields, "fields");
  if (names === undefined) return items;
  return items.map((item) =>
    Object.fromEntries(Object.entries(item).filter(([name]) => name === "id" || names.includes(name))),
  );
}

function paged(request: Request, page: number, size: number, count: number) {
  const linkTo = (number: number) => {
    const url = new URL(request.url);
    url.searchParams.set("page", String(number));
    url.searchParams.set("page_size", String(size));
    return url.href;
  };
  return {
    count,
    next: page * size < count ? linkTo(page + 1) : null,
    previous: page > 1 && count > 0 ? linkTo(page - 1) : null,
  };
}

/** A positive whole number in the query. */
function countOf(query: JsonRecord, name: string, byDefault: number, max: number): number {
  const text = given(query, name);
  if (text === undefined) return byDefault;
  const value = typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= max) return value;
  throw wrong(name, max === Number.MAX_SAFE_INTEGER ? "a positive integer" : `an integer from 1 to ${max}`);
}

async function update(
  operations: Operations,
  id: string,
  body: unknown,
  known: readonly string[],
): Promise<JsonRecord> {
  const fields = fieldsOf(body, known);
  const memory = ofMemory(id);
  const [text, metadata] = [textField(fields, "text"), ownMetadata(fields)];
  const timestamp = given(fields, "timestamp");
  const hasExpiry = Object.hasOwn(fields, "expiration_date");
  // `metadata` of a request replaces the caller's part only
  const details =
    metadata === undefined ? {} : metadataOf((await operations.call("getMemory", memory)).metadata).details;
  const change = {
    ...(text !== undefined && { content: text }),
    ...(metadata !== undefined && {
      metadata: { ...metadata, ...(Object.keys(details).length > 0 && { [DETAILS]: details }) },
    }),
    ...(timestamp !== undefined && { occurred_at: occurredAt(timestamp) }),
    ...(hasExpiry && { expires_at: fields.expiration_date === null ? null : expiryOf(fields.expiration_date) }),
  };
  return mem0Memory(await operations.call("updateMemory", { ...memory, body: change }));
}

const batchUpdate: Run = async ({ body, operations }) => {
  const items = batchOf(body);
  // all ids are checked before anything changes
  const ids = items.map((item) => textField(item, "memory_id") ?? "");
  for (const id of ids) await operations.call("getMemory", ofMemory(id));
  for (const [at, item] of items.entries()) {
    const { memory_id: _, ...change } = item;
    await update(operations, ids[at] ?? "", change, ["text", "metadata"]);
  }
  return { message: `Successfully updated ${items.length} memories` };
};

const batchDelete: Run = async ({ body, operations }) => {
  const ids = batchOf(body).map((item) => textField(item, "memory_id") ?? "");
  for (const id of ids) await operations.call("getMemory", ofMemory(id));
  for (const id of new Set(ids)) await operations.call("deleteMemory", ofMemory(id));
  return { message: `Successfully deleted ${ids.length} memories` };
};

function batchOf(body: unknown): readonly JsonRecord[] {
  const list = given(fieldsOf(body, ["memories"]), "memories");
  if (!Array.isArray(list) || list.length === 0 || list.length > BATCH_MAX) {
    throw wrong("memories", `a list of 1 to ${BATCH_MAX} memories`);
  }
  return list.map((item: unknown) => fieldsOf(item, ["memory_id", "text", "metadata"]));
}

async function deleteAll(
  { query, principal, operations, request }: Mem0Call,
  { clock }: Mem0Dependencies,
): Promise<unknown> {
  const named = entitiesOf(fieldsOf(query, ENTITY_NAMES, EVERYWHERE));
  requireEntity(named, principal);
  const { isDone } = await deleteOf(named, principal, operations, clock, request.signal);
  return { message: isDone ? "Memories deleted successfully!" : "The memories are being deleted." };
}

/** Deletes the memories of entities, or of a confined key's user. Waits up to DELETED_TIMEOUT_MS for the end. */
async function deleteOf(
  entities: Entities,
  { userId }: Mem0Call["principal"],
  operations: Operations,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly matched: number; readonly isDone: boolean }> {
  const asked = {
    ...(userId !== null && { userId }),
    ...(isEmpty(entities) ? {} : { filters: mnemeFilterOf(entities) }),
  };
  let job = await operations.call("deleteMemories", { body: asked });
  const deadline = clock.now() + DELETED_TIMEOUT_MS;
  while (job.status === "processing" && clock.now() < deadline) {
    await clock.sleep(JOB_POLL_MS, signal);
    job = await operations.call("getJob", { params: { id: String(job.id) } });
  }
  if (job.status === "failed") {
    throw new Fault(
      "internal_error",
      "The memories could not all be deleted. Try again: what is deleted stays deleted.",
    );
  }
  return { matched: Number(job.matched), isDone: job.status === "completed" };
}

const entities: Run = async ({ query, operations, request }) => {
  const asked = fieldsOf(query, ["page", "page_size"], EVERYWHERE);
  const page = countOf(asked, "page", 1, Number.MAX_SAFE_INTEGER);
  const size = countOf(asked, "page_size", PAGE_ITEMS_DEFAULT, PAGE_ITEMS_MAX);
  const users: JsonRecord[] = [];
  let cursor: string | null = null;
  do {
    const list: JsonRecord = await operations.call("listUsers", { query: { limit: LIMITS.pageItems, cursor } });
    users.push(...(list.data as readonly JsonRecord[]));
    cursor = list.has_more === true ? (list.cursor as string) : null;
    if (cursor !== null && users.length >= USERS_MAX) {
      throw new Fault(
        "invalid_request",
        `There are more than ${USERS_MAX} users. List them with GET /v1/users of Mneme.`,
      );
    }
  } while (cursor !== null);
  const results = users.slice((page - 1) * size, page * size).map(entityView);
  return { ...paged(request, page, size, users.length), results };
};

async function deleteEntity({ params, query, principal, operations, request }: Mem0Call, { clock }: Mem0Dependencies) {
  fieldsOf(query, EVERYWHERE);
  const { type = "", id = "" } = params;
  const name = ENTITY_NAMES.find((known) => known === `${type}_id`);
  if (name === undefined) throw wrong("type", "user, agent, app or run");
  if (name === "user_id") {
    await operations.call("deleteUser", { params: { userId: id }, query: { cascade: true } });
  } else {
    const { matched } = await deleteOf({ [name]: id }, principal, operations, clock, request.signal);
    if (matched === 0) throw new Fault("not_found", `No memory belongs to this ${type}.`, { param: "id" });
  }
  return { message: "Entity deleted successfully!" };
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0;
}
