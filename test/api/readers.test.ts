// Searches and questions with a reader: when it reads, what explain shows, and which models are listed. With a small
// reader of random numbers, so nothing here depends on what it says.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { startService, type TestService } from "../support/service.ts";
import { ENGLISH, MULTILINGUAL } from "../support/shipped-models.ts";
import { SMALL_READER, smallReaderFolder } from "../support/small-reader.ts";

const NOTES = [
  "The spare key is under the blue flower pot beside the back door.",
  "Dentist: Dr Okafor, Pine Street 12, Tuesday at nine.",
  "Der Zug nach Zürich fährt um acht Uhr von Gleis 7.",
];
const QUESTION = "Where is the spare key?";

let folder: string;
beforeAll(async () => {
  folder = await smallReaderFolder();
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Explained {
  readonly evidence: number | null;
  readonly stages: readonly { readonly name: string; readonly candidates: number; readonly skipped?: number }[];
}

async function explained(mneme: TestService, mode: string, query = QUESTION): Promise<Explained> {
  const { status, body } = await mneme.call("POST", "/v1/memories/search", { query, mode, explain: true });
  expect(status).toBe(200);
  return body.explain;
}

const stageNames = ({ stages }: Explained) => stages.map(({ name }) => name);

describe.each([1, 2])("a project whose embedder has a reader, with %d threads that answer", (httpThreads) => {
  let mneme: TestService;
  beforeAll(async () => {
    mneme = await startService({ config: { modelsDir: folder, embedder: MULTILINGUAL, httpThreads } });
    for (const content of NOTES) expect((await mneme.store({ content })).body.status).toBe("completed");
  });
  afterAll(() => mneme.stop());

  test("explained searches read in balanced and precise only, up to five passages", async () => {
    for (const mode of ["fast", "hybrid"]) {
      const found = await explained(mneme, mode);
      expect(stageNames(found)).not.toContain("read");
      expect(found.evidence).toBeWithin(0, 1);
    }
    for (const mode of ["balanced", "precise"]) {
      const found = await explained(mneme, mode);
      expect(found.stages).toContainEqual(expect.objectContaining({ name: "read", candidates: NOTES.length }));
      expect(found.evidence).toBeWithin(0, 1);
      // the same again, whether the result was kept or not
      expect((await explained(mneme, mode)).evidence).toBe(found.evidence);
    }
  });

  test("questions are judged in every mode by what was read", async () => {
    const unread = (await explained(mneme, "fast")).evidence;
    for (const mode of ["fast", "hybrid", "balanced", "precise"]) {
      const { status, body } = await mneme.call("POST", "/v1/memories/query", { query: QUESTION, mode });
      expect(status).toBe(200);
      expect(body.evidence).toBeWithin(0, 1);
      if (mode === "fast") expect(body.evidence).not.toBe(unread);
    }
  });

  test("the words that answer are shown in sources, and in results that were explained and read", async () => {
    const isShown = ({
      answer_spans: spans,
      content,
    }: {
      answer_spans?: { start: number; end: number }[];
      content: string;
    }) => spans?.every(({ start, end }) => start >= 0 && start < end && end <= [...content].length);
    const query = { query: QUESTION, mode: "fast" };
    const { body: answered } = await mneme.call("POST", "/v1/memories/query", query);
    for (const source of answered.sources) expect(isShown(source)).toBe(true);
    const { body: read } = await mneme.call("POST", "/v1/memories/search", {
      ...query,
      mode: "balanced",
      explain: true,
    });
    expect(read.results.map(isShown)).toEqual(NOTES.map(() => true));
    for (const unread of [
      { ...query, explain: true },
      { ...query, mode: "balanced" },
    ]) {
      const { body } = await mneme.call("POST", "/v1/memories/search", unread);
      for (const result of body.results) expect(result).not.toHaveProperty("answer_spans");
    }
  });

  test("odd questions and passages are read, too", async () => {
    for (const content of ["🎾".repeat(50), "x".repeat(5_000), `${NOTES[0]} `.repeat(60)]) {
      expect((await mneme.store({ content })).body.status).toBe("completed");
    }
    for (const query of ["?!", "🎾", "key ".repeat(1_500), "鍵はどこですか", "a\u0301".repeat(200)]) {
      const { status, body } = await mneme.call("POST", "/v1/memories/search", {
        query,
        mode: "precise",
        explain: true,
      });
      expect([200, 400]).toContain(status);
      if (status === 200 && body.explain.evidence !== null) expect(body.explain.evidence).toBeWithin(0, 1);
    }
  });
});

describe("the models", () => {
  let mneme: TestService;
  beforeAll(async () => {
    mneme = await startService({ config: { modelsDir: folder, embedder: MULTILINGUAL } });
  });
  afterAll(() => mneme.stop());

  test("list the reader with its task, and test it", async () => {
    const { body } = await mneme.call("GET", "/v1/installed-models?task=read");
    expect(body.data).toMatchObject([
      { id: SMALL_READER, task: "read", kind: "built_in", dimensions: null, status: "ready", calibration: "shipped" },
    ]);
    const { body: tested } = await mneme.call("POST", `/v1/installed-models/${SMALL_READER}/test`);
    expect(tested.ok).toBe(true);
    expect(tested.checks.map(({ name }: { name: string }) => name)).toEqual(["readings", "references"]);
  });

  test("a project shows the reader's default of min_evidence", async () => {
    expect((await mneme.call("GET", "/v1/project")).body.min_evidence).toBe(0.5);
  });

  test("a reader is no reranker, and cannot be added", async () => {
    const { id } = (await mneme.call("GET", "/v1/project")).body;
    const chosen = await mneme.call("PUT", `/v1/projects/${id}/reranker`, { model: SMALL_READER });
    expect([chosen.status, chosen.body.error?.code]).toEqual([404, "model_not_found"]);
    const remote = { api: "tei", base_url: "http://127.0.0.1:9", model: "reader", task: "read" };
    const added = await mneme.call("POST", "/v1/installed-models", { remote });
    expect(added.status).toBe(400);
  });
});

test("a project of an embedder without a reader searches and answers as before", async () => {
  const mneme = await startService({ config: { modelsDir: folder, embedder: ENGLISH } });
  try {
    await mneme.store({ content: NOTES[0] });
    expect(stageNames(await explained(mneme, "precise"))).not.toContain("read");
    const { body } = await mneme.call("POST", "/v1/memories/query", { query: QUESTION, mode: "balanced" });
    expect(body).toMatchObject({ answer_state: "answered", evidence: expect.any(Number) });
  } finally {
    await mneme.stop();
  }
});
