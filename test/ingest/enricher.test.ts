// Whom a slow or failing language model concerns: the memories and the project that wait for it, and nobody else.

import { expect, test } from "bun:test";
import type { OperatorLlm } from "../../src/domain/language-model.ts";
import { Enricher } from "../../src/ingest/enrich/enricher.ts";
import { createLog } from "../../src/kit/log.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type { Job } from "../../src/ports/job-store.ts";
import { type LanguageModel, LlmError } from "../../src/ports/language-model.ts";
import type { LlmExtractionStore } from "../../src/ports/llm-extraction-store.ts";
import { SettableClock } from "../support/service.ts";

const MIB = 1024 * 1024;
const OPERATOR: OperatorLlm = { baseUrl: "http://127.0.0.1:1/v1", model: "m", apiKey: null };
const extractions: LlmExtractionStore = {
  previous: () => null,
  relations: () => [],
  keep: () => undefined,
  countTokens: () => undefined,
  tokensToday: () => 0,
};
const SETTINGS = { llm: {}, smart_ingestion: { enabled: true, daily_token_limit: null } };
const accounts = { project: () => ({ settings: SETTINGS }) } as unknown as Pick<AccountStore, "project">;

function enricherOf(complete: LanguageModel["complete"]): Enricher {
  const clock = new SettableClock();
  const log = createLog("silent");
  return new Enricher({ accounts, extractions, model: { complete }, operator: OPERATOR, clock, log });
}

function find(enricher: Enricher, projectId: string, content: string) {
  const notes: string[] = [];
  const job = { projectId, memory: { id: "mem_1", given: [], title: null } } as unknown as Job;
  const context = {
    signal: new AbortController().signal,
    isHeld: async () => true,
    onNote: (note: string) => notes.push(note),
  };
  const inquiry = enricher.find({ job, content, title: null }, context);
  return { inquiry, extraction: inquiry.then(({ extraction }) => extraction), notes };
}

test("what a project has waiting is bounded: more of it is extracted locally at once, and other projects still ask", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const enricher = enricherOf(async () => {
    await released;
    return { text: '{"title":"Found"}', usage: { prompt: 1, completion: 1 } };
  });
  const huge = "x".repeat(40 * MIB);
  const first = find(enricher, "prj_a", huge);
  await first.inquiry;
  const second = find(enricher, "prj_a", "A note.");
  const other = find(enricher, "prj_b", "A note.");
  expect(await second.inquiry).toEqual({ isAsked: false, extraction: null });
  expect(second.notes).toEqual(["Too much text waits for the language model: extracted locally."]);
  expect(enricher.fullProjects()).toEqual(["prj_a"] as never);
  release();
  expect(await first.extraction).toMatchObject({ title: "Found" });
  expect(await other.extraction).toMatchObject({ title: "Found" });
  expect(await find(enricher, "prj_a", "A note.").extraction).toMatchObject({ title: "Found" });
});

test("answers that a project's own texts or settings spoil leave the endpoint to the others", async () => {
  let answer: "too_long" | "malformed" | "fine" = "too_long";
  const enricher = enricherOf(() =>
    answer === "fine"
      ? Promise.resolve({ text: '{"title":"Found"}', usage: { prompt: 1, completion: 1 } })
      : Promise.reject(new LlmError(answer, "the answer is of no use")),
  );
  for (answer of ["too_long", "malformed", "too_long", "malformed"] as const) {
    expect(await find(enricher, "prj_a", "A note.").extraction).toBeNull();
  }
  answer = "fine";
  expect(await find(enricher, "prj_a", "A note.").extraction).toBeNull(); // left alone for a while
  expect(await find(enricher, "prj_b", "A note.").extraction).toMatchObject({ title: "Found" });
});

test("calls that were never made, because the project makes too many, leave the endpoint as it is", async () => {
  let isOverloaded = true;
  const enricher = enricherOf(() =>
    isOverloaded
      ? Promise.reject(new LlmError("overloaded", "too many calls of the project wait already"))
      : Promise.resolve({ text: '{"title":"Found"}', usage: { prompt: 1, completion: 1 } }),
  );
  for (let at = 0; at < 5; at++) expect(await find(enricher, "prj_a", "A note.").extraction).toBeNull();
  isOverloaded = false;
  expect(await find(enricher, "prj_a", "A note.").extraction).toMatchObject({ title: "Found" });
});
