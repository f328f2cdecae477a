// The contract of JsonBodies, in the native core and in memory.

import { expect, test } from "bun:test";
import { nativeJsonBodies } from "../../src/adapters/native/json-bodies.ts";
import { jsonBodiesContract } from "../contract/json-bodies.ts";
import { inMemoryJsonBodies } from "../in-memory/json-bodies.ts";

jsonBodiesContract("The native core", nativeJsonBodies);
jsonBodiesContract("In-memory", inMemoryJsonBodies);

test("a body is freed when it is released, before and after it is parsed", async () => {
  const limits = { depth: 9, values: 99, partValues: 99, partMembers: 99, areItemsParts: false };
  const json = Buffer.from(`["${"x".repeat(100_000)}"]`);
  const parsed = nativeJsonBodies.begin(limits);
  expect(parsed.add(json)).toBeNull();
  const { longTexts, release } = await parsed.parse(() => true);
  const [text] = longTexts.values();
  expect(text?.bytes).toBe(100_000);
  release();
  expect(() => [...(text?.pieces() ?? [])]).toThrow("was not parsed");
  const unparsed = nativeJsonBodies.begin(limits);
  unparsed.add(json);
  unparsed.release();
  expect(() => unparsed.add(json)).toThrow("complete");
});
