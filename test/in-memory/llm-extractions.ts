// LlmExtractionStore in memory.

import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { LlmUsage } from "../../src/ports/language-model.ts";
import type {
  Fact,
  LlmExtraction,
  LlmExtractionStore,
  PreviousExtraction,
} from "../../src/ports/llm-extraction-store.ts";
import { countUsage } from "./accounts.ts";
import { update } from "./memory-row.ts";
import { openProject } from "./projects.ts";
import { jsonCopy, keyOf, type Session, type Synchronous } from "./session.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** LlmExtractionStore in memory. */
export class InMemoryLlmExtractions implements Synchronous<LlmExtractionStore> {
  constructor(private readonly session: Session) {}

  previous({ memory }: Job): PreviousExtraction | null {
    const row = this.session.tables.memories.get(memory.key);
    const kept = row?.llmExtraction ?? null;
    if (row === undefined || kept === null) return null;
    const isOfContent = kept.extraction !== null && kept.contentHash === row.contentHash;
    return isOfContent || kept.version === memory.version ? { extraction: kept.extraction } : null;
  }

  keep({ memory }: Job, extraction: LlmExtraction | null): void {
    const row = this.session.tables.memories.get(memory.key);
    if (row === undefined || row.version !== memory.version) return;
    const { version, contentHash } = row;
    update(this.session, row, {
      llmExtraction: { version, contentHash, extraction: extraction === null ? null : jsonCopy(extraction) },
    });
  }

  facts(memoryKey: MemoryKey): readonly Fact[] {
    const row = this.session.tables.memories.get(memoryKey);
    return row?.llmExtraction?.contentHash === row?.contentHash ? (row?.llmExtraction?.extraction?.facts ?? []) : [];
  }

  countTokens({ projectId }: Job, { prompt, completion }: LlmUsage): void {
    countUsage(this.session, projectId, { queries: 0, prompt, completion });
    if (openProject(this.session, projectId) === null) return;
    const tokens = this.tokensToday(projectId) + prompt + completion;
    this.session.tables.days.set(this.#today(projectId), { projectId, tokens });
  }

  tokensToday(projectId: ProjectId): number {
    if (openProject(this.session, projectId) === null) return 0;
    return this.session.tables.days.get(this.#today(projectId))?.tokens ?? 0;
  }

  #today(projectId: ProjectId): string {
    return keyOf(projectId, Math.floor(this.session.now / DAY_MS));
  }
}
