// The steps of the operations that make a memory from a file: uploaded, or fetched from a URL.

import { countsWithoutParts, type PartCounts } from "../domain/containers.ts";
import type { Memory, ReceivedFile } from "../domain/memory.ts";
import type { Accepted } from "../ports/memory-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { Kept } from "../services/intake.ts";
import { isToProcess } from "../services/memories.ts";
import type { attributesOf } from "./drafts.ts";
import { type MemoryDependencies, only, statusOf, withStoredContent } from "./memories.ts";
import type { Answer, Call, Operation } from "./operation.ts";
import { memoryView } from "./views.ts";

/** What `prepare` returns: the file on disk, and the attributes of its memory. */
type FileDraft = Kept<ReceivedFile> & { readonly attributes: ReturnType<typeof attributesOf> };

/** The steps after `prepare`. They create a memory, or update the one with its `externalId`. */
export function fileSteps({ memories, progressOf }: Pick<MemoryDependencies, "memories" | "progressOf">) {
  const view = (memory: Memory, content: string, parts?: PartCounts) =>
    memoryView({ memory, content, ...(parts !== undefined && { parts }) }, progressOf);
  return {
    change: async (tx: Transaction, { principal }: Call, { kept: upload, attributes }: FileDraft) =>
      only(await memories.create(tx, principal, [{ ...attributes, content: "", upload }])),
    // the content is known only when ingestion has read the file
    answer: (accepted: Accepted): Answer => ({
      status: statusOf(accepted),
      body: view(accepted.memory, "", countsWithoutParts(accepted.memory.source)),
    }),
    finish: async (answer: Answer, { outcome, memory }: Accepted, { principal }: Call): Promise<Answer> => {
      if (isToProcess(outcome)) return answer;
      const [shown] = await memories.withContents(principal.projectId, [memory]);
      return { status: answer.status, body: view(memory, shown?.content ?? "", shown?.parts) };
    },
    // with 202, the first answer had no content either
    replay: (remembered: Answer, { principal }: Call) => {
      const { status, body } = remembered;
      return status === 202
        ? remembered
        : withStoredContent(memories, principal, (body as { readonly id: string }).id, status, body);
    },
  } satisfies Partial<Operation> & Record<"change" | "answer" | "finish", unknown>;
}
