// The error body of the API.

import { Type } from "@sinclair/typebox";
import { FAULT_CODES } from "../catalogue.ts";
import { Text } from "../check.ts";
import { OneOf } from "./fields.ts";

/** `error` of an error body, and of a refused item of a batch. */
export const ErrorBody = Type.Recursive(
  (Self) =>
    Type.Object({
      code: OneOf(FAULT_CODES, "see the table of error codes"),
      message: Text({ description: "what is wrong, and what would be right" }),
      status: Type.Integer({ description: "the HTTP status" }),
      param: Type.Optional(Text({ description: "the field, query parameter or header that is wrong" })),
      request_id: Type.Optional(Text()),
      retry_after_seconds: Type.Optional(Type.Integer()),
      items: Type.Optional(Type.Array(Type.Object({ index: Type.Integer(), error: Self }))),
    }),
  { $id: "ErrorBody" },
);

/** The body of every answer with a status of 400 or higher. */
export const ErrorAnswer = Type.Object({ error: ErrorBody }, { $id: "Error" });
