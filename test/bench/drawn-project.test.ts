// Tests that a project whose vectors are drawn is imported with these vectors.

import { expect, test } from "bun:test";
import { importDrawnProject } from "../../bench/lib/drawn-project.ts";
import { vectorSource } from "../../bench/lib/drawn-vectors.ts";
import { generatedPassage } from "../../bench/lib/generated-corpus.ts";
import { benchEmbedder, benchTokenizer } from "../../bench/lib/models.ts";
import { Target } from "../../bench/lib/target.ts";
import { fingerprintOf } from "../../src/adapters/inference/model-files.ts";
import { commandsTo } from "../../src/compose/control-socket.ts";
import { parseExportRecord, type RecordOf } from "../../src/domain/project-export.ts";
import { sha256OfInputs } from "../../src/ingest/imported-vectors.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { prepare } from "../../src/preparation/prepare.ts";
import { startServer } from "../support/server.ts";

const MEMORIES = 300;
/** Largest difference of a component to the one that was drawn, because vectors are stored with 16 bits. */
const ROUNDING = 1e-3;

test("a drawn project is searchable with the vectors that were drawn", async () => {
  await using server = await startServer();
  const embedder = benchEmbedder();
  const tokenizer = benchTokenizer();
  const passages = Array.from({ length: MEMORIES }, (_, n) => generatedPassage(3, n));
  const progress: number[] = [];
  const { projectId, chunks } = await importDrawnProject(server.dataDir, {
    name: "drawn",
    createdAt: systemClock.now(),
    passages,
    chunkTexts: async (batch) =>
      batch.map((passage) => {
        const given = { ...passage, ...{ tags: null, language: null, date: null, createdAt: null } };
        const prepared = prepare(given, { countTokens: (text) => tokenizer.count(text) }, embedder.chunkTokens);
        return prepared.chunks.map((chunk) => prepared.texts.embeddedText(chunk));
      }),
    inputsSha256: sha256OfInputs,
    fingerprint: fingerprintOf(embedder),
    dimensions: embedder.dimensions,
    draw: vectorSource(7, embedder.dimensions),
    onProgress: (made) => progress.push(made),
  });
  expect(chunks).toBe(MEMORIES);
  expect(progress).toEqual([256, MEMORIES]);
  const target = new Target(server.url, server.key);
  await target.useProject(projectId);
  await target.untilSettled();

  const exported = await commandsTo(server.dataDir)(new Request(`http://mneme/export?project=${projectId}&vectors=1`));
  const lines = (await exported.text()).trimEnd().split("\n").slice(1, -1).map(parseExportRecord);
  const numberOf = new Map<string, number>();
  for (const memory of lines.filter((line): line is RecordOf<"memory"> => line.type === "memory")) {
    expect(memory.status).toBe("completed");
    numberOf.set(memory.id, Number(memory.externalId?.replace("generated-", "")));
  }
  const vectors = lines.filter((line): line is RecordOf<"vectors"> => line.type === "vectors");
  expect(vectors).toHaveLength(MEMORIES);
  const drawn = vectorSource(7, embedder.dimensions);
  const all = Array.from({ length: MEMORIES }, () => drawn(1));
  for (const { memory_id, data } of vectors) {
    const expected = all[numberOf.get(memory_id) ?? -1] ?? new Float32Array();
    const bytes = Buffer.from(data, "base64");
    const difference = expected.map((component, at) => Math.abs(component - bytes.readFloatLE(4 * at)));
    expect(Math.max(...difference)).toBeLessThan(ROUNDING);
  }
  const { hits } = await target.ask(
    { id: "q", text: passages[5]?.content ?? "", userId: null, asOf: null, judgements: new Map() },
    { mode: "hybrid" },
  );
  expect(hits.map(({ content }) => content)).toContain(passages[5]?.content ?? "none");
});
