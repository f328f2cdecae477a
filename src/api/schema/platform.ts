// Requests and answers of keys, projects and usage.

import { Type } from "@sinclair/typebox";
import { LIMITS } from "../../domain/limits.ts";
import { OCR_MODES } from "../../domain/memory.ts";
import { LLM_FALLBACKS_MAX, LLM_PROVIDERS, PLAN_NAMES, SUPERSEDING, VECTOR_INDEXES } from "../../domain/project.ts";
import { MODE_NAMES } from "../../domain/ranking.ts";
import { KEY_SCOPES } from "../../domain/scope.ts";
import { MODEL_CHANGE_STATES } from "../../ports/project-model-store.ts";
import { Text } from "../check.ts";
import {
  Body,
  CallerId,
  described,
  FutureTime,
  ListOf,
  Nullable,
  OneOf,
  Optional,
  paging,
  Query,
  Time,
  TimeZone,
} from "./fields.ts";

const Name = Text({ minLength: 1, maxLength: LIMITS.nameCharacters });
const Id = Text({ minLength: 1, maxLength: 64 });
const Scopes = Type.Array(OneOf(KEY_SCOPES), { minItems: 1, maxItems: KEY_SCOPES.length, uniqueItems: true });
const Expiry = FutureTime("ISO 8601; from then on the key is invalid");

/** Body of createKey. */
export const CreateKey = Body({
  name: Name,
  scopes: Scopes,
  userId: Optional(CallerId),
  expires_at: Optional(Expiry),
  projectId: Optional(Id),
});
/** Query parameter of operations that can concern another project than that of the key. */
export const OfProject = Query({
  projectId: Text({ ...Id, description: "another project; requires the scope `admin`" }),
});
/** Query parameters of listKeys. */
export const ListKeys = Query({ ...paging, ...OfProject.properties });
/** Body of updateKey; null removes the expiry. */
export const UpdateKey = Body({
  name: Type.Optional(Name),
  scopes: Type.Optional(Scopes),
  expires_at: Optional(Expiry),
});
/** Body of rotateKey. */
export const RotateKey = Body({
  grace_seconds: Optional(
    Type.Integer({
      minimum: 0,
      maximum: LIMITS.graceSeconds,
      default: 0,
      description: "how long the old secret stays valid",
    }),
  ),
});

const keyFields = {
  id: Text({ description: "key_…" }),
  projectId: Text(),
  name: Text(),
  scopes: Type.Array(OneOf(KEY_SCOPES)),
  userId: Nullable(Text({ description: "the only user whose data the key can access; null: all users" })),
  expires_at: Nullable(Time),
  last_used_at: Nullable(Time),
  last_client: Nullable(
    Text({ description: "what used the key last: the first product of the `User-Agent`, such as `curl/8.9.1`" }),
  ),
  created_at: Time,
  redacted: Text({ description: "first and last characters of the secret" }),
};
/** A key without its secret. */
export const Key = Type.Object(keyFields, { $id: "Key" });
/** A key with its secret, as only the creation and the rotation of a key return it. */
export const KeyWithSecret = Type.Object(
  {
    ...keyFields,
    key: Type.Optional(Text({ description: "ctx_…, shown only once" })),
  },
  { $id: "KeyWithSecret" },
);
/** The key of the request, and what it may do. */
export const CurrentKey = Type.Object(
  {
    ...keyFields,
    allowed_scopes: Type.Array(OneOf(KEY_SCOPES), {
      description: "all that the key may do: its scopes, and those that they include",
    }),
    project: Type.Object(
      { id: Text({ description: "prj_…" }), name: Text(), plan: OneOf(PLAN_NAMES) },
      { description: "the project of the key" },
    ),
  },
  { $id: "CurrentKey" },
);
/** One page of keys. */
export const KeyList = ListOf("KeyList", Key);

const TokenLimit = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const llmModel = {
  provider: Optional(OneOf(LLM_PROVIDERS, "protocol of `base_url`; default `openai`")),
  base_url: Optional(
    Text({
      minLength: 1,
      maxLength: LIMITS.webhookUrlCharacters,
      description:
        "such as `https://api.example.com/v1` (openai) or `http://127.0.0.1:11434` (ollama); anthropic and gemini have a default; null: the operator's service",
    }),
  ),
  model: Optional(Name),
  api_key: Optional(Text({ minLength: 1, maxLength: 1_024, description: "never part of an answer" })),
  temperature: Optional(Type.Number({ minimum: 0, maximum: 2 })),
  max_output_tokens: Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  monthly_token_limit: Optional({
    ...TokenLimit,
    description:
      "maximum number of tokens that the project uses per calendar month (UTC). Once it is reached, the model is not called: answers fail with `llm_error`, and ingestion extracts locally. null: unlimited",
  }),
};
const Llm = Body({
  ...llmModel,
  vision: Optional(
    Type.Boolean({
      description:
        "whether the models see pictures: then they describe those of files, at most 20 per file, within `daily_token_limit`; default false",
    }),
  ),
  fallbacks: Optional(
    Type.Array(Body(llmModel), {
      maxItems: LLM_FALLBACKS_MAX,
      description:
        "models that are called in order while the first one fails. The list replaces the one before; without `api_key`, a fallback keeps the key that it had at the same address",
    }),
  ),
});
const settings = {
  name: Type.Optional(Name),
  plan: Type.Optional(OneOf(PLAN_NAMES, "only a key with the scope `admin` can set it")),
  llm: Optional(Llm),
  smart_ingestion: Type.Optional(
    Body({
      enabled: Type.Optional(Type.Boolean()),
      daily_token_limit: Optional(TokenLimit),
    }),
  ),
  retention_days: Type.Optional(Type.Integer({ minimum: 0, maximum: LIMITS.retentionDays })),
  min_evidence: Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        "a question with less `evidence` is not answered; 0: every question with a result is answered; " +
        "null: the calibrated default of the embedding model for the mode of the search",
    }),
  ),
  default_mode: Optional(
    OneOf(MODE_NAMES, "mode of searches, queries and chat messages that name none; default `balanced`"),
  ),
  superseding: Optional(
    OneOf(
      SUPERSEDING,
      "whether relations of memories are found: `off`: none, and those that were found have no effect; `suggest`: as suggestions; `on` (default)",
    ),
  ),
  ocr: Optional(
    OneOf(
      OCR_MODES,
      "whether text in pictures and scanned pages of files is read, unless an upload says otherwise: `auto` (default), `off`",
    ),
  ),
  time_zone: Optional(
    TimeZone("IANA name, such as `Europe/Zurich`: the zone of the days of users that have none; null: UTC"),
  ),
  keep_files: Optional(
    Type.Boolean({
      description:
        "whether the originals of files that are uploaded or fetched from now on are kept, for getMemoryFile; they count in `storage_bytes`; default false",
    }),
  ),
  vector_index: Optional(
    OneOf(
      VECTOR_INDEXES,
      "how vectors are searched: `scan`: by a scan of all admissible ones; `hnsw`: by a graph that is built in the background; `auto` (default): by the graph from 1 million chunks on, or 5 million with models for which scans are fast. Results obey scopes and filters in each",
    ),
  ),
};
/** Body of createProject. */
export const CreateProject = Body({ ...settings, name: Name });
/**
 * Body of updateProject. A field that is absent stays unchanged, also inside `llm` and `smart_ingestion`; null resets
 * the field to its default.
 */
export const UpdateProject = Body(settings);

const llmModelFields = {
  provider: OneOf(LLM_PROVIDERS),
  base_url: Nullable(Text()),
  model: Nullable(Text()),
  temperature: Nullable(Type.Number()),
  max_output_tokens: Nullable(Type.Integer()),
  monthly_token_limit: Nullable(Type.Integer()),
};
const projectFields = {
  id: Text({ description: "prj_…" }),
  name: Text(),
  plan: OneOf(PLAN_NAMES),
  llm: Type.Object({ ...llmModelFields, vision: Type.Boolean(), fallbacks: Type.Array(Type.Object(llmModelFields)) }),
  smart_ingestion: Type.Object({ enabled: Type.Boolean(), daily_token_limit: Nullable(Type.Integer()) }),
  retention_days: Type.Integer(),
  min_evidence: Type.Number({
    description: "the number in force: that of the project, or the default of its embedding model for default_mode",
  }),
  default_mode: OneOf(MODE_NAMES),
  superseding: OneOf(SUPERSEDING),
  ocr: OneOf(OCR_MODES),
  time_zone: Nullable(Text()),
  keep_files: Type.Boolean(),
  vector_index: OneOf(VECTOR_INDEXES),
  reranker: Nullable(
    Text({ description: "id of the reranker that was chosen; null: the one that belongs to its embedding model" }),
  ),
  created_at: Time,
};
/** A project. */
export const Project = Type.Object(projectFields, { $id: "Project" });
/** A project with its first key, as only the creation of a project returns it. */
export const ProjectWithKey = Type.Object(
  {
    ...projectFields,
    key: Type.Optional(Text({ description: "first key of the project, with the scope `*`; shown only once" })),
  },
  { $id: "ProjectWithKey" },
);
const testedModel = {
  ok: Type.Boolean(),
  provider: OneOf(LLM_PROVIDERS),
  model: Nullable(Text({ description: "null: none is configured" })),
  ms: Type.Integer({ description: "duration of the call in milliseconds" }),
  message: Text({ description: "one sentence: that the model answered, or why it did not" }),
};
/** Body of testLanguageModel. */
export const TestLanguageModel = Body({
  llm: Type.Optional({
    ...Llm,
    description:
      "a change of the settings, as in updateProject, that is tested but not stored; default: the stored settings",
  }),
});
/** Answer of testLanguageModel: the result for a project's language model and for each fallback. */
export const LlmTest = Type.Object(
  { ...testedModel, fallbacks: Type.Array(Type.Object(testedModel)) },
  { $id: "LlmTest" },
);

/** A project with its use, as the list of projects has it. */
export const ListedProject = Type.Object(
  {
    ...projectFields,
    documents: Type.Integer({ description: "memories that are not deleted" }),
    storage_bytes: Type.Integer({ description: "total size of their content in UTF-8 bytes" }),
    last_used_at: Nullable(
      described(Time, "when one of its keys was last used, up to a minute late; null: none was used that still exists"),
    ),
  },
  { $id: "ListedProject" },
);
/** One page of projects. */
export const ProjectList = ListOf("ProjectList", ListedProject);
/** Query parameters of listProjects. */
export const ListProjects = Query(paging);

/** Body of changeProjectEmbedder. */
export const ChangeEmbedder = Body({ model: Name });
/** An installed embedding model. */
export const Embedder = Type.Object(
  {
    id: Text(),
    dimensions: Type.Integer(),
    languages: Type.Array(Text(), { description: "BCP 47" }),
    is_default: Type.Boolean({ description: "whether new projects get it" }),
  },
  { $id: "Embedder" },
);
/** The installed embedding models. */
export const EmbedderList = ListOf("EmbedderList", Embedder);
/** The embedding model of a project. */
export const ProjectEmbedder = Type.Object(
  {
    projectId: Text(),
    model: Nullable(Text({ description: "id of the model that searches use" })),
    previous: Nullable(Text({ description: "id of the model whose vectors are kept for a rollback" })),
    change: Nullable(
      Type.Object(
        {
          model: Text(),
          state: OneOf(MODEL_CHANGE_STATES),
          error: Nullable(Text({ description: "why it failed" })),
          chunks_done: Type.Integer(),
          chunks_total: Nullable(Type.Integer({ description: "null until the chunks were counted" })),
          started_at: Time,
          ended_at: Nullable(Time),
        },
        { description: "the last change; null if there was none" },
      ),
    ),
  },
  { $id: "ProjectEmbedder" },
);

/** How the vectors of a project are searched. */
export const VectorIndex = Type.Object(
  {
    setting: OneOf(VECTOR_INDEXES),
    active: OneOf(["scan", "hnsw"], "what answers searches at the moment; narrow filters are always scanned"),
    build: Nullable(
      Type.Object(
        {
          state: OneOf(["building", "failed"]),
          vectors_done: Type.Integer(),
          vectors_total: Type.Integer(),
          error: Nullable(Text({ description: "why it failed" })),
          started_at: Time,
        },
        { description: "the graph that is being built, or could not be built; null: neither" },
      ),
    ),
  },
  { $id: "VectorIndex" },
);

const quota = Type.Object({
  used: Type.Integer(),
  limit: Nullable(Type.Integer({ description: "null: unlimited" })),
  remaining: Nullable(Type.Integer()),
});
/** Usage of a project, compared with its plan. */
export const Usage = Type.Object(
  {
    plan: OneOf(PLAN_NAMES),
    period: Type.Object({ start: Time, end: Time }),
    queries: quota,
    documents: quota,
    storage_bytes: quota,
    tokens: Type.Object({ prompt: Type.Integer(), completion: Type.Integer() }),
  },
  { $id: "Usage" },
);
