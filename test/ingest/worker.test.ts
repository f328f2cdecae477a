// What ingest promises whatever happens meanwhile: every memory ends as completed or failed, only its newest content is
// searchable, and what was deleted leaves nothing behind.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { SqliteAccountStore } from "../../src/adapters/embedded/sqlite/account-store.ts";
import { Fault } from "../../src/domain/fault.ts";
import type { ProjectId } from "../../src/domain/ids.ts";
import type { Memory } from "../../src/domain/memory.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import { sweep } from "../../src/ingest/sweep.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createLog } from "../../src/kit/log.ts";
import { PrepareFailure } from "../../src/ports/preparer.ts";
import { until } from "../support/until.ts";
import { Gate, hashVector, openWorkshop, RETENTION_MS, type Workshop } from "./workshop.ts";

let shop: Workshop;
beforeEach(async () => {
  shop = await openWorkshop();
});
afterEach(() => shop.close());

const contentOf = async ({ key }: Memory) => (await shop.index.contents([key])).get(key);
const chunksInIndex = () => shop.storedChunks();

describe("a text of many chunks", () => {
  // some 75,000 tokens: more than may be embedded at once, in five slices or more
  const BOOK = Array.from({ length: 6_000 }, (_, at) => `Kettle ${at} boils at noon, and pot ${at * 7} at night.`).join(
    " ",
  );

  /** Stops each further slice of the book at a gate. */
  const gateAfterFirstSlice = () => {
    const gate = new Gate();
    let slices = 0;
    shop.embedder.before = (texts) => {
      if (!texts.some((text) => text.includes("Kettle"))) return;
      slices += 1;
      if (slices > 1) return gate.pass();
    };
    return { gate, slices: () => slices };
  };

  test("does not keep others waiting until all of it is embedded", async () => {
    const { gate } = gateAfterFirstSlice();
    const [book] = shop.accept({ content: BOOK });
    await until("the book's second slice waits", () => gate.waiting > 0);
    const [note] = shop.accept({ content: "A note." });
    await shop.settled(note);
    expect(shop.read(book)?.state.status).toBe("processing");
    gate.open();
    await shop.settled(book);
  });

  test("is not embedded to its end when it is deleted meanwhile", async () => {
    const { gate, slices } = gateAfterFirstSlice();
    const [book] = shop.accept({ content: BOOK });
    await until("the book's second slice waits", () => gate.waiting > 0);
    shop.memories.remove(shop.projectId, book.id);
    gate.open();
    const [note] = shop.accept({ content: "A note." });
    await shop.settled(note);
    await until("the worker holds it no more", () => shop.worker.progressOf(book.key).stage === "queued");
    expect(slices()).toBe(2);
  });
});

describe("a failure that passes", () => {
  const breakingTimes = (times: number) => {
    let left = times;
    return () => {
      left -= 1;
      if (left >= 0) throw new Error("a lane was being restarted");
    };
  };

  test("of the models: the memory is tried again until it succeeds", async () => {
    shop.embedder.before = breakingTimes(3);
    const [memory] = shop.accept({ content: "Tried four times." });
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["Tried four times."]);
  });

  test("of the preparation process: all memories of the claim are tried again", async () => {
    shop.preparer.before = breakingTimes(2);
    const accepted = shop.accept({ content: "One." }, { content: "Two." }, { content: "Three." });
    for (const memory of accepted) await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["One.", "Three.", "Two."]);
  });

  test("of the index: the publishing is repeated", async () => {
    shop.index.before = breakingTimes(2);
    const [memory] = shop.accept({ content: "Published at the third try." });
    await shop.settled(memory);
    expect(await chunksInIndex()).toBe(1);
  });

  test("after the index was written, before the row was: the repeated round leaves one set of chunks", async () => {
    shop.index.after = breakingTimes(1);
    const [memory] = shop.accept({ content: "Written twice, there once." });
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["Written twice, there once."]);
    expect(await chunksInIndex()).toBe(1);
  });

  test("waits longer from try to try, and wakes nobody in between", async () => {
    const tries: number[] = [];
    shop.embedder.before = () => {
      tries.push(shop.clock.now());
      if (tries.length < 5) throw new Error("still loading");
    };
    const [memory] = shop.accept({ content: "Patience." });
    await shop.settled(memory);
    const waits = tries.slice(1).map((at, position) => at - (tries[position] ?? 0));
    for (const [position, waitMs] of waits.entries()) expect(waitMs).toBeGreaterThanOrEqual(1_000 * 2 ** position);
  });
});

describe("a failure that stays", () => {
  test("of the models: the memory ends as failed, says nothing from inside, and can be sent again", async () => {
    shop.embedder.before = () => {
      throw new Error("SELECT secret FROM /var/lib");
    };
    const [memory] = shop.accept({ content: "Never embedded.", externalId: "e" });
    const failing = until("the memory has failed", () => {
      shop.clock.advance(300_000);
      const found = shop.read(memory);
      return found?.state.status === "failed" ? found.state : null;
    });
    const { error } = await failing;
    expect(error.code).toBe("processing_error");
    expect(error.message).not.toMatch(/SELECT|var\/lib/);

    shop.embedder.before = () => undefined;
    shop.accept({ content: "Never embedded.", externalId: "e" });
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual(["Never embedded."]);
  });

  test("of one text: it ends as failed with the reason, and its neighbours as completed", async () => {
    shop.preparer.refuse = (content) => (content.includes("bomb") ? new PrepareFailure("This text is a bomb.") : null);
    const [first, bomb, last] = shop.accept({ content: "First." }, { content: "A bomb." }, { content: "Last." });
    await shop.settled(first);
    await shop.settled(last);
    const failed = await shop.settled(bomb, "failed");
    expect(failed.state).toEqual({
      status: "failed",
      error: { code: "processing_error", message: "This text is a bomb." },
    });
    expect(await shop.searchable()).toEqual(["First.", "Last."]);
  });

  test("of one publication: the rest of its round is published", async () => {
    shop.embedder.vectorOf = (text) => {
      const vector = hashVector(text);
      return text.includes("poison") ? vector.fill(Number.NaN) : vector;
    };
    const [first, poison, last] = shop.accept({ content: "Bread." }, { content: "A poison." }, { content: "Butter." });
    await shop.settled(first);
    await shop.settled(last);
    expect(shop.read(poison)?.state.status).toBe("processing");
    expect(await shop.searchable()).toEqual(["Bread.", "Butter."]);
  });
});

describe("a deletion", () => {
  const removeMidway = async (hold: (gate: Gate) => void) => {
    const gate = new Gate();
    hold(gate);
    const [doomed, other] = shop.accept({ content: "Doomed." }, { content: "Stays." });
    await until("the work is held up", () => gate.waiting > 0);
    shop.memories.remove(shop.projectId, doomed.id);
    gate.open();
    await shop.settled(other);
    expect(await shop.searchable()).toEqual(["Stays."]);
    await until("the index holds no more of it", async () => (await chunksInIndex()) === 1);
  };

  test("while its text is prepared leaves nothing behind", () =>
    removeMidway((gate) => {
      shop.preparer.before = () => gate.pass();
    }));

  test("while it is embedded leaves nothing behind", () =>
    removeMidway((gate) => {
      shop.embedder.before = () => gate.pass();
    }));

  test("while it is published leaves nothing behind", () =>
    removeMidway((gate) => {
      shop.index.after = () => gate.pass();
    }));

  test("takes vectors and postings at once, and the text when its retention has ended", async () => {
    const [doomed, other] = shop.accept({ content: "Forget me." }, { content: "Keep me." });
    for (const memory of [doomed, other]) await shop.settled(memory);
    shop.memories.remove(shop.projectId, doomed.id);
    await until("the index holds no more of it", async () => {
      shop.clock.advance(30_000);
      return (await chunksInIndex()) === 1;
    });
    expect(await contentOf(doomed)).toBe("Forget me.");

    shop.clock.advance(RETENTION_MS);
    await until("its text is gone", async () => {
      shop.clock.advance(30_000);
      return (await contentOf(doomed)) === undefined;
    });
    await until("its row is gone", () => shop.retirement.purgeable(10).length === 0);
    expect(await contentOf(other)).toBe("Keep me.");
  });

  test("that asks for a purge takes the text with the next sweep", async () => {
    const [doomed, other] = shop.accept({ content: "Forget me now." }, { content: "Keep me." });
    for (const memory of [doomed, other]) await shop.settled(memory);
    shop.memories.remove(shop.projectId, doomed.id, { purges: true });
    await until("its text is gone", async () => {
      shop.clock.advance(30_000);
      return (await contentOf(doomed)) === undefined;
    });
    await until("its row is gone", () => shop.retirement.purgeable(10).length === 0);
    expect(await contentOf(other)).toBe("Keep me.");
    expect(await shop.searchable()).toEqual(["Keep me."]);
  });

  test("by expiry goes the same way", async () => {
    const [memory] = shop.accept({ content: "Best before.", expiresAt: shop.clock.now() + 600_000 });
    await shop.settled(memory);
    expect(await chunksInIndex()).toBe(1);
    shop.clock.advance(600_000);
    expect(await shop.searchable()).toEqual([]);
    await until("the index holds no more of it", async () => {
      shop.clock.advance(30_000);
      return (await chunksInIndex()) === 0;
    });
  });
});

describe("a sweep", () => {
  const removeAll = (projectId: ProjectId, memories: readonly Memory[], options?: { readonly purges: boolean }) => {
    for (const { id } of memories) shop.memories.remove(projectId, id, options);
  };
  const secondProject = () =>
    new SqliteAccountStore({ database: shop.database, clock: shop.clock }).createProject({
      name: "Second",
      plan: "enterprise",
      settings: DEFAULT_SETTINGS,
    }).id;
  const acceptIn = (projectId: ProjectId, contents: readonly string[]) =>
    shop.memories
      .accept(
        projectId,
        contents.map((content) => ({ content })),
      )
      .map((accepted) => {
        if (accepted instanceof Fault) throw accepted;
        return accepted.memory;
      });
  const sweepOnce = () =>
    sweep({ retirement: shop.retirement, index: shop.index, files: shop.files, log: createLog("silent") });
  const stillToGo = () => shop.retirement.retired(10_000).map(({ memoryKey }) => memoryKey);
  const damaged = async (): Promise<never> => {
    throw new Error("the index is damaged");
  };

  /** Breaks one project's index; what it returns mends it. */
  const breaking = {
    opened: (broken: ProjectId) => {
      const open = shop.index.project.bind(shop.index);
      shop.index.project = (id) => (id === broken ? damaged() : open(id));
      return () => {
        shop.index.project = open;
      };
    },
    "written to": (broken: ProjectId) => {
      const open = shop.index.project.bind(shop.index);
      shop.index.project = async (id) => (id === broken ? { ...(await open(id)), retract: damaged } : open(id));
      return () => {
        shop.index.project = open;
      };
    },
  };

  for (const [what, breakIndex] of Object.entries(breaking)) {
    test(`of a project whose index cannot be ${what} holds up no other project, nor the purge, and comes back to it`, async () => {
      await shop.worker.stop();
      const healthy = secondProject();
      const broken = acceptIn(shop.projectId, ["Stays for now."]);
      const others = acceptIn(healthy, ["Goes at once."]);
      removeAll(shop.projectId, broken, { purges: true });
      removeAll(healthy, others, { purges: true });
      const mend = breakIndex(shop.projectId);
      await sweepOnce();
      expect(stillToGo()).toEqual(broken.map(({ key }) => key));
      expect(shop.retirement.purgeable(10)).toEqual([]);
      expect([...shop.memories.waitingContents(others.map(({ key }) => key)).values()]).toEqual([]);

      mend();
      await sweepOnce();
      expect(stillToGo()).toEqual([]);
    });
  }

  test("reaches other projects behind more deletions of a broken one than it takes at a time", async () => {
    await shop.worker.stop();
    const healthy = secondProject();
    const broken = acceptIn(
      shop.projectId,
      Array.from({ length: 1_001 }, (_, at) => `Stays ${at}.`),
    );
    removeAll(shop.projectId, broken);
    shop.clock.advance(1); // the broken project's are the older ones
    removeAll(healthy, acceptIn(healthy, ["Goes at once."]));
    breaking.opened(shop.projectId);
    await sweepOnce();
    expect(stillToGo().sort()).toEqual(broken.map(({ key }) => key).sort());
  });

  test("looks for files that no row refers to once an hour", async () => {
    const lost = await shop.files.begin();
    await lost.end();
    const name = await shop.files.keep(lost.path);
    const [doomed] = shop.accept({ content: "Swept before." });
    await shop.settled(doomed);
    shop.memories.remove(shop.projectId, doomed.id);
    await until("a sweep went by", async () => {
      if ((await chunksInIndex()) === 0) return true;
      shop.clock.advance(30_000);
      return false;
    });
    expect(await shop.files.names(0)).toEqual([name]);

    shop.clock.advance(systemClock.now()); // the file was written at the system's time
    await until("the file is gone", async () => {
      shop.clock.advance(60 * 60_000);
      return (await shop.files.names(0)).length === 0;
    });
  });
});

describe("a rewriting while the old content is in work", () => {
  const old = "The old text.";
  const fresh = "The new text.";
  const holdOld = () => {
    const gate = new Gate();
    shop.embedder.before = (texts) => (texts.some((text) => text.includes("old text")) ? gate.pass() : undefined);
    return gate;
  };

  test("publishes the newest only, also when the old one is ready after it", async () => {
    const gate = holdOld();
    const [memory] = shop.accept({ content: old, externalId: "e" });
    await until("the old text is being embedded", () => gate.waiting > 0);
    shop.accept({ content: fresh, externalId: "e" });
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual([fresh]);

    gate.open();
    const [later] = shop.accept({ content: "Something later." });
    await shop.settled(later);
    expect(shop.read(memory)?.state.status).toBe("completed");
    expect(await contentOf(memory)).toBe(fresh);
    expect(await shop.searchable()).toEqual(["Something later.", fresh]);
    expect(await chunksInIndex()).toBe(2);
  });

  test("publishes the newest only when both are ready for the same round", async () => {
    const gate = new Gate();
    shop.embedder.before = () => gate.pass();
    const [memory] = shop.accept({ content: old, externalId: "e" });
    await until("the old text is being embedded", () => gate.waiting === 1);
    shop.accept({ content: fresh, externalId: "e" });
    await until("the new text is being embedded", () => gate.waiting === 2);
    gate.open();
    await shop.settled(memory);
    expect(await contentOf(memory)).toBe(fresh);
    expect(await shop.searchable()).toEqual([fresh]);
    expect(await chunksInIndex()).toBe(1);
  });

  test("while the old content is being published", async () => {
    const gate = new Gate();
    shop.index.before = () => gate.pass();
    const [memory] = shop.accept({ content: old, externalId: "e" });
    await until("the old text is being published", () => gate.waiting > 0);
    shop.accept({ content: fresh, externalId: "e" });
    gate.open();
    await shop.settled(memory);
    expect(await shop.searchable()).toEqual([fresh]);
    expect(await contentOf(memory)).toBe(fresh);
  });
});

describe("stopping", () => {
  for (const stage of ["prepared", "embedded", "published"] as const) {
    test(`while a memory is ${stage}: the next worker finishes it, once`, async () => {
      const gate = new Gate();
      const hold = () => gate.pass();
      if (stage === "prepared") shop.preparer.before = hold;
      else if (stage === "embedded") shop.embedder.before = hold;
      else shop.index.after = hold;
      const accepted = shop.accept({ content: "Half done." }, { content: "Half done too." });
      await until("the work is held up", () => gate.waiting > 0);
      const stopped = shop.worker.stop();
      gate.open();
      await stopped;

      shop.jobs.voidLeases();
      shop.startWorker();
      for (const memory of accepted) await shop.settled(memory);
      expect(await shop.searchable()).toEqual(["Half done too.", "Half done."]);
      expect(await chunksInIndex()).toBe(2);
    });
  }

  test("after stop() nothing is claimed any more", async () => {
    await shop.worker.stop();
    const [memory] = shop.accept({ content: "Too late." });
    shop.clock.advance(600_000);
    expect(shop.jobs.claim({ jobs: 1, contentBytes: 1, leaseMs: 1 })[0]?.memory.id).toBe(memory.id);
  });
});
