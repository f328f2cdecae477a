// The operations that make a memory from a URL, and fetch it again. Nothing is fetched unless a caller asks for it.

import { Fault } from "../domain/fault.ts";
import type { MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import { userOf } from "../domain/scope.ts";
import { attributesOf } from "./drafts.ts";
import { pathId } from "./ids.ts";
import { absent, type MemoryOperationsParts } from "./memories.ts";
import { type Operation, operation } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";
import { createFromFile, replayOfFile, storeWithFile } from "./stored-file.ts";
import type { UrlFiles } from "./url-file.ts";
import { memoryView } from "./views.ts";

/** What the operations need. */
export interface UrlOperationsParts extends MemoryOperationsParts {
  readonly urlFiles: UrlFiles;
}

const FETCH_FAULTS = ["unsafe_url", "fetch_failed", "storage_quota_exceeded"] as const;

/** The operations createMemoryFromUrl and refetchMemory. */
export function urlOperations({ memories, progressOf, clock, urlFiles }: UrlOperationsParts): readonly Operation[] {
  const view = (memory: Memory, content: string) => memoryView({ memory, content }, progressOf);

  return [
    operation({
      name: "createMemoryFromUrl",
      group: "Memories",
      summary: "Fetch a page or file and store its text. Nothing is stored if it cannot be fetched (422).",
      method: "POST",
      path: "/v1/memories/url",
      scope: "memories:write",
      query: NoQuery,
      body: schema.CreateMemoryFromUrl,
      answers: { 200: schema.Memory, 202: schema.Memory },
      faults: ["too_many_tags", "metadata_too_large", "document_quota_exceeded", ...FETCH_FAULTS],
      isIdempotent: true,
      run: async ({ principal, body, commit, signal }) => {
        const { url, ...given } = body;
        const attributes = attributesOf(given, clock.now());
        userOf(principal, given.userId); // nothing is fetched for a key that may not store it
        const { received, discard } = await urlFiles.receive(url, signal);
        try {
          return await createFromFile({ memories, commit, view }, principal, received, attributes);
        } finally {
          await discard();
        }
      },
      replay: replayOfFile(memories),
    }),

    operation({
      name: "refetchMemory",
      group: "Memories",
      summary:
        "Fetch the URL of a memory again. 202 if its content has changed, which is processed again; otherwise 200, and nothing changes.",
      method: "POST",
      path: "/v1/memories/:id/refetch",
      scope: "memories:write",
      query: NoQuery,
      answers: { 200: schema.Memory, 202: schema.Memory },
      faults: ["memory_not_found", "invalid_state", "payload_too_large", "unsupported_media_type", ...FETCH_FAULTS],
      run: async ({ principal, params, commit, signal }) => {
        const id = pathId<MemoryId>("mem", params.id, "memory_not_found");
        const before = await memories.get(principal, id);
        if (before === null) throw absent(id);
        const url = before.memory.source?.url;
        if (url === undefined) {
          throw new Fault("invalid_state", "This memory was not made from a URL, so there is nothing to fetch again.");
        }
        const { received, discard } = await urlFiles.receive(url, signal);
        try {
          const isFailed = before.memory.state.status === "failed";
          if (!isFailed && (await memories.isMadeFrom(principal.projectId, id, received))) {
            const now = await memories.get(principal, id);
            if (now === null) throw absent(id);
            return { status: 200, body: view(now.memory, now.content) };
          }
          const { answer } = await storeWithFile({ memories, commit, view }, received, async (tx, file) => {
            const changed = await memories.change(tx, principal, id, { content: "", upload: file });
            if (changed === null) throw absent(id);
            return changed;
          });
          return answer;
        } finally {
          await discard();
        }
      },
    }),
  ];
}
