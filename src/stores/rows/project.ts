// Converts rows of the table `projects`.

import { type Fault, invariant } from "../../domain/fault.ts";
import type { ProjectId } from "../../domain/ids.ts";
import {
  completeLlm,
  DEFAULT_SETTINGS,
  PLANS,
  type Plan,
  type Project,
  type ProjectSettings,
  type ProjectUse,
  type Usage,
} from "../../domain/project.ts";
import { quotaRefusal, type StoredAmount } from "../../domain/quota.ts";

/** The default project when it is created. */
export const DEFAULT_PROJECT: Pick<Project, "name" | "plan" | "settings"> = {
  name: "default",
  plan: "enterprise",
  settings: DEFAULT_SETTINGS,
};

/** The columns of a ProjectRow, for SELECT and RETURNING. */
export const PROJECT_COLUMNS = "project_key, id, name, plan, settings, is_default, created_at";

/** A row of `projects`. */
export interface ProjectRow {
  readonly project_key: bigint;
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly settings: string;
  readonly is_default: bigint;
  readonly created_at: bigint;
}

/** Converts a row to a Project. */
export function toProject(row: ProjectRow): Project {
  return {
    id: row.id as ProjectId,
    name: row.name,
    plan: row.plan as Plan,
    settings: toSettings(JSON.parse(row.settings) as Partial<ProjectSettings>),
    isDefault: row.is_default === 1n,
    createdAt: Number(row.created_at),
  };
}

// A setting that did not exist yet when the row was written gets its default.
function toSettings(stored: Partial<ProjectSettings>): ProjectSettings {
  return {
    ...DEFAULT_SETTINGS,
    ...stored,
    llm: completeLlm(stored.llm ?? {}),
    smart_ingestion: { ...DEFAULT_SETTINGS.smart_ingestion, ...stored.smart_ingestion },
  };
}

/** The columns of `ProjectUseRow`, besides those of the project. */
export const PROJECT_USE_COLUMNS = `documents, storage_bytes, (SELECT max(last_used_at) FROM api_keys
    WHERE api_keys.project_key = projects.project_key) AS last_used_at`;

/** A row of `projects` with how much the project has stored, and when it was last called. */
export interface ProjectUseRow extends ProjectRow {
  readonly documents: bigint;
  readonly storage_bytes: bigint;
  readonly last_used_at: bigint | null;
}

/** Converts a row to a Project and how it is used. */
export function toUsedProject(row: ProjectUseRow): Project & ProjectUse {
  return {
    ...toProject(row),
    documents: Number(row.documents),
    storageBytes: Number(row.storage_bytes),
    lastUsedAt: row.last_used_at === null ? null : Number(row.last_used_at),
  };
}

/** What a project uses: columns of `projects` and of one month. */
export interface UsageRow {
  readonly plan: string;
  readonly documents: bigint;
  readonly storage_bytes: bigint;
  readonly queries: bigint | null;
  readonly prompt_tokens: bigint | null;
  readonly completion_tokens: bigint | null;
}

/** Converts a row to a Usage. */
export function toUsage(row: UsageRow, period: Usage["period"]): Usage {
  return {
    plan: row.plan as Plan,
    period,
    queries: Number(row.queries ?? 0n),
    documents: Number(row.documents),
    storageBytes: Number(row.storage_bytes),
    tokens: { prompt: Number(row.prompt_tokens ?? 0n), completion: Number(row.completion_tokens ?? 0n) },
  };
}

/** What a project has stored, and its plan. */
export type UsedRow = Pick<UsageRow, "plan" | "documents" | "storage_bytes">;

/** The Fault of a change by `growth` that would exceed the quotas of a project's plan, otherwise null. */
export function refusalOf(projectKey: bigint, used: UsedRow | null, growth: StoredAmount): Fault | null {
  invariant(
    used !== null && Object.hasOwn(PLANS, used.plan),
    `project ${projectKey} has the unknown plan "${used?.plan}"`,
  );
  const stored = { documents: Number(used.documents), bytes: Number(used.storage_bytes) };
  return quotaRefusal(used.plan as Plan, stored, growth);
}
