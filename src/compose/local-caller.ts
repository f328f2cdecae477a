// The caller who can open the data directory, and so needs no API key: `mneme mcp` without a server's address.

import type { KeyId, ProjectId } from "../domain/ids.ts";
import type { Principal } from "../domain/scope.ts";

/** A key of this process that is in no store and no file. It ends with the process. */
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

  /** The caller, if this is its secret; otherwise null. */
  authenticate(secret: string): Principal | null {
    return secret === this.#secret ? this.#principal : null;
  }

  /** A request for the application: with the key that it has, or with this caller's. */
  asLocal(request: Request): Request {
    const headers = new Headers(request.headers);
    headers.delete("host");
    if (!headers.has("authorization")) headers.set("authorization", `Bearer ${this.#secret}`);
    const { method, body, signal } = request;
    return new Request(`http://localhost${new URL(request.url).pathname}`, { method, headers, body, signal });
  }
}
