// The error body of the interface.

import { Type } from "@sinclair/typebox";
import { FAULT_CODES } from "../catalogue.ts";
import { Text } from "../check.ts";
import { OneOf } from "./fields.ts";

/** `error` of an error body, and of a batch's item. */
export const ErrorBody = Type.Recursive(
  (Self) =>
    Type.Object({
      code: OneOf(FAULT_CODES, "see the table of codes"),
      message: Text({ description: "what is wrong and what would be right" }),
      status: Type.Integer({ description: "the HTTP status" }),
      param: Type.Optional(Text({ description: "the field, query parameter or header at fault" })),
      request_id: Type.Optional(Text()),
      retry_after_seconds: Type.Optional(Type.Integer()),
      items: Type.Optional(Type.Array(Type.Object({ index: Type.Integer(), error: Self }))),
    }),
  { $id: "ErrorBody" },
);

/** The body of every answer from 400 on. */
export const ErrorAnswer = Type.Object({ error: ErrorBody }, { $id: "Error" });
