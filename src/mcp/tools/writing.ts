// The tools that change something: add_memory, update_memory, delete_memory.

import { Type } from "@sinclair/typebox";
import { Text } from "../../api/check.ts";
import { ofMemory } from "../../api/operation-calls.ts";
import { Body, described, OneOf, Optional } from "../../api/schema/fields.ts";
import { CreateMemory, UpdateMemory } from "../../api/schema/memories.ts";
import type { MemoryId } from "../../domain/ids.ts";
import { LIMITS } from "../../domain/limits.ts";
import type { JsonRecord } from "../../kit/record.ts";
import { MemoryIdArgument, type Tool, type ToolCall, tool } from "../tool.ts";

/** Longest wait for a memory to become searchable, in seconds. Clients give up on a call after 60. */
const WAIT_SECONDS_MAX = 50;
const WAIT_SECONDS_DEFAULT = 20;

const WaitSeconds = Optional(
  Type.Integer({
    minimum: 0,
    maximum: WAIT_SECONDS_MAX,
    default: WAIT_SECONDS_DEFAULT,
    description: "How long to wait until searches find the text; 0 to return at once",
  }),
);

const Stored = Type.Object({
  memory_id: Text({ description: "mem_…" }),
  status: OneOf(["processing", "completed", "failed"]),
  searchable: Type.Boolean({ description: "Whether searches find it now" }),
  note: Type.Optional(Text()),
});

const { content, externalId, ...others } = CreateMemory.properties;
const attributes = {
  ...others,
  userId: described(others.userId, "User whom the memory belongs to; leave out for a memory of the whole project"),
};

/** Stores a text and waits until it is searchable. */
export const addMemory: Tool = tool({
  name: "add_memory",
  title: "Store a memory",
  description:
    "Stores a text so that it can be found later: a fact, a preference, a decision, a note, a conversation. Write it so that it is understood on its own, with names and dates. Returns when it is searchable, or says that it is not yet.",
  scope: "memories:write",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false },
  input: Body({
    content: described(content, "The text to store"),
    ...attributes,
    externalId: described(externalId, "Your own id; a text with a known one replaces the earlier text"),
    wait_seconds: WaitSeconds,
    idempotency_key: Optional(
      Text({
        minLength: 1,
        maxLength: LIMITS.idempotencyKeyCharacters,
        description: "A repeated call with the same key and arguments stores nothing again, for 24 hours",
      }),
    ),
  }),
  output: Stored,
  run: async ({ wait_seconds, idempotency_key, ...body }, call) => {
    const memory = await call.operations.call("createMemory", { body, idempotencyKey: idempotency_key ?? undefined });
    return stored(memory, wait_seconds, call);
  },
});

/** Changes a memory. */
export const updateMemory: Tool = tool({
  name: "update_memory",
  title: "Correct a memory",
  description:
    "Changes a memory, for example when a fact is no longer true. Fields that you leave out stay unchanged, and null clears a field. A new content replaces the old text completely.",
  scope: "memories:write",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  input: Body({
    memory_id: MemoryIdArgument,
    content: Type.Optional(described(UpdateMemory.properties.content, "A new text, in place of the old one")),
    ...attributes,
    externalId,
    wait_seconds: WaitSeconds,
  }),
  output: Stored,
  run: async ({ memory_id, wait_seconds, ...body }, call) => {
    const memory = await call.operations.call("updateMemory", { ...ofMemory(memory_id), body });
    return stored(memory, wait_seconds, call);
  },
});

/** Deletes a memory. */
export const deleteMemory: Tool = tool({
  name: "delete_memory",
  title: "Forget a memory",
  description: "Deletes a memory. It disappears from all searches, lists and answers at once.",
  scope: "memories:write",
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  input: Body({
    memory_id: MemoryIdArgument,
    purge: Optional(
      Type.Boolean({ default: false, description: "true: erase it for good now, instead of after the retention" }),
    ),
  }),
  output: Type.Object({ memory_id: Text(), deleted: Type.Boolean(), purged: Type.Boolean() }),
  run: async ({ memory_id, purge }, { operations }) => {
    await operations.call("deleteMemory", { ...ofMemory(memory_id), query: { purge } });
    return { memory_id, deleted: true, purged: purge ?? false };
  },
});

async function stored(memory: JsonRecord, waitSeconds: number | null | undefined, call: ToolCall) {
  const id = memory.id as MemoryId;
  const seconds = waitSeconds ?? WAIT_SECONDS_DEFAULT;
  const settled = await call.settled(id, seconds * 1000);
  const status = settled?.state.status ?? "processing";
  const searchable = status === "completed";
  return { memory_id: id, status, searchable, ...noteOf(status, seconds, settled?.state) };
}

function noteOf(status: string, seconds: number, state: object | undefined): { note?: string } {
  if (status === "completed") return {};
  if (status === "processing") {
    const waited = seconds === 0 ? "" : ` after ${seconds} s`;
    return { note: `Stored, but not searchable yet${waited}. It will be; nothing more needs to be done.` };
  }
  const { message } = (state as { readonly error: { readonly message: string } }).error;
  return { note: `Stored, but it cannot be searched: ${message}` };
}
