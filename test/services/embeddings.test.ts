// Limits of embeddings in tokens, at their edges, with a model that counts words.

import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../src/domain/limits.ts";
import type { Viewer } from "../../src/domain/scope.ts";
import { EmbeddingService } from "../../src/services/embeddings.ts";
import { errorOf } from "../contract/stores.ts";
import { WordModels } from "../in-memory/models.ts";
import { askerOf, NO_QUEUE } from "../support/asker.ts";

const TEXT_TOKENS = 128;
const viewer = { projectId: "prj_a", userId: null } as unknown as Viewer;
const models = new WordModels({ tokensMax: TEXT_TOKENS });
const service = new EmbeddingService(models.embedders, NO_QUEUE);
/** A text of this many tokens: one of them is special. */
const textOf = (tokens: number) =>
  Array(tokens - 1)
    .fill("word")
    .join(" ");
const embed = (texts: readonly string[], isTruncated = false) =>
  service.embed(
    viewer,
    { model: models.id, texts, purpose: "passage", isTruncated },
    (at) => `input[${at}]`,
    askerOf(),
  );

describe("embeddings", () => {
  test("return one vector per text, and the number of tokens", async () => {
    const { vectors, tokens } = await embed(["one two three", "four"]);
    expect(vectors.map(({ length }) => length)).toEqual([64, 64]);
    expect(tokens).toBe(4 + 2);
  });

  test("a text can have as many tokens as the model reads, and not one more unless it is cut off", async () => {
    expect((await embed([textOf(TEXT_TOKENS)])).tokens).toBe(TEXT_TOKENS);
    const error = await errorOf(() => embed([textOf(2), textOf(TEXT_TOKENS + 1)]));
    expect(error).toMatchObject({ code: "invalid_request", param: "input[1]" });
    expect((await embed([textOf(TEXT_TOKENS + 50)], true)).tokens).toBe(TEXT_TOKENS);
  });

  test("all texts together are limited, too", async () => {
    const texts = Array.from({ length: LIMITS.embeddingTokens / TEXT_TOKENS }, () => textOf(TEXT_TOKENS));
    expect((await embed(texts)).tokens).toBe(LIMITS.embeddingTokens);
    for (const isTruncated of [false, true]) {
      const error = await errorOf(() => embed([...texts, textOf(2)], isTruncated));
      expect(error).toMatchObject({ code: "invalid_request", param: "input" });
    }
  });

  test("end when the caller disconnects", async () => {
    const gone = AbortSignal.abort(new Error("the caller left"));
    const request = { model: models.id, texts: ["a"], purpose: "query", isTruncated: false } as const;
    expect(await errorOf(() => service.embed(viewer, request, String, askerOf(gone)))).toBe(gone.reason);
  });
});
