// The scopes of keys and what each allows.

import type { KeyScope } from "../../../../domain/scope.ts";

/** Scopes in the order in which they are offered. */
export const SCOPES: readonly (readonly [KeyScope, string])[] = [
  ["memories:read", "search and list memories"],
  ["memories:write", "store, change and delete memories"],
  ["query", "ask questions"],
  ["chats:read", "read chats"],
  ["chats:write", "write chats"],
  ["users:read", "read users and events"],
  ["users:write", "change and delete users"],
  ["webhooks", "manage webhooks"],
  ["keys", "manage keys"],
  ["usage", "read the usage"],
  ["project", "read and change settings"],
  ["*", "all of these"],
  ["admin", "all projects of the server"],
];
