// Projects: plans with their quotas, and the settings that the owner can change.

import type { ProjectId } from "./ids.ts";
import type { OcrMode } from "./memory.ts";
import type { ModeName } from "./ranking.ts";

const MiB = 1024 * 1024;

/** Quotas of a plan; null means unlimited. */
export interface Quotas {
  /** Maximum number of queries and chat messages per calendar month (UTC). */
  readonly queriesPerMonth: number | null;
  /** Maximum number of memories that are not deleted. */
  readonly documents: number | null;
  /** Maximum total size of the content of those memories, in UTF-8 bytes. */
  readonly storageBytes: number | null;
}

/** Quotas of every plan. */
export const PLANS = {
  free: { queriesPerMonth: 100, documents: 10, storageBytes: 50 * MiB },
  starter: { queriesPerMonth: 5_000, documents: 500, storageBytes: 500 * MiB },
  pro: { queriesPerMonth: 50_000, documents: 5_000, storageBytes: 5_120 * MiB },
  enterprise: { queriesPerMonth: null, documents: null, storageBytes: null },
} as const satisfies Readonly<Record<string, Quotas>>;

/** Name of a plan. */
export type Plan = keyof typeof PLANS;
/** Every plan, smallest first. */
export const PLAN_NAMES = Object.keys(PLANS) as readonly Plan[];

/** Whether relations of memories are found: not at all, only as suggestions, or with effect. */
export const SUPERSEDING = ["off", "suggest", "on"] as const;
/** Whether relations of memories are found. */
export type Superseding = (typeof SUPERSEDING)[number];

/** How vectors are searched: by a graph where the project is very large (auto), by a scan, or by a graph (HNSW). */
export const VECTOR_INDEXES = ["auto", "scan", "hnsw"] as const;
/** How vectors are searched. */
export type VectorIndexName = (typeof VECTOR_INDEXES)[number];

/** Protocols of language models. */
export const LLM_PROVIDERS = ["openai", "ollama", "anthropic", "gemini"] as const;
/** Protocol of a language model. `openai` is also spoken by many other services and servers. */
export type LlmProvider = (typeof LLM_PROVIDERS)[number];

/**
 * A language model as a project configures it. `llmOf` (language-model.ts) says what applies where a setting is null.
 */
export interface LlmModelSettings {
  /** Protocol of `base_url`. Without a `base_url`, the operator's protocol applies. */
  readonly provider: LlmProvider;
  readonly base_url: string | null;
  readonly model: string | null;
  /** API key of the language model. It is never returned by the API, and is deleted when the address changes. */
  readonly api_key: string | null;
  /** Whether an admin chose the address. Then any address is allowed; otherwise it must be public at every call. */
  readonly is_address_trusted: boolean;
  readonly temperature: number | null;
  readonly max_output_tokens: number | null;
  /**
   * Tokens per calendar month (UTC) after which the model is no longer called for the project; null means unlimited.
   * The limit of the first model applies to its fallbacks too.
   */
  readonly monthly_token_limit: number | null;
}

/** Maximum number of fallbacks. */
export const LLM_FALLBACKS_MAX = 3;

/** Language model settings of a project: the model, and those that are called in order while it fails. */
export interface LlmSettings extends LlmModelSettings {
  /** Whether the models see pictures, and describe those of files. */
  readonly vision: boolean;
  readonly fallbacks: readonly LlmModelSettings[];
}

/** Settings that a project's owner can change. The names are those of the API, because they are stored as received. */
export interface ProjectSettings {
  readonly llm: LlmSettings;
  readonly smart_ingestion: {
    readonly enabled: boolean;
    /** Maximum number of tokens per day; null means unlimited. */
    readonly daily_token_limit: number | null;
  };
  /** Number of days for which deleted memories and earlier states (texts and relations) are kept. */
  readonly retention_days: number;
  /**
   * Evidence, 0..1, below which a question is not answered. null: the default of the model of the project's index, or
   * of its reader, for the mode of the search (`Ranking.evidenceMin`). 0: a question is answered if anything was found.
   */
  readonly min_evidence: number | null;
  /** Mode of searches, queries and chat messages that name none. */
  readonly default_mode: ModeName;
  /** off: relations that no person set have no effect. */
  readonly superseding: Superseding;
  /** Whether text in pictures and scanned pages is read, unless the upload says otherwise. */
  readonly ocr: OcrMode;
  /** IANA name of the zone of users that have none of their own; null: UTC. */
  readonly time_zone: string | null;
  /** Whether the originals of uploaded files are kept. A change concerns files that are sent later. */
  readonly keep_files: boolean;
  /** How vectors are searched. Scopes and filters hold with each value. */
  readonly vector_index: VectorIndexName;
}

/** How much a project has stored, and when it was last called. */
export interface ProjectUse {
  /** Number of memories that are not deleted. */
  readonly documents: number;
  /** Total size of their content in UTF-8 bytes. */
  readonly storageBytes: number;
  /** When one of its keys was last used, in Unix milliseconds; null: never, or every key that was used is deleted. */
  readonly lastUsedAt: number | null;
}

/** Language model settings without keys, and without `is_address_trusted`, which only admins set. */
export type LlmSettingsWithoutKeys = Omit<LlmSettings, "api_key" | "is_address_trusted" | "fallbacks"> & {
  readonly fallbacks: readonly Omit<LlmModelSettings, "api_key" | "is_address_trusted">[];
};

/** The language model settings as projects see them. */
export function withoutKeys({ fallbacks, ...first }: LlmSettings): LlmSettingsWithoutKeys {
  const shown = <Settings extends LlmModelSettings>({ api_key, is_address_trusted, ...others }: Settings) => others;
  return { ...shown(first), fallbacks: fallbacks.map(shown) };
}

/**
 * Language model settings that were stored or exported, perhaps by an earlier version. What they lack gets its default.
 */
export function completeLlm(stored: PartialLlm): LlmSettings {
  const complete = (model: Partial<LlmModelSettings>) => ({ ...DEFAULT_LLM_MODEL, ...model });
  const vision = stored.vision === true;
  const fallbacks = Array.isArray(stored.fallbacks) ? stored.fallbacks.slice(0, LLM_FALLBACKS_MAX) : [];
  return { ...complete(stored), vision, fallbacks: fallbacks.map(complete) };
}

type PartialLlm = Partial<LlmModelSettings> & {
  readonly vision?: boolean;
  readonly fallbacks?: readonly Partial<LlmModelSettings>[];
};

/** A language model of which nothing is set. */
export const DEFAULT_LLM_MODEL: LlmModelSettings = {
  provider: "openai",
  base_url: null,
  model: null,
  api_key: null,
  is_address_trusted: false,
  temperature: null,
  max_output_tokens: null,
  monthly_token_limit: null,
};

/** Settings of a new project. */
export const DEFAULT_SETTINGS: ProjectSettings = {
  llm: { ...DEFAULT_LLM_MODEL, vision: false, fallbacks: [] },
  smart_ingestion: { enabled: true, daily_token_limit: null },
  retention_days: 30,
  min_evidence: null,
  default_mode: "balanced",
  superseding: "on",
  ocr: "auto",
  time_zone: null,
  keep_files: false,
  vector_index: "auto",
};

/** A stored project. */
export interface Project {
  readonly id: ProjectId;
  readonly name: string;
  readonly plan: Plan;
  readonly settings: ProjectSettings;
  /** Whether this is the project created at the first start. It cannot be deleted. */
  readonly isDefault: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** A project in which `min_evidence` is the number that is in force. */
export type ProjectInForce = Project & {
  readonly settings: { readonly min_evidence: number };
  /** Id of the reranker that was chosen; null: the one that belongs to its embedding model. */
  readonly reranker: string | null;
};

/** Changes to a project. A field that is absent stays unchanged. */
export interface ProjectChange {
  readonly name?: string;
  readonly plan?: Plan;
  readonly settings?: ProjectSettings;
}

/** How much of the quotas of its plan a project has used. */
export interface Usage {
  readonly plan: Plan;
  /** First instant of this month and of the next one, UTC, in Unix milliseconds. */
  readonly period: { readonly start: number; readonly end: number };
  readonly queries: number;
  readonly documents: number;
  readonly storageBytes: number;
  /** Number of language model tokens used this month. */
  readonly tokens: { readonly prompt: number; readonly completion: number };
}

/** Start of the calendar month (UTC) that contains `nowMs`, and start of the next one, in Unix milliseconds. */
export function monthOf(nowMs: number): { readonly start: number; readonly end: number } {
  const now = new Date(nowMs);
  return {
    start: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1),
    end: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
  };
}
