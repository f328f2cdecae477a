// Requests and answers of deletions by conditions.

import { type Static, Type } from "@sinclair/typebox";
import { Text } from "../check.ts";
import { scopeFields } from "./attributes.ts";
import { Body, Filters, OneOf, Optional, Time } from "./fields.ts";

/** Body of deleteMemories. At least one condition is needed. */
export const DeleteMemories = Body({
  ...scopeFields,
  filters: Type.Optional(Filters),
  dryRun: Optional(Type.Boolean({ default: false, description: "true: only count the memories that match" })),
  matched: Optional(
    Type.Integer({
      minimum: 0,
      description: "number from a dry run: if another number matches now, nothing is deleted",
    }),
  ),
});
/** A checked body of deleteMemories. */
export type DeleteMemories = Static<typeof DeleteMemories>;

/** Answer of a dry run of deleteMemories. */
export const MatchedMemories = Type.Object(
  { matched: Type.Integer({ description: "memories that match now, in any status" }) },
  { $id: "MatchedMemories" },
);

/** A deletion of many memories. */
export const Job = Type.Object(
  {
    id: Text({ description: "job_…" }),
    status: OneOf(["processing", "completed", "failed"]),
    matched: Type.Integer({ description: "memories that matched when the job was accepted" }),
    deleted: Type.Integer({
      description: "memories deleted so far, with the parts of containers: absent from every answer",
    }),
    created_at: Time,
    updated_at: Time,
    error: Type.Optional(
      Type.Object({ code: OneOf(["processing_error"]), message: Text() }, { description: "present when failed" }),
    ),
  },
  { $id: "Job" },
);
