// LlmExtractionStore on SQLite: LLM extractions, and the tokens that ingestion used. In the table and its columns, an
// extraction is still called by its earlier name, "finding".

import type { MemoryKey, ProjectId } from "../../domain/ids.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Job } from "../../ports/job-store.ts";
import type { LlmUsage } from "../../ports/language-model.ts";
import type { Fact, LlmExtraction, LlmExtractionStore, PreviousExtraction } from "../../ports/llm-extraction-store.ts";
import { extractionFromJson, extractionToJson } from "../rows/llm-extraction.ts";
import { OPEN_PROJECT } from "../rows/sql.ts";
import type { SqliteDatabase } from "./database.ts";
import { countUsage } from "./usage-rows.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

// an extraction is valid for every version with the same content: indexing a memory again only gives it a new version
const PREVIOUS = `SELECT finding FROM memory_findings JOIN memories USING (memory_key)
  WHERE memory_key = $key AND (memory_findings.version = $version
    OR (finding IS NOT NULL AND memory_findings.content_sha256 = memories.content_sha256))`;
const OF_CONTENT = `SELECT finding FROM memory_findings JOIN memories USING (memory_key)
  WHERE memory_key = $key AND finding IS NOT NULL AND memory_findings.content_sha256 = memories.content_sha256`;
const KEEP = `INSERT INTO memory_findings (memory_key, version, content_sha256, finding)
  SELECT memory_key, version, content_sha256, $finding FROM memories WHERE memory_key = $key AND version = $version
  ON CONFLICT (memory_key) DO UPDATE SET version = excluded.version, content_sha256 = excluded.content_sha256,
    finding = excluded.finding`;
const COUNT_MEMORY = `UPDATE memories SET prompt_tokens = prompt_tokens + $prompt,
    completion_tokens = completion_tokens + $completion WHERE memory_key = $key`;
const COUNT_DAY = `INSERT INTO daily_ingestion_tokens (project_key, day_start, prompt_tokens, completion_tokens)
  SELECT project_key, $day, $prompt, $completion FROM projects WHERE id = $project AND deleted_at IS NULL
  ON CONFLICT (project_key, day_start) DO UPDATE SET prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens`;
const TODAY = `SELECT prompt_tokens + completion_tokens AS tokens FROM daily_ingestion_tokens
  WHERE project_key = ${OPEN_PROJECT} AND day_start = $day`;

/** LlmExtractionStore on SQLite. */
export class SqliteLlmExtractionStore implements LlmExtractionStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;

  constructor({ database, clock }: { readonly database: SqliteDatabase; readonly clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  previous({ memory: { key, version } }: Job): PreviousExtraction | null {
    const row = this.#database
      .prepare<{ finding: string | null }, { key: bigint; version: number }>(PREVIOUS)
      .get({ key, version });
    if (row === null) return null;
    return { extraction: row.finding === null ? null : extractionFromJson(row.finding) };
  }

  keep({ memory: { key, version } }: Job, extraction: LlmExtraction | null): void {
    this.#database
      .prepare<never, { key: bigint; version: number; finding: string | null }>(KEEP)
      .run({ key, version, finding: extractionToJson(extraction) });
  }

  facts(memoryKey: MemoryKey): readonly Fact[] {
    const row = this.#database.prepare<{ finding: string }, { key: bigint }>(OF_CONTENT).get({ key: memoryKey });
    return row === null ? [] : extractionFromJson(row.finding).facts;
  }

  countTokens({ memory, projectId }: Job, { prompt, completion }: LlmUsage): void {
    this.#database.transaction(() => {
      this.#database
        .prepare<never, { key: bigint; prompt: number; completion: number }>(COUNT_MEMORY)
        .run({ key: memory.key, prompt, completion });
      this.#database
        .prepare<never, { project: string; day: number; prompt: number; completion: number }>(COUNT_DAY)
        .run({ project: projectId, day: this.#today(), prompt, completion });
      countUsage(this.#database, projectId, this.#clock.now(), { queries: 0, prompt, completion });
    });
  }

  tokensToday(projectId: ProjectId): number {
    const row = this.#database
      .prepare<{ tokens: bigint }, { project: string; day: number }>(TODAY)
      .get({ project: projectId, day: this.#today() });
    return row === null ? 0 : Number(row.tokens);
  }

  // Number of the current day (UTC) since 1970. Days of Unix time have no leap seconds.
  #today(): number {
    return Math.floor(this.#clock.now() / DAY_MS) * DAY_MS;
  }
}
