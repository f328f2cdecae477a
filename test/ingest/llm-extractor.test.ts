// Isolation of projects in LLM extraction: a slow or failing language model affects only the project that uses it.

import { expect, test } from "bun:test";
import { localMonthlyTokens, MonthlyTokens } from "../../src/account/monthly-tokens.ts";
import { localDailyTokens } from "../../src/account/running-tokens.ts";
import type { OperatorLlm } from "../../src/domain/language-model.ts";
import { DEFAULT_SETTINGS } from "../../src/domain/project.ts";
import { LlmExtractor } from "../../src/ingest/llm-extraction/extractor.ts";
import { createLog } from "../../src/kit/log.ts";
import type { AccountStore } from "../../src/ports/account-store.ts";
import type { Job } from "../../src/ports/job-store.ts";
import { type LanguageModel, LlmError } from "../../src/ports/language-model.ts";
import type { LlmExtractionStore } from "../../src/ports/llm-extraction-store.ts";
import { NO_OPERATOR_LLM } from "../support/llm.ts";
import { SettableClock } from "../support/service.ts";

const MIB = 1024 * 1024;
const OPERATOR: OperatorLlm = { ...NO_OPERATOR_LLM, baseUrl: "http://127.0.0.1:1/v1", model: "m" };
const extractions: LlmExtractionStore = {
  previous: async () => null,
  facts: async () => [],
  keep: async () => undefined,
  countTokens: async () => undefined,
  tokensToday: async () => 0,
};
const SETTINGS = DEFAULT_SETTINGS;
const unlimited = localMonthlyTokens({ usage: () => Promise.reject(new Error("there is no limit")) });
const monthlyTokens = new MonthlyTokens(unlimited, new SettableClock());
const accounts = { project: () => ({ settings: SETTINGS }) } as unknown as Pick<AccountStore, "project">;

function extractorWith(complete: LanguageModel["complete"]): LlmExtractor {
  const clock = new SettableClock();
  const log = createLog("silent");
  const dailyTokens = localDailyTokens(extractions);
  const uses = { accounts, extractions, monthlyTokens, dailyTokens, clock, log };
  return new LlmExtractor({ ...uses, model: { complete }, operator: OPERATOR });
}

function extract(extractor: LlmExtractor, projectId: string, content: string) {
  const notes: string[] = [];
  const job = { projectId, memory: { id: "mem_1", given: [], title: null } } as unknown as Job;
  const context = {
    signal: new AbortController().signal,
    isHeld: async () => true,
    onNote: (note: string) => notes.push(note),
  };
  const started = extractor.start({ job, content, title: null }, context);
  return { started, extraction: started.then(({ extraction }) => extraction), notes };
}

test("if too much text of a project waits, more is extracted locally at once, and other projects still use the model", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const extractor = extractorWith(async () => {
    await released;
    return { text: '{"title":"Found"}', usage: { prompt: 1, completion: 1 } };
  });
  const huge = "x".repeat(40 * MIB);
  const first = extract(extractor, "prj_a", huge);
  await first.started;
  const second = extract(extractor, "prj_a", "A note.");
  const other = extract(extractor, "prj_b", "A note.");
  expect(await second.started).toEqual({ isSmart: true, isPending: false, extraction: null });
  expect(second.notes).toEqual(["Too much text waits for the language model: extracted locally."]);
  expect(extractor.saturatedProjects()).toEqual(["prj_a"] as never);
  release();
  expect(await first.extraction).toMatchObject({ title: "Found" });
  expect(await other.extraction).toMatchObject({ title: "Found" });
  expect(await extract(extractor, "prj_a", "A note.").extraction).toMatchObject({ title: "Found" });
});

test("failures that a project's own texts or settings cause do not block the endpoint for other projects", async () => {
  let answer: "too_long" | "malformed" | "fine" = "too_long";
  const extractor = extractorWith(() =>
    answer === "fine"
      ? Promise.resolve({ text: '{"title":"Found"}', usage: { prompt: 1, completion: 1 } })
      : Promise.reject(new LlmError(answer, "the answer is unusable")),
  );
  for (answer of ["too_long", "malformed", "too_long", "malformed"] as const) {
    expect(await extract(extractor, "prj_a", "A note.").extraction).toBeNull();
  }
  answer = "fine";
  expect(await extract(extractor, "prj_a", "A note.").extraction).toBeNull(); // the circuit is open
  expect(await extract(extractor, "prj_b", "A note.").extraction).toMatchObject({ title: "Found" });
});

test("calls that were not made, because the project makes too many, do not count as failures of the endpoint", async () => {
  let isOverloaded = true;
  const extractor = extractorWith(() =>
    isOverloaded
      ? Promise.reject(new LlmError("overloaded", "too many calls of the project wait already"))
      : Promise.resolve({ text: '{"title":"Found"}', usage: { prompt: 1, completion: 1 } }),
  );
  for (let at = 0; at < 5; at++) expect(await extract(extractor, "prj_a", "A note.").extraction).toBeNull();
  isOverloaded = false;
  expect(await extract(extractor, "prj_a", "A note.").extraction).toMatchObject({ title: "Found" });
});
