// What a project is: its plan with the quotas that follow, and the settings that its owner can change.

import type { ProjectId } from "./ids.ts";

const MiB = 1024 * 1024;

/** What a plan allows; null: unlimited. */
export interface Quotas {
  /** Queries and chat messages per calendar month (UTC). */
  readonly queriesPerMonth: number | null;
  /** Memories that are not deleted. */
  readonly documents: number | null;
  /** UTF-8 bytes of the contents of those. */
  readonly storageBytes: number | null;
}

/** The interface's table of plan quotas. */
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

/** Which language model answers for a project; null where the operator's configuration decides. */
export interface LlmSettings {
  readonly base_url: string | null;
  readonly model: string | null;
  /** Never shown again once it is stored; forgotten when the address changes. */
  readonly api_key: string | null;
  /** Whether an admin chose the address: then it may be any; otherwise it must be public whenever it is called. */
  readonly is_address_trusted: boolean;
  readonly temperature: number | null;
  readonly max_output_tokens: number | null;
}

/** What a project's owner can change; the names are the interface's, because they are stored as they are sent. */
export interface ProjectSettings {
  readonly llm: LlmSettings;
  readonly smart_ingestion: {
    readonly enabled: boolean;
    /** null: no ceiling. */
    readonly daily_token_limit: number | null;
  };
  /** Days that deleted memories keep their texts. */
  readonly retention_days: number;
  /** 0..1: a best result below this is no evidence. */
  readonly min_evidence: number;
}

/** What a new project starts with. */
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
  min_evidence: 0,
};

/** A project as the stores hold it. */
export interface Project {
  readonly id: ProjectId;
  readonly name: string;
  readonly plan: Plan;
  readonly settings: ProjectSettings;
  /** The project that exists from the first start on; it cannot be deleted. */
  readonly isDefault: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
}

/** What changes in a project; absent fields stay. */
export interface ProjectChange {
  readonly name?: string;
  readonly plan?: Plan;
  readonly settings?: ProjectSettings;
}

/** How much of its quotas a project has used, and when the month began and ends. */
export interface Usage {
  readonly plan: Plan;
  /** Unix milliseconds: the first instants of this month and of the next, UTC. */
  readonly period: { readonly start: number; readonly end: number };
  readonly queries: number;
  readonly documents: number;
  readonly storageBytes: number;
  /** Language model tokens of this month. */
  readonly tokens: { readonly prompt: number; readonly completion: number };
}

/** The calendar month (UTC) that holds `nowMs`, as its first instant and the next month's, in Unix milliseconds. */
export function monthOf(nowMs: number): { readonly start: number; readonly end: number } {
  const now = new Date(nowMs);
  return {
    start: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1),
    end: Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1),
  };
}
