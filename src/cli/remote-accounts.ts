// Accounts of a running server, for `mneme keys`, `mneme projects` and `mneme models`. Offers the same operations over
// the API that compose/local-accounts.ts offers on a data directory.

import type { Accounts, KeyBody } from "../compose/local-accounts.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Plan } from "../domain/project.ts";
import type { JsonRecord } from "../kit/record.ts";
import type { Client } from "./client.ts";

/** Option for requests that return a secret. A repeated request would lose the secret of the first one. */
const ONCE = { isRepeatable: false } as const;

/** Accounts, accessed with one API key of a server. */
export class RemoteAccounts implements Accounts {
  constructor(private readonly client: Client) {}

  listKeys(projectId: string | null): Promise<object> {
    return this.#listAll("/v1/keys", inProject(projectId));
  }

  createKey(projectId: string | null, body: KeyBody): Promise<object> {
    return this.client.send("POST", "/v1/keys", { ...body, ...inProject(projectId) }, ONCE);
  }

  rotateKey(projectId: string | null, id: string, graceSeconds: number): Promise<object> {
    const body = { grace_seconds: graceSeconds };
    return this.client.send(
      "POST",
      pathOf(`/v1/keys/${encodeURIComponent(id)}/rotate`, inProject(projectId)),
      body,
      ONCE,
    );
  }

  async removeKey(projectId: string | null, id: string): Promise<void> {
    const path = pathOf(`/v1/keys/${encodeURIComponent(id)}`, inProject(projectId));
    await this.client.send("DELETE", path, undefined, ONCE);
  }

  listProjects(): Promise<object> {
    return this.#listAll("/v1/projects", {});
  }

  createProject(body: { readonly name: string; readonly plan?: Plan }): Promise<object> {
    return this.client.send("POST", "/v1/projects", body, ONCE);
  }

  changePlan(projectId: string, plan: Plan): Promise<object> {
    return this.client.send("PUT", `/v1/projects/${encodeURIComponent(projectId)}`, { plan });
  }

  async removeProject(projectId: string): Promise<void> {
    await this.client.send("DELETE", `/v1/projects/${encodeURIComponent(projectId)}`, undefined, ONCE);
  }

  listEmbedders(): Promise<object> {
    return this.client.send("GET", "/v1/embedders");
  }

  projectEmbedder(projectId: string): Promise<object> {
    return this.client.send("GET", pathOf("/v1/project/embedder", { projectId }));
  }

  changeEmbedder(projectId: string, model: string): Promise<object> {
    return this.client.send("PUT", embedderPath(projectId), { model });
  }

  async cancelEmbedder(projectId: string): Promise<void> {
    await this.client.send("DELETE", embedderPath(projectId), undefined, ONCE);
  }

  async forgetPreviousEmbedder(projectId: string): Promise<void> {
    await this.client.send("DELETE", `${embedderPath(projectId)}/previous`, undefined, ONCE);
  }

  close(): void {
    // There is nothing to close: every connection ends with its request.
  }

  async #listAll(path: string, parameters: Readonly<Record<string, string>>): Promise<object> {
    const data: unknown[] = [];
    let cursor: unknown = null;
    do {
      const place = typeof cursor === "string" ? { cursor } : {};
      const page: JsonRecord = await this.client.send(
        "GET",
        pathOf(path, { ...parameters, limit: String(LIMITS.pageItems), ...place }),
      );
      if (Array.isArray(page.data)) data.push(...page.data);
      cursor = page.cursor;
    } while (typeof cursor === "string");
    return { data, has_more: false, cursor: null };
  }
}

function embedderPath(projectId: string): string {
  return `/v1/projects/${encodeURIComponent(projectId)}/embedder`;
}

function inProject(projectId: string | null): Readonly<Record<string, string>> {
  return projectId === null ? {} : { projectId };
}

function pathOf(path: string, parameters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(parameters).toString();
  return query === "" ? path : `${path}?${query}`;
}
