// RetirementStore in memory.

import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { RetiredMemory, RetirementStore } from "../../src/ports/retirement-store.ts";
import { eraseMemory, recordExpiry, unrecordedExpiries, update } from "./memory-row.ts";
import { openProject } from "./projects.ts";
import type { MemoryRow, Session, Synchronous } from "./session.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** RetirementStore in memory. */
export class InMemoryRetirement implements Synchronous<RetirementStore> {
  constructor(private readonly session: Session) {}

  retired(limit: number, except: readonly ProjectId[] = []): readonly RetiredMemory[] {
    recordExpiry(this.session, unrecordedExpiries(this.session).slice(0, limit));
    return this.session.tables.memories
      .rows(
        ({ deletedAt, isRetracted, projectId }) =>
          deletedAt !== null &&
          !isRetracted &&
          !except.includes(projectId) &&
          openProject(this.session, projectId) !== null,
      )
      .sort((a, b) => (a.deletedAt ?? 0) - (b.deletedAt ?? 0))
      .slice(0, limit)
      .map(({ projectId, key: memoryKey }) => ({ projectId, memoryKey }));
  }

  markRetracted(keys: readonly MemoryKey[]): void {
    for (const row of this.#deleted(keys)) update(this.session, row, { isRetracted: true });
  }

  purgeable(limit: number): readonly MemoryKey[] {
    const { tables, now } = this.session;
    return tables.memories
      .rows((row) => {
        const { deletedAt, isRetracted, isPurgeAsked, projectId } = row;
        if (deletedAt === null || !isRetracted) return false;
        const days = tables.projects.get(projectId)?.project.settings.retention_days ?? 0;
        return isPurgeAsked || deletedAt < now - days * DAY_MS;
      })
      .slice(0, limit)
      .map(({ key }) => key);
  }

  erase(keys: readonly MemoryKey[]): readonly string[] {
    const erased = this.#deleted(keys).filter(({ isRetracted }) => isRetracted);
    for (const row of erased) eraseMemory(this.session, row);
    return erased.flatMap(({ file }) => file ?? []);
  }

  eraseTraces(): boolean {
    return true;
  }

  #deleted(keys: readonly MemoryKey[]): MemoryRow[] {
    const asked = new Set(keys);
    return this.session.tables.memories.rows(({ key, deletedAt }) => asked.has(key) && deletedAt !== null);
  }
}
