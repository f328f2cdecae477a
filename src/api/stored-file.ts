// Stores memories that are made from files, for the operations that upload a file or fetch one.

import { invariant } from "../domain/fault.ts";
import type { Memory, ReceivedFile } from "../domain/memory.ts";
import type { Principal } from "../domain/scope.ts";
import type { Accepted } from "../ports/memory-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import { isToProcess, type MemoryService } from "../services/memories.ts";
import { only, statusOf, withStoredContent } from "./memories.ts";
import type { Answer, Call, Operation } from "./operation.ts";

/** A file on disk that becomes the content of a memory. */
export type FileOnDisk = Omit<ReceivedFile, "file"> & { readonly path: string };

/** What storing needs. */
export interface FileStoringParts {
  readonly memories: MemoryService;
  readonly commit: Call<unknown, unknown>["commit"];
  readonly view: (memory: Memory, content: string) => unknown;
}

/** Stores a memory with a file in one transaction. Returns the outcome, and the answer without a content. */
export async function storeWithFile(
  { memories, commit, view }: FileStoringParts,
  upload: FileOnDisk,
  store: (transaction: Transaction, file: ReceivedFile) => Promise<Accepted>,
): Promise<{ readonly accepted: Accepted; readonly answer: Answer }> {
  let answer: Answer | null = null;
  const accepted = await memories.withUpload(upload, async (file) => {
    let stored: Accepted | null = null;
    answer = await commit(async (transaction) => {
      stored = await store(transaction, file);
      return { status: statusOf(stored), body: view(stored.memory, "") };
    });
    invariant(stored, "what was committed was stored");
    return stored;
  });
  invariant(answer, "what was stored was answered");
  return { accepted, answer };
}

/** Creates a memory from a file, or updates the one with its `externalId`. Returns the answer. */
export async function createFromFile(
  parts: FileStoringParts,
  principal: Principal,
  upload: FileOnDisk,
  attributes: Omit<Parameters<MemoryService["create"]>[2][number], "content" | "upload">,
): Promise<Answer> {
  const { memories, view } = parts;
  const { accepted, answer } = await storeWithFile(parts, upload, async (transaction, file) =>
    only(await memories.create(transaction, principal, [{ ...attributes, content: "", upload: file }])),
  );
  if (isToProcess(accepted.outcome)) return answer;
  const [shown] = await memories.withContents(principal.projectId, [accepted.memory]);
  return { status: answer.status, body: view(accepted.memory, shown?.content ?? "") };
}

/** The answer to a repeated request. With 202, the file was not read yet, so the first answer had no content either. */
export function replayOfFile(memories: MemoryService): NonNullable<Operation["replay"]> {
  return ({ status, body }, { principal }) =>
    status === 202
      ? { status, body }
      : withStoredContent(memories, principal, (body as { readonly id: string }).id, status, body);
}
