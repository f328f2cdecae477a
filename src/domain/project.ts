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

/** Language model settings of a project. If a setting is null, the operator's configuration applies. */
export interface LlmSettings {
  readonly base_url: string | null;
  readonly model: string | null;
  /** API key of the language model. It is never returned by the API, and is deleted when the address changes. */
  readonly api_key: string | null;
  /** Whether an admin chose the address. Then any address is allowed; otherwise it must be public at every call. */
  readonly is_address_trusted: boolean;
  readonly temperature: number | null;
  readonly max_output_tokens: number | null;
}

/** Settings that a project's owner can change. The names are those of the API, because they are stored as received. */
export interface ProjectSettings {
  readonly llm: LlmSettings;
  readonly smart_ingestion: {
    readonly enabled: boolean;
    /** Maximum number of tokens per day; null means unlimited. */
    readonly daily_token_limit: number | null;
  };
  /** Number of days for which the texts of deleted memories are kept. */
  readonly retention_days: number;
  /**
   * Score in 0..1. If the best result has a lower score, there is no evidence for an answer. null: the default of the
   * model of the project's index for the mode of the search (`RetrievalTuning.evidenceMin`). 0: a question is answered
   * whatever was found.
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
}

/** Settings of a new project. */
export const DEFAULT_SETTINGS: ProjectSettings = {
  llm: {
    base_url: null,
    model: null,
    api_key: null,
    is_address_trusted: false,
    temperature: null,
    max_output_tokens: null,
  },
  smart_ingestion: { enabled: true, daily_token_limit: null },
  retention_days: 30,
  min_evidence: null,
  default_mode: "balanced",
  superseding: "on",
  ocr: "auto",
  time_zone: null,
  keep_files: false,
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
export type ProjectInForce = Project & { readonly settings: { readonly min_evidence: number } };

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
