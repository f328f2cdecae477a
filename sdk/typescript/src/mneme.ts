// The client: its settings, and the groups of operations.

import { type Embedder, getSystem, getUsage, listEmbedders, type System, type Usage } from "./core/index.ts";
import { MnemeError } from "./errors.ts";
import { Cases } from "./resources/cases.ts";
import { Chats } from "./resources/chats.ts";
import { Graph } from "./resources/graph.ts";
import { InstalledModels } from "./resources/installed-models.ts";
import { Keys } from "./resources/keys.ts";
import { Memories } from "./resources/memories.ts";
import { Completions, Embeddings, Models } from "./resources/models.ts";
import { OwnProject, Projects } from "./resources/projects.ts";
import { Users } from "./resources/users.ts";
import { Webhooks } from "./resources/webhooks.ts";
import { type CallOptions, Transport } from "./transport.ts";
import { VERSION } from "./version.ts";

/** Settings of a client. */
export interface MnemeOptions {
  /** Address of the server, with or without `/v1`. Default: MNEME_URL, else `http://127.0.0.1:8383`. */
  readonly baseUrl?: string;
  /** API key, `ctx_…`. Default: MNEME_API_KEY. */
  readonly apiKey?: string;
  /** Limit of one attempt in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number;
  /** Maximum number of repetitions of a call that failed. Default: 2. */
  readonly retriesMax?: number;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch;
}

const DEFAULT_URL = "http://127.0.0.1:8383";
const TIMEOUT_MS = 60_000;
const RETRIES_MAX = 2;

/** A client of one Mneme server, with one API key. */
export class Mneme {
  readonly memories: Memories;
  readonly graph: Graph;
  readonly chats: Chats;
  readonly users: Users;
  readonly keys: Keys;
  /** The project of the key. */
  readonly project: OwnProject;
  /** All projects; needs the scope `admin`. */
  readonly projects: Projects;
  readonly cases: Cases;
  readonly webhooks: Webhooks;
  /** Models of the deployment; needs the scope `admin`. */
  readonly installedModels: InstalledModels;
  readonly models: Models;
  readonly completions: Completions;
  readonly embeddings: Embeddings;
  readonly #transport: Transport;

  /** @throws MnemeError if an option is missing or wrong */
  constructor(options: MnemeOptions = {}) {
    const { timeoutMs = TIMEOUT_MS, retriesMax = RETRIES_MAX, fetch } = options;
    if (!(timeoutMs > 0 && timeoutMs < 2 ** 31)) throw new MnemeError("'timeoutMs' must be 1 to 2147483647.");
    if (!Number.isInteger(retriesMax) || retriesMax < 0) throw new MnemeError("'retriesMax' must be 0 or more.");
    this.#transport = new Transport({
      baseUrl: apiAddress(options.baseUrl ?? environment("MNEME_URL") ?? DEFAULT_URL),
      apiKey: checkedKey(options.apiKey ?? environment("MNEME_API_KEY") ?? ""),
      timeoutMs,
      retriesMax,
      fetch,
      // Browsers send their own, and a further header would need a permission of the server.
      userAgent: "document" in globalThis ? null : `mneme-client-typescript/${VERSION}`,
    });
    this.memories = new Memories(this.#transport, fetch);
    this.graph = new Graph(this.#transport);
    this.chats = new Chats(this.#transport);
    this.users = new Users(this.#transport);
    this.keys = new Keys(this.#transport);
    this.project = new OwnProject(this.#transport);
    this.projects = new Projects(this.#transport);
    this.cases = new Cases(this.#transport);
    this.webhooks = new Webhooks(this.#transport);
    this.installedModels = new InstalledModels(this.#transport);
    this.models = new Models(this.#transport);
    this.completions = new Completions(this.#transport);
    this.embeddings = new Embeddings(this.#transport);
  }

  /** What the project has used of its plan. */
  usage(options?: CallOptions): Promise<Usage> {
    return this.#transport.call((core) => getUsage(core), "always", options);
  }

  /** The state of the server: processes, queues, sizes, nodes. Needs the scope `admin`. */
  system(options?: CallOptions): Promise<System> {
    return this.#transport.call((core) => getSystem(core), "always", options);
  }

  /** The installed embedding models. */
  async embedders(options?: CallOptions): Promise<Embedder[]> {
    return (await this.#transport.call((core) => listEmbedders(core), "always", options)).data;
  }
}

function apiAddress(given: string): string {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    throw new MnemeError(`'baseUrl' must be an http or https address such as ${DEFAULT_URL}.`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new MnemeError("'baseUrl' must not contain a user or password: the key is sent as a header.");
  }
  const path = url.pathname.replace(/\/+$/, "");
  return url.origin + (path.endsWith("/v1") ? path : `${path}/v1`);
}

function checkedKey(key: string): string {
  if (key === "") throw new MnemeError("The API key is missing: pass 'apiKey', or set MNEME_API_KEY.");
  if (!/^[!-~]+$/.test(key)) throw new MnemeError("The API key has characters that no key has, such as a line break.");
  return key;
}

function environment(name: string): string | undefined {
  const { process } = globalThis as { readonly process?: { readonly env?: Record<string, string | undefined> } };
  const value = process?.env?.[name];
  return value === "" ? undefined : value;
}
