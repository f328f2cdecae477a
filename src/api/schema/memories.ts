// Requests and answers of /v1/memories.

import { type Static, Type } from "@sinclair/typebox";
import { ANSWER_STATES } from "../../domain/answer-state.ts";
import { CALIBRATIONS } from "../../domain/calibration.ts";
import type { JsonObject } from "../../domain/json.ts";
import { LIMITS } from "../../domain/limits.ts";
import { OCR_MODES } from "../../domain/memory.ts";
import { SIGNAL_NAMES } from "../../domain/signals.ts";
import { MEMORY_ORDERS } from "../../ports/memory-store.ts";
import { Content, Text } from "../check.ts";
import {
  formAttributes,
  givenAttributes,
  resultAttributes,
  scopeFields,
  scopeParameters,
  shownAttributes,
} from "./attributes.ts";
import { ErrorBody } from "./errors.ts";
import {
  AskedTimeZone,
  AsOf,
  Body,
  CallerId,
  Filters,
  Instructions,
  KnownAt,
  ListOf,
  MaxSources,
  Mode,
  Nullable,
  OneOf,
  Optional,
  paging,
  Query,
  QueryWith,
  Time,
} from "./fields.ts";
import { Relation } from "./relations.ts";

const STATUSES = ["processing", "completed", "failed"] as const;
const Status = OneOf(STATUSES);

/** Body of createMemory, and an item of batchCreate; `null` counts as absent. */
export const CreateMemory = Body({
  content: Content({ minLength: 1, description: "the text to store" }),
  ...givenAttributes,
});
/** A checked body of createMemory. */
export type CreateMemory = Static<typeof CreateMemory>;

const OF_PICTURES = "whether text in pictures and scanned pages is read; default: the project's setting `ocr`";

/** Body of createMemoryFromUrl; `null` counts as absent. */
export const CreateMemoryFromUrl = Body({
  url: Text({
    minLength: 1,
    maxLength: LIMITS.webhookUrlCharacters,
    description: "http or https URL of a page or file; the formats are those of uploads",
  }),
  ocr: Optional(OneOf(OCR_MODES, OF_PICTURES)),
  ...givenAttributes,
});

/** Body of updateMemory; `null` clears a field. */
export const UpdateMemory = Body({
  content: Type.Optional(Content({ minLength: 1, description: "a new text; the memory is processed again" })),
  ...givenAttributes,
});
/** A checked body of updateMemory. */
export type UpdateMemory = Static<typeof UpdateMemory>;

/** Body of batchCreate. Each item is checked on its own, so that an invalid item does not affect the others. */
export const BatchCreate = Body({
  memories: Type.Array(Type.Unknown(), {
    minItems: 1,
    description: `1 to ${LIMITS.memoriesPerBatch} bodies of createMemory`,
  }),
});

/** Form fields of uploadMemory. `tags` and `metadata` are JSON, sent as text. */
export const UploadFields = Body({
  ...formAttributes,
  // web forms send every field, so an empty one counts as absent
  ocr: Type.Optional(OneOf([...OCR_MODES, ""], OF_PICTURES)),
});

const selected = {
  status: Status,
  type: Text({ minLength: 1, maxLength: LIMITS.typeCharacters }),
  ...scopeParameters,
  tag: Text({ minLength: 1, maxLength: LIMITS.tagCharacters }),
  q: Text({ minLength: 1, maxLength: LIMITS.titleCharacters, description: "part of the title, case-insensitive" }),
  superseded: Type.Boolean({ description: "true: only memories with `superseded_by`; false: only those without" }),
  knownAt: KnownAt,
  container: Text({ minLength: 1, maxLength: 64, description: "mem_… of a file that contains files: its parts" }),
};
/** Filters as a query parameter. */
export const FiltersAsText = Text({ description: "the filters as JSON" });

/** Query parameters of listMemories. */
export const ListMemories = Query({
  ...paging,
  ...selected,
  order: OneOf(MEMORY_ORDERS, "by the time at which the memories were stored; default `newest`"),
});

/** Query parameters of countMemories. */
export const CountMemories = Query({ ...selected, filters: FiltersAsText });

/** Answer of countMemories. */
export const MemoryCount = Type.Object({ count: Type.Integer() }, { $id: "MemoryCount" });

/** Body of retryMemories. */
export const RetryMemories = Body({ userId: Optional(CallerId) });

/** Answer of retryMemories. */
export const RetriedMemories = Type.Object(
  { retried: Type.Integer({ description: "number of memories that are processed again" }) },
  { $id: "RetriedMemories" },
);

/** Query parameters of getMemory. */
export const GetMemory = Query({ knownAt: KnownAt });

/** Query parameters of deleteMemory. */
export const DeleteMemory = Query({
  purge: Type.Boolean({
    default: false,
    description: "true: remove the memory permanently at once, without retention",
  }),
});

const search = {
  limit: Type.Integer({ minimum: 1, maximum: LIMITS.searchResults, default: LIMITS.searchResultsDefault }),
  ...scopeParameters,
  includeGraph: Type.Boolean({ default: false, description: "adds neighbours from the knowledge graph" }),
  mode: Mode,
  min_score: Type.Number({ minimum: 0, maximum: 1, description: "results with a lower score are left out" }),
  explain: Type.Boolean({ default: false, description: "true: adds the signals and stages behind the ranking" }),
  asOf: AsOf,
  knownAt: KnownAt,
  time_zone: AskedTimeZone,
};
const QueryText = Text({ minLength: 1, maxLength: LIMITS.queryCharacters });

/** Body of searchMemories. */
export const SearchMemories = Body({
  query: QueryText,
  limit: Optional(search.limit),
  ...scopeFields,
  filters: Type.Optional(Filters),
  includeGraph: Optional(search.includeGraph),
  mode: Optional(search.mode),
  min_score: Optional(search.min_score),
  explain: Optional(search.explain),
  asOf: Optional(AsOf),
  knownAt: Optional(KnownAt),
  time_zone: Optional(AskedTimeZone),
});
/** A checked body of searchMemories. */
export type SearchMemories = Static<typeof SearchMemories>;

/** Query parameters of searchMemoriesByUrl. */
export const SearchMemoriesQuery = QueryWith({ query: QueryText }, { ...search, filters: FiltersAsText });

/** Body of queryMemories. */
export const QueryMemories = Body({
  query: QueryText,
  stream: Optional(Type.Boolean({ default: false, description: "true: Server-Sent Events" })),
  mode: Optional(Mode),
  maxSources: Optional(MaxSources),
  instructions: Optional(Instructions),
  ...scopeFields,
  filters: Type.Optional(Filters),
  includeGraph: Optional(search.includeGraph),
  asOf: Optional(AsOf),
  knownAt: Optional(KnownAt),
  time_zone: Optional(AskedTimeZone),
  model: Optional(Text({ minLength: 1, maxLength: LIMITS.nameCharacters })),
});

/** A memory. */
export const Memory = Type.Object(
  {
    id: Text({ description: "mem_…" }),
    status: Status,
    content: Text(),
    ...shownAttributes,
    source: Nullable(
      Type.Object({
        filename: Text(),
        media_type: Text(),
        bytes: Type.Integer(),
        url: Type.Optional(Text({ description: "URL from which the server fetched it" })),
        container: Type.Optional(Text({ description: "mem_… of the file that the file was in" })),
        path: Type.Optional(Text({ description: "path of the file in its container" })),
        warnings: Type.Optional(
          Type.Unsafe<readonly string[]>(
            Type.Array(Text(), {
              description: `what was not read, and why; at most ${LIMITS.warningsPerMemory} sentences`,
              maxItems: LIMITS.warningsPerMemory,
            }),
          ),
        ),
        is_kept: Type.Boolean({ description: "whether the file itself is kept, for getMemoryFile" }),
      }),
    ),
    parts: Type.Optional(
      Type.Object(
        { total: Type.Integer(), completed: Type.Integer(), failed: Type.Integer() },
        { description: "memories of the files in a ZIP, MBOX or message with attachments" },
      ),
    ),
    chunk_count: Type.Optional(Type.Integer({ description: "present when completed" })),
    extraction: Type.Optional(
      OneOf(["llm", "local", "caller"], "source of title, type, tags and language; present when completed"),
    ),
    relations: Type.Optional(
      Type.Array(Relation, {
        description: "with other memories, newest first, at most 100; present only in the answer of getMemory",
      }),
    ),
    error: Type.Optional(
      Type.Object(
        { code: OneOf(["unreadable_document", "processing_error"]), message: Text() },
        { description: "present when failed" },
      ),
    ),
    progress: Type.Optional(
      Type.Object(
        {
          stage: Text(),
          chunks_done: Type.Integer(),
          chunks_total: Nullable(Type.Integer()),
          pages_done: Type.Optional(Type.Integer({ description: "while a PDF is read" })),
          pages_total: Type.Optional(Type.Integer({ description: "while a PDF is read" })),
          note: Type.Optional(
            Text({ description: "why no language model is used for extraction, if one is configured" }),
          ),
        },
        { description: "present while processing" },
      ),
    ),
  },
  { $id: "Memory" },
);
/** The bytes of a file. */
export const FileContent = Type.Unsafe<Uint8Array>(
  Type.String({ format: "binary", contentMediaType: "application/octet-stream" }),
);
/** A Memory without its content, as webhooks receive it. */
export const MemoryWithoutContent = Type.Omit(Memory, ["content", "parts", "relations"], {
  $id: "MemoryWithoutContent",
});
/** One page of memories. */
export const MemoryList = ListOf("MemoryList", Memory);

/** Answer of batchCreate. */
export const BatchResult = Type.Object(
  {
    data: Type.Array(
      Type.Union([
        Type.Object({
          index: Type.Integer(),
          outcome: OneOf(
            ["created", "rewritten", "updated", "unchanged"],
            "a known `externalId` makes it `rewritten` with new content, `updated` with new attributes only, and " +
              "`unchanged` if the memory has all of them already",
          ),
          memory: Memory,
        }),
        Type.Object({ index: Type.Integer(), error: ErrorBody }),
      ]),
    ),
    accepted: Type.Integer(),
    failed: Type.Integer(),
  },
  { $id: "BatchResult" },
);

const Texts = Type.Unsafe<readonly string[]>(Type.Array(Text()));
const ResultMemory = Type.Object(
  // a chat keeps the sources of its messages as they were, also those of a version without some attributes
  resultAttributes,
  { $id: "ResultMemory", description: "other attributes of the memory" },
);
const ResultChunk = Type.Object(
  {
    ordinal: Type.Integer({ description: "number of the passage in the memory, from 0" }),
    start: Type.Integer({ description: "of the passage in the memory's content, in code points" }),
    end: Type.Integer({ description: "behind the passage" }),
    headings: Type.Optional(Texts),
    page: Type.Optional(Type.Integer({ description: "page of a PDF, from 1" })),
    slide: Type.Optional(Type.Integer({ description: "slide of a presentation, from 1" })),
    sheet: Type.Optional(Text({ description: "sheet of a spreadsheet" })),
    cells: Type.Optional(Text({ description: "range of cells of the sheet, such as `B2:D14`" })),
    line: Type.Optional(Type.Integer({ description: "first line of the passage in a text file, from 1" })),
    line_end: Type.Optional(Type.Integer({ description: "its last line" })),
    from_seconds: Type.Optional(
      Type.Number({ description: "where the passage begins in the recording that subtitles belong to" }),
    ),
    to_seconds: Type.Optional(Type.Number({ description: "where it ends" })),
    symbol: Type.Optional(Text({ description: "function, class or other definition of source code" })),
    ocr_confidence: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "how sure the text is; only where it was recognised in a picture",
      }),
    ),
    speaker: Type.Optional(Nullable(Text({ description: "speaker of a conversation's turn" }))),
    date: Type.Optional(Nullable(Text({ description: "date of a conversation's turn" }))),
    superseded_by: Type.Optional(
      Text({ description: "mem_… of the memory that supersedes the passage, if its memory has several" }),
    ),
    standing: Type.Optional(
      OneOf(
        ["instruction", "preference"],
        "the passage holds beyond its subject: how answers shall be, or what its author likes",
      ),
    ),
  },
  { $id: "ResultChunk", description: "place of the passage" },
);
const ResultMetadata = Type.Object(
  { _memory: ResultMemory, _chunk: ResultChunk },
  { $id: "ResultMetadata", description: "metadata of the memory, plus two fields", additionalProperties: true },
);
/** `metadata` of a SearchResult. */
export type ResultMetadata = JsonObject & Readonly<Static<typeof ResultMetadata>>;

const Signal = Type.Object({ rank: Type.Integer(), score: Type.Number() });

function keysTo<Name extends string, Value>(names: readonly Name[], value: Value): { readonly [Key in Name]: Value } {
  return Object.fromEntries(names.map((name) => [name, value])) as { readonly [Key in Name]: Value };
}

/** A passage that a search found. */
export const SearchResult = Type.Object(
  {
    id: Text({ description: "chunk_…" }),
    content: Text({ description: "the passage" }),
    score: Type.Number({ minimum: 0, maximum: 1 }),
    memory_id: Text(),
    metadata: Type.Unsafe<ResultMetadata>(ResultMetadata),
    cited: Type.Optional(
      Type.Boolean({ description: "only in the sources of an answer: whether the answer cites this passage" }),
    ),
    citation: Type.Optional(
      Type.Integer({
        description:
          "only in cited sources: their number in the answer, as in `[2]`. It stays when a chat no longer has other sources, because they were deleted",
      }),
    ),
    answer_spans: Type.Optional(
      Type.Array(
        Type.Object({
          start: Type.Integer({ minimum: 0 }),
          end: Type.Integer({ minimum: 0 }),
          score: Type.Number({ minimum: 0, maximum: 1 }),
        }),
        {
          maxItems: 3,
          description:
            "words of `content` that answer, in code points, in order; empty: it was read, and none answer; absent: it was not read",
        },
      ),
    ),
    explain: Type.Optional(
      Type.Object({
        signals: Type.Object({
          ...keysTo(SIGNAL_NAMES, Type.Optional(Signal)),
          graph: Type.Optional(Type.Object({ rank: Type.Integer(), score: Type.Number(), path: Type.Array(Text()) })),
        }),
        fused_rank: Type.Integer(),
        superseded_by: Type.Optional(Text({ description: "mem_… of the newest memory that supersedes this passage" })),
      }),
    ),
  },
  { $id: "SearchResult" },
);

/** How probable it is that the results hold what was asked for; part of answers and of explained searches. */
export const Evidence = Nullable(
  Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      "probability that one of the passages found answers the question; null if there are none. `min_evidence` is compared with it",
  }),
);

/** Answer of searchMemories. */
export const SearchResults = Type.Object(
  {
    results: Type.Array(SearchResult),
    total_results: Type.Integer(),
    explain: Type.Optional(
      Type.Object({
        mode: Mode,
        stages: Type.Array(
          Type.Object({
            name: Text(),
            ms: Type.Number(),
            candidates: Type.Integer(),
            skipped: Type.Optional(
              Type.Integer({ description: "`rerank`, `read`: passages that were not read when the deadline passed." }),
            ),
          }),
        ),
        admissible: Type.Integer({ description: "memories that the key, the user and the filters admit" }),
        asOf: Time,
        evidence: Evidence,
        calibration: OneOf(CALIBRATIONS, "where the curves of the scores come from; `none`: they are no probabilities"),
        uncalibrated: Type.Optional(
          Type.Boolean({ description: "true: the models have no curves, so scores are no probabilities" }),
        ),
        degraded: Type.Optional(
          OneOf(
            ["embedder_unavailable"],
            "why only words were searched for: the server of the remote embedding model does not answer",
          ),
        ),
        time: Type.Optional(
          Type.Object(
            { from: Nullable(Time), to: Nullable(Time), expression: Text() },
            { description: "the time that the query names, end exclusive; passages of this time gain score" },
          ),
        ),
      }),
    ),
  },
  { $id: "SearchResults" },
);

/** Number of tokens that an answer used. */
export const TokensUsed = Type.Object({
  tokens_used: Type.Integer({ minimum: 0, description: "by the language model; 0 if none was used" }),
});
/** Whether an answer has what was asked for. Older servers do not say. */
export const AnswerState = Type.Optional(
  OneOf(
    ANSWER_STATES,
    "`partial`: nothing stored answers a part of the question, and the answer says which; `not_found`: nothing stored answers it, and `sources` has only what the answer cites",
  ),
);
/** Answer of queryMemories. */
export const QueryResult = Type.Object(
  {
    answer: Text(),
    answer_state: AnswerState,
    evidence: Type.Optional(Evidence),
    sources: Type.Array(SearchResult),
    usage: TokensUsed,
  },
  { $id: "QueryResult" },
);
