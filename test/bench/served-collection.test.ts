// Collections in kept data directories: filled once, found again, refused when they are not what is asked for; and a search
// over such a directory without a server gives what its server gave.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ask } from "../../bench/lib/ask.ts";
import { haystackHolding, passagesHolding } from "../../bench/lib/haystack.ts";
import { openRetrieval } from "../../bench/lib/opened.ts";
import { collectionHolding, documentNames, documentsAt, serve } from "../../bench/lib/served-collection.ts";
import { Client } from "../../src/cli/client.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { search } from "../../src/retrieval/plan.ts";

const TIMEOUT_MS = 120_000;
const QUESTION = "When does the ferry to the island leave?";
const DOCUMENTS = [
  { _id: "ferry", title: "Ferry", text: "The ferry to the island leaves at nine in the morning." },
  { _id: "bakery", title: "", text: "The bakery opens at six and sells rye bread." },
  { _id: "title only", title: "Opening hours of the lighthouse", text: "" },
  { _id: "empty", title: "", text: "" },
];
const HAY = [
  { _id: "hay-0", title: "A novel", text: "She looked out of the window and thought of the sea." },
  { _id: "hay-1", title: "A novel", text: "The carriage rolled along the muddy road to the village." },
];

let root: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "mneme-kept-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

function collection(name: string, documents: readonly object[]): string {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "corpus.jsonl.gz"),
    gzipSync(documents.map((each) => `${JSON.stringify(each)}\n`).join("")),
  );
  return folder;
}

// What a promise was rejected with; undefined where it was not.
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("a kept collection", () => {
  test(
    "is filled once, found again, and searched without a server as with one",
    async () => {
      const folder = collection("first", DOCUMENTS);
      const data = join(root, "data");
      const holding = await collectionHolding("first", folder);
      expect([...holding.externalIds]).toEqual(["ferry", "bakery", "title only"]);
      await (await serve(holding, data)).stop();

      const refused = { ...holding, fill: () => Promise.reject(new Error("it is filled already")) };
      const server = await serve(refused, data);
      const client = new Client(server.url, server.key);
      const question = { query: QUESTION, mode: "precise", limit: 10 } as const;
      const asked = await ask(client, question, await documentNames(client, folder));
      await server.stop();
      expect(asked.documents[0]).toBe("ferry");
      expect(asked.admissible).toBe(3);

      await using opened = await openRetrieval(join(data, "first"));
      const documentAt = await documentsAt(folder);
      const { results } = await search(opened.parts, {
        ...question,
        scoreMin: 0,
        includeGraph: false,
        scope: { projectId: opened.projectId, user: null },
        filter: null,
      });
      expect(results.map(({ memory, place }) => documentAt(String(memory.externalId), place.start))).toEqual([
        ...asked.documents,
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    "is refused when it lacks something or holds something else",
    async () => {
      const data = join(root, "other data");
      await (await serve(await collectionHolding("second", collection("second", DOCUMENTS)), data)).stop();
      const more = collection("second", [...DOCUMENTS, { _id: "late", title: "", text: "Added later." }]);
      const lacking = await refusal(serve(await collectionHolding("second", more), data));
      expect(lacking).toBeInstanceOf(UsageError);
      expect(String(lacking)).toContain("1 of them are not there, and 0 others are");
      const fewer = collection("second", DOCUMENTS.slice(0, 1));
      const foreign = await refusal(serve(await collectionHolding("second", fewer), data));
      expect(String(foreign)).toContain("0 of them are not there, and 2 others are");
    },
    TIMEOUT_MS,
  );

  test(
    "is hidden among passages that are stored once, and both are there",
    async () => {
      const folder = collection("third", DOCUMENTS);
      const file = join(root, "hay.jsonl");
      writeFileSync(file, HAY.map((each) => `${JSON.stringify(each)}\n`).join(""));
      const data = join(root, "hay data");
      const hay = await passagesHolding(file, 2);
      const holding = await haystackHolding("third", folder, hay, data);
      await using server = await serve(holding, data);
      const client = new Client(server.url, server.key);
      const asked = await ask(
        client,
        { query: QUESTION, mode: "fast", limit: 10 },
        await documentNames(client, folder),
      );
      expect(asked.documents[0]).toBe("ferry");
      expect([...asked.documents].sort()).toEqual(["bakery", "ferry", "hay-0", "hay-1", "title only"]);
      await using passages = await serve(hay, data); // as they were, for the next collection
      expect(passages.dataDir).toBe(join(data, "passages-2"));
    },
    TIMEOUT_MS,
  );
});
