// Every operation as declared, for tests of what is generated from the declarations. They cannot be called, since there
// is no service behind them.

import { chatOperations } from "../../src/api/chats.ts";
import { keyOperations } from "../../src/api/keys.ts";
import { memoryOperations } from "../../src/api/memories.ts";
import { graphOperation } from "../../src/api/memory-graph.ts";
import { uploadOperation } from "../../src/api/memory-upload.ts";
import type { Operation } from "../../src/api/operation.ts";
import { projectOperations } from "../../src/api/projects.ts";
import { searchOperations } from "../../src/api/search.ts";
import { userOperations } from "../../src/api/users.ts";
import { webhookOperations } from "../../src/api/webhooks.ts";

/** The operations, in the order of the API reference. */
export const DECLARED_OPERATIONS: readonly Operation[] = [
  ...memoryOperations(absent()),
  graphOperation(absent()),
  uploadOperation(absent()),
  ...searchOperations(absent()),
  ...chatOperations(absent()),
  ...userOperations(absent()),
  ...keyOperations(absent(), absent()),
  ...projectOperations(absent()),
  ...webhookOperations(absent()),
];

function absent<Part>(): Part {
  return {} as Part;
}
