// Actions that the contracts about memories share, such as accept, claim and complete. They check their results.

import { Fault } from "../../src/domain/fault.ts";
import type { MemoryKey, ProjectId } from "../../src/domain/ids.ts";
import type { Extracted, Memory, MemoryDraft } from "../../src/domain/memory.ts";
import type { VisibleMemory } from "../../src/ports/chunk-index.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { Accepted, MemoryListing } from "../../src/ports/memory-store.ts";
import type { Stores } from "../../src/ports/transactions.ts";

/** The attributes that ingestion extracts in these tests. */
export const EXTRACTED: Extracted = { title: "Extracted", type: "note", tags: ["found"], language: "en" };
/** Duration of a job's lease in these tests. */
export const LEASE_MS = 60_000;

/** The draft of an uploaded file whose text has not been read yet. */
export function uploadDraft(file: string, bytes = 1_000, mediaType = "application/pdf"): MemoryDraft {
  const source = { filename: `${file}.pdf`, media_type: mediaType, bytes };
  return { content: "", upload: { file, bytes, sha256: new Uint8Array(32).fill(bytes % 256), source } };
}

/**
 * Creates actions on stores and a project. Each action calls `place` to get them, because every test opens new stores.
 */
export function memoryActions(place: () => { readonly stores: Stores; readonly project: ProjectId }) {
  const acceptAll = async (drafts: readonly MemoryDraft[], into?: ProjectId): Promise<readonly Accepted[]> => {
    const { stores, project } = place();
    return (await stores.memories.accept(into ?? project, drafts)).map((result) => {
      if (result instanceof Fault) throw result;
      return result;
    });
  };
  const accept = async (draft: Partial<MemoryDraft> = {}, into?: ProjectId): Promise<Accepted> => {
    const [accepted] = await acceptAll([{ content: "some text", ...draft }], into);
    if (accepted === undefined) throw new Error("nothing was accepted");
    return accepted;
  };
  const claim = async (jobs = 100): Promise<readonly Job[]> =>
    place().stores.jobs.claim({ jobs, contentBytes: 1e9, leaseMs: LEASE_MS });
  const claimOne = async (): Promise<Job> => {
    const [job] = await claim(1);
    if (job === undefined) throw new Error("no job was claimed");
    return job;
  };
  /** Claims all jobs and returns the job of one memory. */
  const claimJobOf = async (memory: Memory): Promise<Job> => {
    const job = (await claim()).find((candidate) => candidate.memory.key === memory.key);
    if (job === undefined) throw new Error("the new memory's job was not claimed");
    return job;
  };
  const complete = async (job: Job): Promise<readonly VisibleMemory[]> =>
    place().stores.jobs.complete([{ job, extracted: EXTRACTED, extractedBy: "local", chunkCount: 3 }]);
  const reread = async (memory: Memory): Promise<Memory> => {
    const { stores, project } = place();
    const found = await stores.memories.get(project, memory.id);
    if (found === null) throw new Error(`${memory.id} is not there`);
    return found;
  };
  const completed = async (draft: Partial<MemoryDraft> = {}): Promise<Memory> => {
    const { memory } = await accept(draft);
    await complete(await claimJobOf(memory));
    return reread(memory);
  };
  const failed = async (draft: Partial<MemoryDraft> = {}): Promise<Memory> => {
    const { memory } = await accept(draft);
    await place().stores.jobs.fail(await claimJobOf(memory), "processing_error", "no luck");
    return reread(memory);
  };
  const keysOf = async (listing: Partial<MemoryListing> = {}, of?: ProjectId): Promise<MemoryKey[]> => {
    const { stores, project } = place();
    const page = await stores.memories.list(of ?? project, { limit: 100, ...listing });
    return page.items.map((memory) => memory.key);
  };
  return { accept, acceptAll, claim, claimOne, complete, completed, failed, keysOf, reread };
}
