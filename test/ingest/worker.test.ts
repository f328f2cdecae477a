// The ingest worker under failures, deletions, rewrites and stops: every memory ends as completed or failed, only its
// newest content is searchable, and deleted memories leave nothing behind.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import { sweep } from "../../src/erasure/erasure.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { UnknownOutcome } from "../../src/ports/transactions.ts";
import { until } from "../support/until.ts";
import { Gate, hashVector, type IngestHarness, openIngestHarness, RETENTION_MS } from "./ingest-harness.ts";

let harness: IngestHarness;
beforeEach(async () => {
  harness = await openIngestHarness();
});
afterEach(() => harness.close());

const contentOf = async ({ key }: Memory) => (await harness.index.contents([key])).get(key)?.content;
const chunksInIndex = () => harness.storedChunks();

test("a note is completed while another project's import fills the models, and no more of the import is claimed", async () => {
  const gate = new Gate();
  let held = 0;
  harness.embedder.before = (texts) => {
    if (!texts.some((text) => text.includes("entry"))) return;
    held += 1;
    return gate.pass();
  };
  const words = Array.from({ length: 200 }, (_, at) => `harbour ${at}`).join(" ");
  const entries = Array.from({ length: 400 }, (_, at) => ({ content: `entry ${at} ${words}` }));
  const last = (await harness.accept(...entries)).at(-1);
  const { id } = await harness.accounts.createProject({
    name: "other",
    plan: "enterprise",
    settings: DEFAULT_SETTINGS,
  });
  const store = async (content: string) => {
    const [accepted] = await harness.memories.accept(id, [{ content }]);
    if (accepted === undefined || !("memory" in accepted)) throw new Error("nothing was accepted");
    harness.worker.wake();
    await until("it is completed", async () => {
      harness.clock.advance(100); // a round waits for more memories
      return (await harness.memories.get(id, accepted.memory.id))?.state.status === "completed";
    });
  };
  await until("much of the import is being embedded", () => held > 100);
  await store("A note.");
  await store("Another note.");
  expect(held).toBeLessThan(400);
  gate.open();
  if (last !== undefined) await harness.settled(last);
});

test("the model reads the same texts of a memory that is indexed again, whether its title is given or extracted", async () => {
  let read: string[] = [];
  harness.embedder.before = (texts) => {
    read.push(...texts);
  };
  const long = Array.from({ length: 60 }, (_, at) => `Sentence ${at} tells of the harbour and its ${at} kettles.`).join(
    " ",
  );
  const drafts = [
    { content: "The key hangs behind the barometer." },
    { content: "The key hangs behind the barometer.", title: "The key hangs behind the barometer." },
    { content: "# Manual\n\nTurn the brass valve to the left." },
    { content: "# Manual\n\nTurn the brass valve to the left.", title: "Manual" },
    { content: long },
    { content: long, title: "Kettles" },
    { content: "user: Where is the key?\nassistant: Behind the barometer.\nuser: Thanks." },
  ];
  const memories = await harness.accept(...drafts);
  for (const memory of memories) await harness.settled(memory);
  const first = read.sort();
  read = [];
  await harness.jobs.reopen(memories.map(({ key }) => key));
  harness.worker.wake();
  for (const memory of memories) expect((await harness.settled(memory)).version).toBe(2);
  expect(read.sort()).toEqual(first);
});

test("a memory stays searchable after a commit whose outcome is unknown, and it is completed once", async () => {
  const { transactions } = harness;
  const run = transactions.run.bind(transactions);
  let commits = 0;
  transactions.run = async (work) => {
    const result = await run(work);
    commits += 1;
    if (commits === 1) throw new UnknownOutcome(new Error("the connection was lost"));
    return result;
  };
  const [memory] = await harness.accept({ content: "Committed, but nobody was told." });
  await harness.settled(memory);
  await harness.worker.stop();
  expect(await harness.searchable()).toEqual(["Committed, but nobody was told."]);
  harness.startWorker();
});

describe("a text of many chunks", () => {
  // About 75,000 tokens in at least five slices, more than may be embedded at the same time.
  const BOOK = Array.from({ length: 6_000 }, (_, at) => `Kettle ${at} boils at noon, and pot ${at * 7} at night.`).join(
    " ",
  );

  /** Stops all slices of the book except the first at a gate. */
  const gateAfterFirstSlice = () => {
    const gate = new Gate();
    let slices = 0;
    harness.embedder.before = (texts) => {
      if (!texts.some((text) => text.includes("Kettle"))) return;
      slices += 1;
      if (slices > 1) return gate.pass();
    };
    return { gate, slices: () => slices };
  };

  test("does not delay others until all of it is embedded", async () => {
    const { gate } = gateAfterFirstSlice();
    const [book] = await harness.accept({ content: BOOK });
    await until("the book's second slice waits", () => gate.waiting > 0);
    const [note] = await harness.accept({ content: "A note." });
    await harness.settled(note);
    expect((await harness.read(book))?.state.status).toBe("processing");
    gate.open();
    await harness.settled(book);
  });

  test("is not embedded further after it was deleted", async () => {
    const { gate, slices } = gateAfterFirstSlice();
    const [book] = await harness.accept({ content: BOOK });
    await until("the book's second slice waits", () => gate.waiting > 0);
    await harness.memories.remove(harness.projectId, book.id);
    gate.open();
    const [note] = await harness.accept({ content: "A note." });
    await harness.settled(note);
    await until("the worker has released it", () => harness.worker.progressOf(book.key).stage === "queued");
    expect(slices()).toBe(2);
  });
});

describe("while texts are being prepared", () => {
  /** Holds the calls that prepare a text with this word. */
  const gateFor = (word: string) => {
    const gate = new Gate();
    harness.preparer.before = (inputs) => {
      if (inputs.some(({ content }) => content.slice(0).includes(word))) return gate.pass();
    };
    return gate;
  };

  test("the next ones are claimed, but not more than one claim ahead", async () => {
    const gate = gateFor("kettle");
    const [first] = await harness.accept({ content: "The first kettle." });
    await until("it is being prepared", () => gate.waiting === 1);
    const next = await harness.accept(...Array.from({ length: 64 }, (_, n) => ({ content: `Of kettle ${n}.` })));
    await until("the next ones are claimed", () => gate.waiting === 2);
    const [last] = await harness.accept({ content: "The last kettle." });
    expect(next.map(({ key }) => harness.worker.progressOf(key).stage)).toEqual(next.map(() => "preparing"));
    expect(harness.worker.progressOf(last.key).stage).toBe("queued");
    gate.open();
    for (const memory of [first, ...next, last]) await harness.settled(memory);
    expect(await harness.searchable()).toHaveLength(66);
  });

  test("a memory that is ready waits for them, but not longer than a round waits", async () => {
    const gate = gateFor("kettle");
    await harness.accept({ content: "A kettle." });
    await until("it is being prepared", () => gate.waiting === 1);
    const [ready] = await harness.accept({ content: "Bread." });
    await until("the other one is ready", () => harness.worker.progressOf(ready.key).stage === "publishing");
    expect(await harness.searchable()).toEqual([]);
    await harness.settled(ready);
    expect(await harness.searchable()).toEqual(["Bread."]);
    gate.open();
  });

  test("a memory that is ready is published at once if one of them fails", async () => {
    const gate = gateFor("kettle");
    harness.preparer.refuse = (content) => (content.includes("kettle") ? new PrepareFailure("It boils.") : null);
    const [kettle] = await harness.accept({ content: "A kettle." });
    await until("it is being prepared", () => gate.waiting === 1);
    const [ready] = await harness.accept({ content: "Bread." });
    await until("the other one is ready", () => harness.worker.progressOf(ready.key).stage === "publishing");
    gate.open();
    await until(
      "it is published, although no time passes",
      async () => (await harness.read(ready))?.state.status === "completed",
    );
    expect((await harness.read(kettle))?.state.status).toBe("failed");
  });
});

describe("a transient failure", () => {
  const failingTimes = (times: number) => {
    let left = times;
    return () => {
      left -= 1;
      if (left >= 0) throw new Error("a lane was being restarted");
    };
  };

  test("of the models: the memory is retried until it succeeds", async () => {
    harness.embedder.before = failingTimes(3);
    const [memory] = await harness.accept({ content: "Tried four times." });
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["Tried four times."]);
  });

  test("of the preparation process: all memories of the claim are retried", async () => {
    harness.preparer.before = failingTimes(2);
    const accepted = await harness.accept({ content: "One." }, { content: "Two." }, { content: "Three." });
    for (const memory of accepted) await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["One.", "Three.", "Two."]);
  });

  test("of the index: publishing is repeated", async () => {
    harness.index.before = failingTimes(2);
    const [memory] = await harness.accept({ content: "Published at the third try." });
    await harness.settled(memory);
    expect(await chunksInIndex()).toBe(1);
  });

  test("between writing the index and the row: the repeated round leaves one set of chunks", async () => {
    harness.index.after = failingTimes(1);
    const [memory] = await harness.accept({ content: "Written twice, there once." });
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["Written twice, there once."]);
    expect(await chunksInIndex()).toBe(1);
  });

  test("is followed by exponentially growing delays without attempts in between", async () => {
    const tries: number[] = [];
    harness.embedder.before = () => {
      tries.push(harness.clock.now());
      if (tries.length < 5) throw new Error("still loading");
    };
    const [memory] = await harness.accept({ content: "Patience." });
    await harness.settled(memory);
    const waits = tries.slice(1).map((at, position) => at - (tries[position] ?? 0));
    for (const [position, waitMs] of waits.entries()) expect(waitMs).toBeGreaterThanOrEqual(1_000 * 2 ** position);
  });
});

describe("a permanent failure", () => {
  test("of the models: the memory fails without internal details in its message, and can be sent again", async () => {
    harness.embedder.before = () => {
      throw new Error("SELECT secret FROM /var/lib");
    };
    const [memory] = await harness.accept({ content: "Never embedded.", externalId: "e" });
    const failing = until("the memory has failed", async () => {
      harness.clock.advance(300_000);
      const found = await harness.read(memory);
      return found?.state.status === "failed" ? found.state : null;
    });
    const { error } = await failing;
    expect(error.code).toBe("processing_error");
    expect(error.message).not.toMatch(/SELECT|var\/lib/);

    harness.embedder.before = () => undefined;
    await harness.accept({ content: "Never embedded.", externalId: "e" });
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual(["Never embedded."]);
  });

  test("of one text: it fails with the reason, and the others of its claim are completed", async () => {
    harness.preparer.refuse = (content) =>
      content.includes("bomb") ? new PrepareFailure("This text is a bomb.") : null;
    const [first, bomb, last] = await harness.accept(
      { content: "First." },
      { content: "A bomb." },
      { content: "Last." },
    );
    await harness.settled(first);
    await harness.settled(last);
    const failed = await harness.settled(bomb, "failed");
    expect(failed.state).toEqual({
      status: "failed",
      error: { code: "processing_error", message: "This text is a bomb." },
    });
    expect(await harness.searchable()).toEqual(["First.", "Last."]);
  });

  test("of one publication: the others of its round are published", async () => {
    harness.embedder.vectorOf = (text) => {
      const vector = hashVector(text);
      return text.includes("poison") ? vector.fill(Number.NaN) : vector;
    };
    const [first, poison, last] = await harness.accept(
      { content: "Bread." },
      { content: "A poison." },
      { content: "Butter." },
    );
    await harness.settled(first);
    await harness.settled(last);
    expect((await harness.read(poison))?.state.status).toBe("processing");
    expect(await harness.searchable()).toEqual(["Bread.", "Butter."]);
  });
});

describe("a deletion", () => {
  const removeMidway = async (delayStep: (gate: Gate) => void) => {
    const gate = new Gate();
    delayStep(gate);
    const [doomed, other] = await harness.accept({ content: "Doomed." }, { content: "Stays." });
    await until("the step is waiting", () => gate.waiting > 0);
    await harness.memories.remove(harness.projectId, doomed.id);
    gate.open();
    await harness.settled(other);
    expect(await harness.searchable()).toEqual(["Stays."]);
    await until("the index has no more chunks of it", async () => (await chunksInIndex()) === 1);
  };

  test("while its text is prepared leaves nothing behind", () =>
    removeMidway((gate) => {
      harness.preparer.before = () => gate.pass();
    }));

  test("while it is embedded leaves nothing behind", () =>
    removeMidway((gate) => {
      harness.embedder.before = () => gate.pass();
    }));

  test("while it is published leaves nothing behind", () =>
    removeMidway((gate) => {
      harness.index.after = () => gate.pass();
    }));

  test("removes vectors and postings at once, and the text when its retention has ended", async () => {
    const [doomed, other] = await harness.accept({ content: "Forget me." }, { content: "Keep me." });
    for (const memory of [doomed, other]) await harness.settled(memory);
    await harness.memories.remove(harness.projectId, doomed.id);
    await until("the index has no more chunks of it", async () => {
      harness.clock.advance(30_000);
      return (await chunksInIndex()) === 1;
    });
    expect(await contentOf(doomed)).toBe("Forget me.");

    harness.clock.advance(RETENTION_MS);
    await until("its text is gone", async () => {
      harness.clock.advance(30_000);
      return (await contentOf(doomed)) === undefined;
    });
    await until("its row is gone", async () => (await harness.retirement.purgeable(10)).length === 0);
    expect(await contentOf(other)).toBe("Keep me.");
  });

  test("with a purge removes the text with the next sweep", async () => {
    const [doomed, other] = await harness.accept({ content: "Forget me now." }, { content: "Keep me." });
    for (const memory of [doomed, other]) await harness.settled(memory);
    await harness.memories.remove(harness.projectId, doomed.id, { purges: true });
    await until("its text is gone", async () => {
      harness.clock.advance(30_000);
      return (await contentOf(doomed)) === undefined;
    });
    await until("its row is gone", async () => (await harness.retirement.purgeable(10)).length === 0);
    expect(await contentOf(other)).toBe("Keep me.");
    expect(await harness.searchable()).toEqual(["Keep me."]);
  });

  test("by expiry removes vectors and postings too", async () => {
    const [memory] = await harness.accept({ content: "Best before.", expiresAt: harness.clock.now() + 600_000 });
    await harness.settled(memory);
    expect(await chunksInIndex()).toBe(1);
    harness.clock.advance(600_000);
    expect(await harness.searchable()).toEqual([]);
    await until("the index has no more chunks of it", async () => {
      harness.clock.advance(30_000);
      return (await chunksInIndex()) === 0;
    });
  });
});

describe("a sweep", () => {
  // one transaction, because a thousand single ones may take longer than a test may on a busy disk
  const removeAll = (projectId: ProjectId, memories: readonly Memory[], options?: { readonly purges: boolean }) =>
    harness.transactions.run(async (transaction) => {
      for (const { id } of memories) await transaction.memories.remove(projectId, id, options);
    });
  const secondProject = async () =>
    (await harness.accounts.createProject({ name: "Second", plan: "enterprise", settings: DEFAULT_SETTINGS })).id;
  const acceptIn = async (projectId: ProjectId, contents: readonly string[]) => {
    const drafts = contents.map((content) => ({ content }));
    return (await harness.memories.accept(projectId, drafts)).map((accepted) => {
      if (accepted instanceof Fault) throw accepted;
      return accepted.memory;
    });
  };
  const sweepOnce = () => sweep({ ...harness, log: createLog("silent") });
  const stillToGo = async () => (await harness.retirement.retired(10_000)).map(({ memoryKey }) => memoryKey);
  const damaged = async (): Promise<never> => {
    throw new Error("the index is damaged");
  };

  /** Functions that break one project's index. Each returns a function that repairs it. */
  const breaking = {
    opened: (broken: ProjectId) => {
      const open = harness.index.project.bind(harness.index);
      harness.index.project = (id) => (id === broken ? damaged() : open(id));
      return () => {
        harness.index.project = open;
      };
    },
    "written to": (broken: ProjectId) => {
      const open = harness.index.project.bind(harness.index);
      harness.index.project = async (id) => (id === broken ? { ...(await open(id)), retract: damaged } : open(id));
      return () => {
        harness.index.project = open;
      };
    },
  };

  for (const [what, breakIndex] of Object.entries(breaking)) {
    test(`skips a project whose index cannot be ${what}, continues with other projects and the purge, and retries it later`, async () => {
      await harness.worker.stop();
      const healthy = await secondProject();
      const broken = await acceptIn(harness.projectId, ["Stays for now."]);
      const others = await acceptIn(healthy, ["Goes at once."]);
      await removeAll(harness.projectId, broken, { purges: true });
      await removeAll(healthy, others, { purges: true });
      const repair = breakIndex(harness.projectId);
      await sweepOnce();
      expect(await stillToGo()).toEqual(broken.map(({ key }) => key));
      expect(await harness.retirement.purgeable(10)).toEqual([]);
      expect([...(await harness.memories.waitingContents(others.map(({ key }) => key))).values()]).toEqual([]);

      repair();
      await sweepOnce();
      expect(await stillToGo()).toEqual([]);
    });
  }

  test("reaches other projects although a broken one has more deletions than a batch", async () => {
    await harness.worker.stop();
    const healthy = await secondProject();
    const broken = await acceptIn(
      harness.projectId,
      Array.from({ length: 1_001 }, (_, at) => `Stays ${at}.`),
    );
    await removeAll(harness.projectId, broken);
    harness.clock.advance(1); // so that the broken project's deletions are older
    await removeAll(healthy, await acceptIn(healthy, ["Goes at once."]));
    breaking.opened(harness.projectId);
    await sweepOnce();
    expect((await stillToGo()).sort()).toEqual(broken.map(({ key }) => key).sort());
  });

  test("removes the file of a request again that a failing disk kept", async () => {
    const incoming = await harness.files.begin();
    rmSync(incoming.path);
    mkdirSync(incoming.path); // a file cannot be removed as long as a folder has its name
    await incoming.discard();
    rmSync(incoming.path, { recursive: true });
    writeFileSync(incoming.path, "text");
    await sweepOnce();
    expect(existsSync(incoming.path)).toBeFalse();
  });

  test("removes files without a row once an hour", async () => {
    const lost = await harness.files.begin();
    await lost.end();
    const name = await harness.files.keep(lost.path);
    const [doomed] = await harness.accept({ content: "Swept before." });
    await harness.settled(doomed);
    await harness.memories.remove(harness.projectId, doomed.id);
    await until("a sweep has run", async () => {
      if ((await chunksInIndex()) === 0) return true;
      harness.clock.advance(30_000);
      return false;
    });
    expect(await harness.files.names(0)).toEqual([name]);

    harness.clock.advance(systemClock.now()); // the age of the file is relative to the system clock
    await until("the file is gone", async () => {
      harness.clock.advance(60 * 60_000);
      return (await harness.files.names(0)).length === 0;
    });
  });
});

describe("a rewrite while the old content is being processed", () => {
  const old = "The old text.";
  const fresh = "The new text.";
  const delayOldText = () => {
    const gate = new Gate();
    harness.embedder.before = (texts) => (texts.some((text) => text.includes("old text")) ? gate.pass() : undefined);
    return gate;
  };

  test("publishes only the newest, even if the old one is ready after it", async () => {
    const gate = delayOldText();
    const [memory] = await harness.accept({ content: old, externalId: "e" });
    await until("the old text is being embedded", () => gate.waiting > 0);
    await harness.accept({ content: fresh, externalId: "e" });
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual([fresh]);

    gate.open();
    const [later] = await harness.accept({ content: "Something later." });
    await harness.settled(later);
    expect((await harness.read(memory))?.state.status).toBe("completed");
    expect(await contentOf(memory)).toBe(fresh);
    expect(await harness.searchable()).toEqual(["Something later.", fresh]);
    expect(await chunksInIndex()).toBe(2);
  });

  test("publishes only the newest if both are ready for the same round", async () => {
    const gate = new Gate();
    harness.embedder.before = () => gate.pass();
    const [memory] = await harness.accept({ content: old, externalId: "e" });
    await until("the old text is being embedded", () => gate.waiting === 1);
    await harness.accept({ content: fresh, externalId: "e" });
    await until("the new text is being embedded", () => gate.waiting === 2);
    gate.open();
    await harness.settled(memory);
    expect(await contentOf(memory)).toBe(fresh);
    expect(await harness.searchable()).toEqual([fresh]);
    expect(await chunksInIndex()).toBe(1);
  });

  test("publishes only the newest if the old one is being published already", async () => {
    const gate = new Gate();
    harness.index.before = () => gate.pass();
    const [memory] = await harness.accept({ content: old, externalId: "e" });
    await until("the old text is being published", () => gate.waiting > 0);
    await harness.accept({ content: fresh, externalId: "e" });
    gate.open();
    await harness.settled(memory);
    expect(await harness.searchable()).toEqual([fresh]);
    expect(await contentOf(memory)).toBe(fresh);
  });
});

describe("stopping", () => {
  for (const stage of ["prepared", "embedded", "published"] as const) {
    test(`while memories are being ${stage}: the next worker completes them, each with one set of chunks`, async () => {
      const gate = new Gate();
      const hold = () => gate.pass();
      if (stage === "prepared") harness.preparer.before = hold;
      else if (stage === "embedded") harness.embedder.before = hold;
      else harness.index.after = hold;
      const accepted = await harness.accept({ content: "Half done." }, { content: "Half done too." });
      await until("the step is waiting", () => gate.waiting > 0);
      const stopped = harness.worker.stop();
      gate.open();
      await stopped;

      await harness.jobs.voidLeases();
      harness.startWorker();
      for (const memory of accepted) await harness.settled(memory);
      expect(await harness.searchable()).toEqual(["Half done too.", "Half done."]);
      expect(await chunksInIndex()).toBe(2);
    });
  }

  test("ends the claiming of jobs", async () => {
    await harness.worker.stop();
    const [memory] = await harness.accept({ content: "Too late." });
    harness.clock.advance(600_000);
    expect((await harness.jobs.claim({ jobs: 1, contentBytes: 1, leaseMs: 1 }))[0]?.memory.id).toBe(memory.id);
  });
});
