// The operations on /v1/keys. Only creating and rotating a key return its secret.

import type { KeyId } from "../domain/ids.ts";
import type { ApiKey, IssuedKey } from "../domain/key.ts";
import { LIMITS } from "../domain/limits.ts";
import { allows, KEY_SCOPES, type KeyScope } from "../domain/scope.ts";
import { type Clock, isoTime } from "../kit/clock.ts";
import type { KeyService } from "../services/keys.ts";
import { checkFuture, refuseEmptyChange } from "./drafts.ts";
import { namedProjectId, pathId } from "./ids.ts";
import { type Answer, changing, NO_CONTENT, type Operation, reading } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/platform.ts";
import { isoTimeOrNull, listView, type View } from "./views.ts";

/** The operations on /v1/keys. */
export function keyOperations(keys: KeyService, clock: Clock): readonly Operation[] {
  return [
    changing({
      name: "createKey",
      group: "Keys",
      summary: "Create a key. Its secret is shown only once; the server stores a hash.",
      method: "POST",
      path: "/v1/keys",
      scope: "keys",
      isForConfinedKeys: false,
      query: NoQuery,
      body: schema.CreateKey,
      answers: { 201: schema.KeyWithSecret },
      faults: ["project_not_found"],
      isIdempotent: true,
      prepare: ({ body }) => ({
        name: body.name,
        scopes: body.scopes,
        userId: body.userId ?? null,
        expiresAt: body.expires_at ? checkFuture(body.expires_at, clock.now(), "expires_at") : null,
      }),
      change: (tx, { principal, body }, draft) => keys.create(tx, principal, namedProjectId(body.projectId), draft),
      answer: (issued) => issuedAnswer(201, issued),
    }),

    reading({
      name: "listKeys",
      group: "Keys",
      summary: "List keys without their secrets, newest first.",
      method: "GET",
      path: "/v1/keys",
      scope: "keys",
      isForConfinedKeys: false,
      query: schema.ListKeys,
      answers: { 200: schema.KeyList },
      faults: ["invalid_cursor", "project_not_found"],
      read: async ({ principal, query }) => {
        const { projectId: named, ...rest } = query;
        const page = await keys.list(principal, namedProjectId(named), { limit: LIMITS.pageItemsDefault, ...rest });
        return { status: 200, body: listView(page, keyView) };
      },
    }),

    reading({
      name: "getCurrentKey",
      group: "Keys",
      summary: "Read the key of this request: what it may do, and in which project.",
      method: "GET",
      path: "/v1/keys/current",
      scope: null,
      query: NoQuery,
      answers: { 200: schema.CurrentKey },
      read: async ({ principal }) => {
        const { key, project } = await keys.current(principal);
        const { id, name, plan } = project;
        return { status: 200, body: { ...keyView(key), allowed_scopes: allowedBy(key), project: { id, name, plan } } };
      },
    }),

    changing({
      name: "updateKey",
      group: "Keys",
      summary: "Change a key's name, scopes or expiry.",
      method: "PATCH",
      path: "/v1/keys/:id",
      scope: "keys",
      isForConfinedKeys: false,
      query: schema.OfProject,
      body: schema.UpdateKey,
      answers: { 200: schema.Key },
      faults: ["key_not_found", "project_not_found"],
      prepare: ({ params, body }) => {
        const id = keyId(params.id);
        const { name, scopes, expires_at } = body;
        refuseEmptyChange(body);
        const change = {
          ...(name !== undefined && { name }),
          ...(scopes !== undefined && { scopes }),
          ...(expires_at !== undefined && {
            expiresAt: expires_at === null ? null : checkFuture(expires_at, clock.now(), "expires_at"),
          }),
        };
        return { id, change };
      },
      change: (tx, { principal, query }, { id, change }) =>
        keys.change(tx, principal, namedProjectId(query.projectId), id, change),
      answer: (key) => ({ status: 200, body: keyView(key) }),
    }),

    changing({
      name: "rotateKey",
      group: "Keys",
      summary: "Give a key a new secret. The old one stays valid for `grace_seconds`.",
      method: "POST",
      path: "/v1/keys/:id/rotate",
      scope: "keys",
      isForConfinedKeys: false,
      query: schema.OfProject,
      body: schema.RotateKey,
      isBodyOptional: true,
      answers: { 200: schema.KeyWithSecret },
      faults: ["key_not_found", "project_not_found"],
      prepare: ({ params }) => keyId(params.id),
      change: (tx, { principal, query, body }, id) =>
        keys.rotate(tx, principal, namedProjectId(query.projectId), id, (body.grace_seconds ?? 0) * 1000),
      answer: (issued) => issuedAnswer(200, issued),
    }),

    changing({
      name: "deleteKey",
      group: "Keys",
      summary: "Revoke a key at once.",
      method: "DELETE",
      path: "/v1/keys/:id",
      scope: "keys",
      isForConfinedKeys: false,
      query: schema.OfProject,
      answers: { 204: null },
      faults: ["key_not_found", "project_not_found"],
      prepare: ({ params }) => keyId(params.id),
      change: (tx, { principal, query }, id) => keys.remove(tx, principal, namedProjectId(query.projectId), id),
      answer: () => NO_CONTENT,
    }),
  ];
}

/** All scopes that a key has, given or included. */
function allowedBy(key: ApiKey): readonly KeyScope[] {
  return KEY_SCOPES.filter((scope) => scope !== "*" && allows(key, scope));
}

function issuedAnswer(status: number, { key, secret }: IssuedKey): Answer {
  return { status, body: { ...keyView(key), key: secret }, remembered: keyView(key) };
}

function keyId(text: string | undefined): KeyId {
  return pathId("key", text, "key_not_found");
}

/** Converts a key, without its secret, to the schema `Key`. */
export function keyView(key: ApiKey): View<typeof schema.Key> {
  return {
    id: key.id,
    projectId: key.projectId,
    name: key.name,
    scopes: key.scopes,
    userId: key.userId,
    expires_at: isoTimeOrNull(key.expiresAt),
    last_used_at: isoTimeOrNull(key.lastUsedAt),
    last_client: key.lastClient,
    created_at: isoTime(key.createdAt),
    redacted: key.redacted,
  };
}
