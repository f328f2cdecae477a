// What a crash or a lost lease between the parts of a container and its completion leaves, on each database: neither
// doubled nor lost parts. Also counts, lists and deletion of parts.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import { ContainerParts } from "../../src/ingest/container-parts.ts";
import { LeaseLost } from "../../src/ingest/outcome.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import type { DocumentPart } from "../../src/ports/document-reader.ts";
import type { Job } from "../../src/ports/job-store.ts";
import type { UploadFiles } from "../../src/ports/upload-files.ts";
import { ManualClock } from "../contract/manual-clock.ts";
import { LEASE_MS, memoryActions, uploadDraft } from "../contract/memory-actions.ts";
import { addTwoProjects, type OpenedStores, openEmpty } from "../contract/stores.ts";
import { onEachDatabase } from "../stores/databases.ts";

onEachDatabase("ContainerParts", (open) => {
  let stores: OpenedStores;
  let project: ProjectId;
  let other: ProjectId;
  let folder: string;
  let files: UploadFiles;
  let parts: ContainerParts;

  beforeEach(async () => {
    stores = await openEmpty(open, new ManualClock());
    [project, other] = await addTwoProjects(stores);
    folder = mkdtempSync(join(tmpdir(), "mneme-parts-"));
    files = openSpool(join(folder, "uploads"), { clock: systemClock, log: createLog("silent") });
    parts = new ContainerParts({
      ...{ memories: stores.memories, transactions: stores.transactions, files },
      index: { hide: async () => undefined },
      ...{ leaseMs: LEASE_MS, wake: () => undefined },
    });
  });
  afterEach(async () => {
    await stores.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const { accept, claim, claimOne } = memoryActions(() => ({ stores, project }));

  /** A file with the bytes of these parts, as the reading process writes it. */
  function unpacked(texts: Readonly<Record<string, string>>) {
    const path = join(folder, "unpacked");
    let at = 0;
    const list = Object.entries(texts).map(([name, text]): DocumentPart => {
      const bytes = Buffer.from(text);
      const part = { path: name, filename: name, mediaType: "text/plain", at, bytes: bytes.byteLength };
      at += bytes.byteLength;
      return { ...part, sha256: createHash("sha256").update(bytes).digest("hex") };
    });
    writeFileSync(path, Object.values(texts).join(""));
    return { path, list };
  }
  const container = async (): Promise<Job> => {
    await accept(uploadDraft("a", 1_000, "application/zip"));
    return claimOne();
  };
  const claimedAgain = async ({ memory }: Job): Promise<Job> => {
    await stores.jobs.restart([memory.key]);
    const next = (await claim()).find((each) => each.memory.key === memory.key);
    if (next === undefined) throw new Error("the container was not claimed again");
    return next;
  };
  const paths = async ({ memory }: Job) => (await stores.memories.partsOf(project, memory.id)).map(({ path }) => path);

  test("stores parts with their bytes; a repeated attempt of the same version adds none", async () => {
    const job = await container();
    const { path, list } = unpacked({ "a.txt": "alpha", "b.txt": "beta" });
    expect(await parts.store(job, list, path)).toEqual([]);
    expect(await parts.store(job, list, path)).toEqual([]);
    expect(await paths(job)).toEqual(["a.txt", "b.txt"]);
    const jobs = await claim();
    expect(
      jobs.map(({ upload }) => [upload?.filename, readFileSync(files.pathOf(upload?.name ?? ""), "utf8")]),
    ).toEqual([
      ["a.txt", "alpha"],
      ["b.txt", "beta"],
    ]);
    expect((await files.names(0)).length).toBe(2);
    expect(await stores.memories.partCounts(project, [job.memory.id])).toEqual(
      new Map([[job.memory.id, { total: 2, completed: 0, failed: 0 }]]),
    );
    expect(await stores.memories.partCounts(other, [job.memory.id])).toEqual(new Map());
    expect(await stores.memories.partsOf(other, job.memory.id)).toEqual([]);
  });

  test("stores nothing, and leaves no file, if the job is no longer held", async () => {
    const job = await container();
    await stores.jobs.restart([job.memory.key]);
    const { path, list } = unpacked({ "a.txt": "alpha" });
    expect(await parts.store(job, list, path).catch((error: unknown) => error)).toBeInstanceOf(LeaseLost);
    expect(await paths(job)).toEqual([]);
    expect(await files.names(0)).toEqual([]);
  });

  test("replaces the parts of an earlier version, and removes them if the new content is no container", async () => {
    const job = await container();
    const first = unpacked({ "a.txt": "alpha", "b.txt": "beta" });
    await parts.store(job, first.list, first.path);
    const next = await claimedAgain(job);
    const second = unpacked({ "c.txt": "gamma" });
    await parts.store(next, second.list, second.path);
    expect(await paths(job)).toEqual(["c.txt"]);
    await parts.removeEarlier(await claimedAgain(job));
    expect(await paths(job)).toEqual([]);
  });

  test("lists and deletes parts with their container, also many containers at once", async () => {
    const job = await container();
    const { path, list } = unpacked({ "a.txt": "alpha", "b.txt": "beta" });
    await parts.store(job, list, path);
    const { items } = await stores.memories.list(project, { limit: 1, container: job.memory.id });
    expect(items.map(({ source }) => [source?.path, source?.container])).toEqual([["b.txt", job.memory.id]]);
    const keys = (await stores.memories.list(project, { limit: 10 })).items.map(({ key }) => key);
    // the index hides what is returned
    expect([...(await stores.memories.removeMany(project, [job.memory.key]))].sort()).toEqual([...keys].sort());
    expect(keys).toHaveLength(3);
    expect(await paths(job)).toEqual([]);
    expect((await stores.memories.list(project, { limit: 10 })).items).toEqual([]);
  });
});
