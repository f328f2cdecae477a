// The caller who needs no API key, because it can open the data directory: `mneme mcp` without the address of a server.

import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { Principal } from "../domain/scope.ts";

/** A caller with an API key that exists only in the memory of this process. */
export class LocalCaller {
  readonly #secret = `ctx_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
  readonly #principal: Principal;

  /** @param projectId project whose memories the caller may read and write */
  constructor(projectId: ProjectId) {
    this.#principal = {
      projectId,
      userId: null,
      keyId: "key_local" as KeyId,
      scopes: ["memories:read", "memories:write", "query"],
    };
  }

  /** The rights of the caller, if this is its secret; otherwise null. */
  authenticate(secret: string): Principal | null {
    return secret === this.#secret ? this.#principal : null;
  }

  /** The request for the application: with its own key if it has one, otherwise with that of this caller. */
  asLocal(request: Request): Request {
    const headers = new Headers(request.headers);
    headers.delete("host");
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${this.#secret}`);
    const { method, body, signal } = request;
    return new Request(`http://localhost${new URL(request.url).pathname}`, { method, headers, body, signal });
  }
}
