// The operations on /v1/keys. Only creating and rotating a key return its secret.

import type { KeyId } from "../domain/ids.ts";
import type { IssuedKey } from "../domain/key.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Clock } from "../kit/clock.ts";
import type { KeyService } from "../services/keys.ts";
import { checkFuture, refuseEmptyChange } from "./drafts.ts";
import { namedProjectId, pathId } from "./ids.ts";
import { type Answer, type Operation, operation } from "./operation.ts";
import { NoQuery } from "./schema/fields.ts";
import * as schema from "./schema/platform.ts";
import { keyView, listView } from "./views.ts";

/** The operations on /v1/keys. */
export function keyOperations(keys: KeyService, clock: Clock): readonly Operation[] {
  return [
    operation({
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
      run: async ({ principal, body, commit }) => {
        const draft = {
          name: body.name,
          scopes: body.scopes,
          userId: body.userId ?? null,
          expiresAt: body.expires_at ? checkFuture(body.expires_at, clock.now(), "expires_at") : null,
        };
        return commit(async (tx) =>
          issuedAnswer(201, await keys.create(tx, principal, namedProjectId(body.projectId), draft)),
        );
      },
    }),

    operation({
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
      run: async ({ principal, query }) => {
        const { projectId: named, ...rest } = query;
        const page = await keys.list(principal, namedProjectId(named), { limit: LIMITS.pageItemsDefault, ...rest });
        return { status: 200, body: listView(page, keyView) };
      },
    }),

    operation({
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
      run: async ({ principal, params, query, body, commit }) => {
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
        return commit(async (tx) => {
          const key = await keys.change(tx, principal, namedProjectId(query.projectId), id, change);
          return { status: 200, body: keyView(key) };
        });
      },
    }),

    operation({
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
      run: async ({ principal, params, query, body, commit }) => {
        const id = keyId(params.id);
        const graceMs = (body.grace_seconds ?? 0) * 1000;
        return commit(async (tx) =>
          issuedAnswer(200, await keys.rotate(tx, principal, namedProjectId(query.projectId), id, graceMs)),
        );
      },
    }),

    operation({
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
      run: async ({ principal, params, query, commit }) => {
        const id = keyId(params.id);
        return commit(async (tx) => {
          await keys.remove(tx, principal, namedProjectId(query.projectId), id);
          return { status: 204, body: null };
        });
      },
    }),
  ];
}

function issuedAnswer(status: number, { key, secret }: IssuedKey): Answer {
  return { status, body: { ...keyView(key), key: secret }, remembered: keyView(key) };
}

function keyId(text: string | undefined): KeyId {
  return pathId("key", text, "key_not_found");
}
