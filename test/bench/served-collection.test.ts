// Collections in kept data directories: a directory is filled once, then reused, and refused if its content is wrong. A
// search in such a directory without a server gives the same results as the server.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ask } from "../../bench/lib/ask.ts";
import { openRetrieval } from "../../bench/lib/open-retrieval.ts";
import { collectionContent, documentNames, documentsAt, serve } from "../../bench/lib/served-collection.ts";
import { Client } from "../../src/cli/client.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { search } from "../../src/retrieval/search.ts";

const QUESTION = "When does the ferry to the island leave?";
const DOCUMENTS = [
  { _id: "ferry", title: "Ferry", text: "The ferry to the island leaves at nine in the morning." },
  { _id: "bakery", title: "", text: "The bakery opens at six and sells rye bread." },
  { _id: "title only", title: "Opening hours of the lighthouse", text: "" },
  { _id: "empty", title: "", text: "" },
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

// The error with which a promise was rejected; undefined if it was resolved.
function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

test("a kept collection is filled once and reused, searched without a server, and refused with other memories", async () => {
  const folder = collection("first", DOCUMENTS);
  const data = join(root, "data");
  const holding = await collectionContent("first", folder);
  expect([...holding.externalIds]).toEqual(["ferry", "bakery", "title only"]);
  await (await serve(holding, data)).stop();

  const refused = { ...holding, fill: () => Promise.reject(new Error("the directory must not be filled again")) };
  const server = await serve(refused, data);
  const client = new Client(server.url, server.key);
  const question = { query: QUESTION, mode: "precise", limit: 10 } as const;
  const asked = await ask(client, question, await documentNames(client, folder));
  await server.stop();
  expect(asked.documents[0]).toBe("ferry");
  expect(asked.admissible).toBe(3);

  const opened = await openRetrieval(join(data, "first"));
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
  await opened[Symbol.asyncDispose]();

  const more = collection("first", [...DOCUMENTS, { _id: "late", title: "", text: "Added later." }]);
  const lacking = await refusal(serve(await collectionContent("first", more), data));
  expect(lacking).toBeInstanceOf(UsageError);
  expect(String(lacking)).toContain("1 of them are missing and it has 0 others");
  const fewer = collection("first", DOCUMENTS.slice(0, 1));
  const foreign = await refusal(serve(await collectionContent("first", fewer), data));
  expect(String(foreign)).toContain("0 of them are missing and it has 2 others");
});
