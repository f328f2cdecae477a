// Orama behind JSON lines. `serve.mjs MODULES build FILE` reads passages from standard input and writes the index,
// `serve.mjs MODULES serve FILE` answers questions. MODULES is the folder node_modules that has Orama.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { deserialize, serialize } from "node:v8";

const LIMIT = 10;
const BATCH = 500;
const DIMENSIONS = 384;
const [modules = "", verb, file] = process.argv.slice(2);
const { create, insertMultiple, load, save, search } = createRequire(join(modules, "any.js"))("@orama/orama");

const empty = () =>
  create({
    schema: { id: "string", text: "string", embedding: `vector[${DIMENSIONS}]` },
    components: { tokenizer: { language: "english", stemming: true } },
  });

async function build() {
  const db = empty();
  let rows = [];
  for await (const line of createInterface({ input: process.stdin })) {
    rows.push(JSON.parse(line));
    if (rows.length < BATCH) continue;
    await insertMultiple(db, rows, BATCH);
    rows = [];
  }
  await insertMultiple(db, rows, BATCH);
  // the formats of its persistence plugin exceed the maximum length of a string; this stores what they would store
  writeFileSync(file, serialize(save(db)));
}

async function serve() {
  const db = empty();
  load(db, deserialize(readFileSync(file)));
  process.stdout.write("ready\n");
  for await (const line of createInterface({ input: process.stdin })) {
    const { number, mode, term, vector } = JSON.parse(line);
    try {
      const found = await search(db, {
        mode,
        term: mode === "vector" ? undefined : term,
        properties: ["text"],
        vector: { value: vector, property: "embedding" },
        similarity: 0,
        limit: LIMIT,
      });
      const hits = found.hits.map(({ document }) => ({ id: document.id, text: document.text }));
      process.stdout.write(`${JSON.stringify({ number, hits })}\n`);
    } catch (error) {
      process.stdout.write(`${JSON.stringify({ number, error: String(error) })}\n`);
    }
  }
}

await (verb === "build" ? build() : serve());
