// Implements the accounts of `mneme keys`, `mneme projects` and `mneme models` with the API of a running server.
// compose/local-accounts.ts implements them on a data directory.

import type { Accounts, KeyBody } from "../compose/local-accounts.ts";
import type { DownloadProgress, ModelRequest, RemoteRequest } from "../domain/installed-model.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Plan } from "../domain/project.ts";
import { systemClock } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import type { Client } from "./client.ts";

/** Options of requests that must arrive once, such as those that create a key: a repetition would lose its secret. */
const ONCE = { isRepeatable: false } as const;

/** Milliseconds between two reads of the state of a model that is being added. */
const POLL_MS = 500;

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

  listModels(): Promise<object> {
    return this.#listAll("/v1/installed-models", {});
  }

  async addModel(
    { manifest = {}, ...request }: ModelRequest,
    onProgress: (progress: DownloadProgress) => void,
  ): Promise<object> {
    if (Object.keys(manifest).length > 0) {
      throw new UsageError("With --url, the file model.json in the folder says what the other flags would say.");
    }
    let model = await this.client.send("POST", "/v1/installed-models", request, ONCE);
    const path = modelPath(String(model.id));
    while (model.status === "downloading" || model.status === "checking") {
      const { bytes_done, bytes_total } = isRecord(model.progress) ? model.progress : {};
      if (typeof bytes_done === "number") {
        onProgress({ bytesDone: bytes_done, bytesTotal: typeof bytes_total === "number" ? bytes_total : null });
      }
      await systemClock.sleep(POLL_MS);
      model = await this.client.send("GET", path);
    }
    if (model.status === "failed") throw new Error(String(model.error));
    return model;
  }

  connectModel(request: RemoteRequest): Promise<object> {
    return this.client.send("POST", "/v1/installed-models", request, ONCE);
  }

  async removeModel(id: string): Promise<void> {
    await this.client.send("DELETE", modelPath(id), undefined, ONCE);
  }

  testModel(id: string): Promise<object> {
    return this.client.send("POST", `${modelPath(id)}/test`);
  }

  calibrateModel(id: string, projectId: string | null): Promise<object> {
    const body = projectId === null ? {} : { projectId };
    return this.client.send("POST", `${modelPath(id)}/calibrate`, body, ONCE);
  }

  async cancelCalibration(id: string): Promise<void> {
    await this.client.send("DELETE", `${modelPath(id)}/calibrate`, undefined, ONCE);
  }

  getModel(id: string): Promise<object> {
    return this.client.send("GET", modelPath(id));
  }

  setReranker(projectId: string, model: string | null): Promise<object> {
    return this.client.send("PUT", `/v1/projects/${encodeURIComponent(projectId)}/reranker`, { model });
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

  testLanguageModel(projectId: string | null): Promise<object> {
    return this.client.send("POST", pathOf("/v1/project/llm/test", inProject(projectId)), undefined, ONCE);
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

function modelPath(id: string): string {
  return `/v1/installed-models/${encodeURIComponent(id)}`;
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
