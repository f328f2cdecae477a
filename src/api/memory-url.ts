// The operations that make a memory from a URL, and fetch it again. Nothing is fetched unless a caller asks for it.

import { Fault } from "../domain/fault.ts";
import type { Memory } from "../domain/memory.ts";
import { userOf } from "../domain/scope.ts";
import { attributesOf } from "./drafts.ts";
import { memoryPathId } from "./ids.ts";
import { absent, type MemoryDependencies, statusOf } from "./memories.ts";
import { changing, type Operation, Unchanged } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";
import { fileSteps } from "./stored-file.ts";
import type { UrlFiles } from "./url-file.ts";
import { memoryView } from "./views.ts";

/** What the operations call. */
export interface UrlDependencies extends MemoryDependencies {
  readonly urlFiles: UrlFiles;
}

const FETCH_FAULTS = ["unsafe_url", "fetch_failed", "storage_quota_exceeded"] as const;

/** The operations createMemoryFromUrl and refetchMemory. */
export function urlOperations(uses: UrlDependencies): readonly Operation[] {
  const { memories, intake, progressOf, clock, urlFiles } = uses;
  const view = (memory: Memory, content: string) => memoryView({ memory, content }, progressOf);

  return [
    changing({
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
      prepare: async ({ principal, body, signal }) => {
        const { url, ocr, ...given } = body;
        const attributes = attributesOf(given, clock.now());
        userOf(principal, given.userId); // nothing is fetched for a key that may not store it
        await using fetched = await urlFiles.receive(url, signal);
        return { attributes, ...(await intake.file({ ...fetched.received, ocr: ocr ?? undefined })) };
      },
      ...fileSteps(uses),
    }),

    changing({
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
      prepare: async ({ principal, params, signal }) => {
        const id = memoryPathId(params.id);
        const before = await memories.get(principal, id);
        if (before === null) throw absent(id);
        const url = before.memory.source?.url;
        if (url === undefined) {
          throw new Fault("invalid_state", "This memory was not made from a URL, so there is nothing to fetch again.");
        }
        await using fetched = await urlFiles.receive(url, signal);
        const isFailed = before.memory.state.status === "failed";
        if (!isFailed && (await memories.isMadeFrom(principal.projectId, id, fetched.received))) {
          const now = await memories.get(principal, id);
          if (now === null) throw absent(id);
          return new Unchanged({ status: 200, body: view(now.memory, now.content) });
        }
        return { id, ...(await intake.file({ ...fetched.received, isFetchedAgain: true })) };
      },
      change: async (tx, { principal }, { id, kept: upload }) => {
        const changed = await memories.change(tx, principal, id, { content: "", upload });
        if (changed === null) throw absent(id);
        return changed;
      },
      answer: (changed) => ({ status: statusOf(changed), body: view(changed.memory, "") }),
    }),
  ];
}
