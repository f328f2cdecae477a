// Implements LlmExtractionStore: LLM extractions, and the tokens that ingestion used. In the table and its columns, an
// extraction is called "finding".

import type { MemoryKey, ProjectId } from "../domain/ids.ts";
import type { Job } from "../ports/job-store.ts";
import type { LlmUsage } from "../ports/language-model.ts";
import type { Fact, LlmExtraction, LlmExtractionStore, PreviousExtraction } from "../ports/llm-extraction-store.ts";
import type { StoreContext } from "./context.ts";
import type { Dialect } from "./dialect.ts";
import { extractionFromJson, extractionToJson } from "./rows/llm-extraction.ts";
import type { Session } from "./session.ts";
import { countIngestionTokens, readTokensOfDay } from "./usage-rows.ts";

// an extraction is valid for every version with the same content: indexing a memory again only gives it a new version
const PREVIOUS = ({ isIn }: Dialect) => `SELECT memory_key AS asked, finding, memory_findings.version,
    CAST(CASE WHEN memory_findings.content_sha256 = memories.content_sha256 THEN 1 ELSE 0 END AS bigint) AS is_of_content
  FROM memory_findings JOIN memories USING (memory_key) WHERE memory_key ${isIn("keys")}`;
const OF_CONTENT = `SELECT finding FROM memory_findings JOIN memories USING (memory_key)
  WHERE memory_key = $key AND finding IS NOT NULL AND memory_findings.content_sha256 = memories.content_sha256`;
const KEEP = `INSERT INTO memory_findings (memory_key, version, content_sha256, finding)
  SELECT memory_key, version, content_sha256, $finding FROM memories WHERE memory_key = $key AND version = $version
  ON CONFLICT (memory_key) DO UPDATE SET version = excluded.version, content_sha256 = excluded.content_sha256,
    finding = excluded.finding`;
const COUNT_MEMORY = `UPDATE memories SET prompt_tokens = prompt_tokens + $prompt,
    completion_tokens = completion_tokens + $completion WHERE memory_key = $key`;

type PreviousRow = { readonly finding: string | null; readonly version: bigint; readonly is_of_content: bigint };
type FindingRow = { readonly finding: string };

/** Extractions of language models, and the tokens that ingestion used. */
export class StoredExtractions implements LlmExtractionStore {
  constructor(
    private readonly session: Session,
    private readonly context: StoreContext,
  ) {}

  async previous({ memory: { key, version } }: Job): Promise<PreviousExtraction | null> {
    const row = await this.session.getShared<PreviousRow>(PREVIOUS, key);
    if (row === null) return null;
    if (row.finding === null) return row.version === BigInt(version) ? { extraction: null } : null;
    const isValid = row.is_of_content === 1n || row.version === BigInt(version);
    return isValid ? { extraction: extractionFromJson(row.finding) } : null;
  }

  async keep({ memory: { key, version } }: Job, extraction: LlmExtraction | null): Promise<void> {
    const finding = extractionToJson(extraction);
    await this.session.run(KEEP, { key, version, finding });
  }

  async facts(memoryKey: MemoryKey): Promise<readonly Fact[]> {
    const row = await this.session.get<FindingRow>(OF_CONTENT, { key: memoryKey });
    return row === null ? [] : extractionFromJson(row.finding).facts;
  }

  async countTokens({ memory, projectId }: Job, { prompt, completion }: LlmUsage): Promise<void> {
    await this.session.run(COUNT_MEMORY, { key: memory.key, prompt, completion });
    await countIngestionTokens(this.session, projectId, this.context.clock.now(), { prompt, completion });
  }

  async tokensToday(projectId: ProjectId): Promise<number> {
    return readTokensOfDay(this.session, projectId, this.context.clock.now());
  }
}
