// The operation that stores a file as a memory. upload.ts receives the form, and ingestion reads the file later.

import { invariant } from "../domain/fault.ts";
import { OCR_MODES, type OcrMode } from "../domain/memory.ts";
import type { JsonBodies } from "../ports/json-bodies.ts";
import type { FileOnDisk } from "../services/intake.ts";
import { parseField } from "./body.ts";
import { check } from "./check.ts";
import { attributesOf } from "./drafts.ts";
import type { MemoryDependencies } from "./memories.ts";
import { changing, type Operation } from "./operation.ts";
import { Body, JsonMap, NoQuery, Optional } from "./schema/fields.ts";
import * as schema from "./schema/memories.ts";
import { fileSteps } from "./stored-file.ts";
import type { Upload } from "./upload.ts";

/** What the operation calls. */
export interface UploadDependencies extends MemoryDependencies {
  readonly jsonBodies: JsonBodies;
}

/** The operation POST /v1/memories/upload. */
export function uploadOperation({ jsonBodies, clock, ...memories }: UploadDependencies): Operation {
  return changing({
    name: "uploadMemory",
    group: "Memories",
    summary: "Store a file. An existing `externalId` updates its memory: 202 if the file has changed, otherwise 200.",
    method: "POST",
    path: "/v1/memories/upload",
    scope: "memories:write",
    query: NoQuery,
    body: schema.UploadFields,
    takesFile: true,
    answers: { 200: schema.Memory, 202: schema.Memory },
    faults: ["too_many_tags", "metadata_too_large", "document_quota_exceeded", "storage_quota_exceeded"],
    isIdempotent: true,
    prepare: async ({ body, upload }) => {
      invariant(upload, "uploadMemory is called with a file");
      const { ocr, ...fields } = body;
      const attributes = attributesIn(jsonBodies, fields, clock.now());
      return { attributes, ...(await memories.intake.file({ ...receivedFile(upload), ocr: ocrIn(ocr) })) };
    },
    ...fileSteps(memories),
  });
}

type Fields = Parameters<typeof attributesOf>[0];

/** Schema of the fields that are sent as JSON, because all fields of a form are texts. */
const Structured = Body({ tags: schema.CreateMemory.properties.tags, metadata: Optional(JsonMap) });

/** The attributes in a form's fields. An empty text counts as absent, because web forms send every field. */
function attributesIn(
  bodies: JsonBodies,
  texts: Readonly<Record<string, string | undefined>>,
  nowMs: number,
): ReturnType<typeof attributesOf> {
  const { tags, metadata, ...plain } = Object.fromEntries(
    Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""),
  );
  const structured = check(Structured, {
    ...(tags !== undefined && { tags: parseField(bodies, tags, "tags") }),
    ...(metadata !== undefined && { metadata: parseField(bodies, metadata, "metadata") }),
  });
  return attributesOf({ ...plain, ...structured } as Fields, nowMs);
}

/** The field `ocr`. An empty text counts as absent. */
function ocrIn(text: string | null | undefined): OcrMode | undefined {
  return OCR_MODES.find((mode) => mode === text);
}

function receivedFile({ sha256, file }: Upload): FileOnDisk {
  const { path, filename, mediaType, bytes } = file;
  return { path, bytes, sha256: Buffer.from(sha256, "hex"), source: { filename, media_type: mediaType, bytes } };
}
