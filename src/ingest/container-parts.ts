// Stores the files inside a container file as memories of their own. One transaction stores all of them and checks that
// the job of the container is still held. The container is published only after that, so a crash in between neither
// duplicates nor loses a part.

import { closeSync, openSync, readSync } from "node:fs";
import { Fault, invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Memory, MemoryDraft, ReceivedFile } from "../domain/memory.ts";
import type { PublishedMemories } from "../ports/chunk-index.ts";
import type { DocumentPart } from "../ports/document-reader.ts";
import type { Job } from "../ports/job-store.ts";
import type { ContainerPart, MemoryStore } from "../ports/memory-store.ts";
import type { Transactions } from "../ports/transactions.ts";
import type { UploadFiles } from "../ports/upload-files.ts";
import { LeaseLost } from "./outcome.ts";

/** Number of bytes that are copied at once. */
const COPY_BYTES = 1024 * 1024;

/** Dependencies of `ContainerParts`. */
export interface ContainerPartsDependencies {
  readonly memories: Pick<MemoryStore, "partsOf" | "unreferencedFiles">;
  readonly transactions: Transactions;
  readonly files: Pick<UploadFiles, "begin" | "keep" | "remove">;
  readonly index: Pick<PublishedMemories, "hide">;
  readonly leaseMs: number;
  readonly wake: () => void;
}

/** Stores the parts of containers. */
export class ContainerParts {
  constructor(private readonly uses: ContainerPartsDependencies) {}

  /**
   * Stores the parts of a file that was read, and removes those of an earlier content. Parts that an earlier attempt
   * has stored are kept.
   * @param path file with the bytes of the parts
   * @returns warnings for the parts that a quota of the plan has no room for
   * @throws LeaseLost if the job is no longer held
   */
  async store(job: Job, parts: readonly DocumentPart[], path: string): Promise<readonly string[]> {
    const { memories } = this.uses;
    const existing = await memories.partsOf(job.projectId, job.memory.id);
    if (existing.some(({ containerVersion }) => containerVersion === job.memory.version)) {
      const stored = new Set(existing.map((part) => part.path));
      return parts.filter((part) => !stored.has(part.path)).map((part) => beyondQuota(part.path));
    }
    if (parts.length === 0 && existing.length === 0) return [];
    const kept: ReceivedFile[] = [];
    try {
      for (const part of parts) kept.push(await this.#keep(job, part, path));
      return await this.#replace(job, existing, kept);
    } finally {
      const names = kept.map(({ file }) => file);
      for (const name of await memories.unreferencedFiles(names)) await this.uses.files.remove(name);
    }
  }

  /** Removes the parts of an earlier content, for a new content that is not a file. */
  async removeEarlier(job: Job): Promise<void> {
    if (job.memory.version > 1 && !job.isReindexed) await this.store(job, [], "");
  }

  async #replace(
    job: Job,
    existing: readonly ContainerPart[],
    kept: readonly ReceivedFile[],
  ): Promise<readonly string[]> {
    const { transactions, index, leaseMs, wake } = this.uses;
    const { projectId, memory } = job;
    return transactions.run(async (tx) => {
      if ((await tx.jobs.renew([job], leaseMs)).length === 0) throw new LeaseLost();
      const earlier = existing.map(({ key }) => key);
      const removed = earlier.length === 0 ? [] : await tx.memories.removeMany(projectId, earlier);
      // the container's user, agent or session may have changed since the job was claimed
      const current = (await tx.memories.get(projectId, memory.id)) ?? memory;
      const drafts = kept.map((upload): MemoryDraft => ({ ...inherited(current), content: "", upload }));
      const accepted = drafts.length === 0 ? [] : await tx.memories.accept(projectId, drafts);
      if (removed.length > 0) tx.afterCommit(() => index.hide(projectId, removed));
      tx.afterCommit(wake);
      return accepted.flatMap((outcome, at) => {
        if (!(outcome instanceof Fault)) return [];
        invariant(outcome.code.endsWith("_quota_exceeded"), `a part of ${memory.id} was refused: ${outcome.code}`);
        return [beyondQuota(kept[at]?.source?.path ?? "")];
      });
    });
  }

  /** Copies the bytes of a part into a kept file. */
  async #keep({ memory, upload }: Job, part: DocumentPart, path: string): Promise<ReceivedFile> {
    const incoming = await this.uses.files.begin();
    try {
      const source = openSync(path, "r");
      try {
        for (let done = 0; done < part.bytes; ) {
          const piece = Buffer.alloc(Math.min(COPY_BYTES, part.bytes - done));
          const read = readSync(source, piece, 0, piece.byteLength, part.at + done);
          invariant(read > 0, "the file with the parts of a container is complete");
          await incoming.write(piece.subarray(0, read));
          done += read;
        }
      } finally {
        closeSync(source);
      }
      await incoming.end();
      const file = await this.uses.files.keep(incoming.path);
      const place = { container: memory.id, path: part.path, container_version: memory.version };
      return {
        ...{ file, bytes: part.bytes, sha256: Buffer.from(part.sha256, "hex") },
        ...(upload?.ocr !== undefined && { ocr: upload.ocr }),
        source: { filename: part.filename, media_type: part.mediaType, bytes: part.bytes, ...place },
      };
    } catch (error) {
      await incoming.discard();
      throw error;
    }
  }
}

/** The attributes that parts have of their container: scope, tags that a caller gave, metadata and expiry. */
function inherited(container: Memory): Omit<MemoryDraft, "content"> {
  const { userId, agentId, sessionId, metadata, expiresAt, tags, given } = container;
  return {
    ...(userId !== null && { userId }),
    ...(agentId !== null && { agentId }),
    ...(sessionId !== null && { sessionId }),
    ...(metadata !== null && { metadata }),
    ...(expiresAt !== null && { expiresAt }),
    ...(tags !== null && given.includes("tags") && { tags }),
  };
}

function beyondQuota(path: string): string {
  const shown = [...path].slice(-LIMITS.filenameCharacters).join("");
  return `${shown} was not stored: it is beyond a quota of the plan.`;
}
