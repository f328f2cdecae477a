// FindingStore in memory.

import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Asked, Finding, FindingStore, Relation } from "../../src/ports/finding-store.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { LlmUsage } from "../../src/ports/language-model.ts";
import { countUsage } from "./accounts.ts";
import { update } from "./memory-row.ts";
import { openProject } from "./projects.ts";
import { jsonCopy, keyOf, type Session } from "./session.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** FindingStore in memory. */
export class InMemoryFindings implements FindingStore {
  constructor(private readonly session: Session) {}

  asked({ memory }: Job): Asked | null {
    const row = this.session.tables.memories.get(memory.key);
    const kept = row?.finding ?? null;
    if (row === undefined || kept === null) return null;
    const isOfContent = kept.finding !== null && kept.contentHash === row.contentHash;
    return isOfContent || kept.version === memory.version ? { finding: kept.finding } : null;
  }

  keep({ memory }: Job, finding: Finding | null): void {
    const row = this.session.tables.memories.get(memory.key);
    if (row === undefined || row.version !== memory.version) return;
    const { version, contentHash } = row;
    update(this.session, row, {
      finding: { version, contentHash, finding: finding === null ? null : jsonCopy(finding) },
    });
  }

  relations(memoryKey: MemoryKey): readonly Relation[] {
    const row = this.session.tables.memories.get(memoryKey);
    return row?.finding?.contentHash === row?.contentHash ? (row?.finding?.finding?.relations ?? []) : [];
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
