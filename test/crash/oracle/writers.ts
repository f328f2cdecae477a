// Writers that change a server at random and tell the oracle what was acknowledged. Each changes its own memories, one
// request at a time, so that at most one of its requests has no answer when the server is killed.

import { systemClock } from "../../../src/kit/clock.ts";
import { seeded } from "../../support/seeded.ts";
import { type Called, type Caller, ifAnswered } from "./calls.ts";
import type { MemoryRecord, Oracle, Shown } from "./oracle.ts";

const THINGS = ["anchor", "barrel", "candle", "drum", "easel", "flute", "globe", "hammer", "inkwell", "jug"];
const PLACES = ["attic", "barn", "cellar", "dairy", "engine room", "foyer", "garage", "hall", "icehouse", "kiln"];
/** Webhooks of writers lead to a port where nobody listens. */
const WEBHOOK_URL = "http://127.0.0.1:9/hook";
/** Number of sentences of an uploaded file. */
const UPLOAD_SENTENCES = 6;
/** Number of sentences of a text that is kept in a file until it is published: more than 11,000 characters. */
const LONG_SENTENCES = 220;
/** Number of turns of a large memory, each a chunk: more than are published at once. */
const LARGE_TURNS = 600;
/** Setting that a server needs for the webhooks of writers. */
export const WRITER_ENVIRONMENT = { MNEME_WEBHOOK_ALLOW: "127.0.0.1" } as const;

/** What a writer may do, and how often. */
export interface Mix {
  readonly create: number;
  readonly batch: number;
  readonly rewrite: number;
  readonly annotate: number;
  readonly remove: number;
  readonly purge: number;
  readonly message: number;
  readonly event: number;
  readonly key: number;
  readonly webhook: number;
  readonly upload: number;
  readonly storeLong: number;
  /** Stores under an external id, or changes what has it. */
  readonly upsert: number;
  /** Stores memories of a user, and deletes the user with them. */
  readonly cascade: number;
}

/** Everything, mostly changes of memories. */
export const MIX: Mix = {
  ...{ create: 30, batch: 4, rewrite: 22, annotate: 6, remove: 10, purge: 8 },
  ...{ message: 3, event: 8, key: 3, webhook: 2, upload: 4, storeLong: 1, upsert: 0, cascade: 0 },
};

/** Everything, also what only tests of several nodes do. */
export const CLUSTER_MIX: Mix = { ...MIX, upsert: 12, cascade: 4 };

/** Number of memories of a user that is deleted with them. */
const CASCADE_MEMORIES = 2;
/** Pause after a refusal, in milliseconds, so that writers do not keep a server busy that cannot do anything. */
const REFUSED_MS = 50;

let texts = 0;
/** Part of every text of this process, so that texts of different runs differ. */
const RUN = (process.pid % 1_296).toString(36);

/** A sentence that no other call returns. */
export function newText(random: () => number): string {
  const [thing, place] = [THINGS[Math.floor(random() * 10)], PLACES[Math.floor(random() * 10)]];
  const mark = `z${RUN}${(++texts * 7919).toString(36)}q`;
  return `The ${thing} marked ${mark} stands in the ${place}, shelf ${texts}.`;
}

/** A caller that changes a server at random. */
export class Writer {
  readonly #oracle: Oracle;
  readonly #random: () => number;
  readonly #mix: Mix;
  readonly #name: string;
  readonly #pauseMs: number;
  #owned: MemoryRecord[] = [];
  #revision = 0;

  constructor(oracle: Oracle, name: string, seed: number, mix: Mix = MIX) {
    this.#pauseMs = mix === CLUSTER_MIX ? REFUSED_MS : 0;
    this.#oracle = oracle;
    this.#random = seeded(seed);
    this.#mix = mix;
    this.#name = name;
  }

  /** Sends requests until the server goes away, or `isEnough` says so. A refused request counts as not carried out. */
  async write(server: Caller, isEnough: () => boolean): Promise<void> {
    this.#owned = this.#owned.filter(({ state }) => state !== null);
    while (!isEnough()) {
      const action = this.#choose();
      const before = this.#oracle.acknowledged;
      if (!(await this[action](server))) return;
      if (this.#pauseMs > 0 && this.#oracle.acknowledged === before) await systemClock.sleep(this.#pauseMs);
    }
  }

  #choose(): keyof Mix {
    const total = Object.values(this.#mix).reduce((sum, weight) => sum + weight, 0);
    let left = this.#random() * total;
    for (const [action, weight] of Object.entries(this.#mix)) {
      left -= weight;
      if (left < 0) return action as keyof Mix;
    }
    return "create";
  }

  /** Stores a memory. */
  create(server: Caller): Promise<boolean> {
    return this.#create(server, this.#newShown());
  }

  /** Stores this text. */
  note(server: Caller, text: string): Promise<boolean> {
    return this.#create(server, { text, revision: ++this.#revision });
  }

  /** Stores a conversation that is published in parts. */
  createLarge(server: Caller): Promise<boolean> {
    const turns = Array.from({ length: LARGE_TURNS }, (_, at) => {
      return `[2026-05-0${1 + (at % 9)} 10:00] ${at % 2 ? "Bob" : "Ann"}: ${newText(this.#random)}`;
    });
    return this.#create(server, { text: turns.join("\n"), revision: ++this.#revision });
  }

  async #create(server: Caller, shown: Shown): Promise<boolean> {
    this.#oracle.asked.set(shown.text, shown);
    const answer = await ifAnswered(server.call("POST", "/v1/memories", bodyOf(shown)));
    if (answer === null) return false;
    if (!isUncertain(answer)) this.#oracle.asked.delete(shown.text);
    if (answer.status === 202) this.#created((answer.body as { readonly id: string }).id, shown);
    return true;
  }

  /** Stores several memories with one request. */
  async batch(server: Caller): Promise<boolean> {
    const shown = Array.from({ length: 5 }, () => this.#newShown());
    for (const each of shown) this.#oracle.asked.set(each.text, each);
    const answer = await ifAnswered(server.call("POST", "/v1/memories/batch", { memories: shown.map(bodyOf) }));
    if (answer === null) return false;
    if (isUncertain(answer)) return true;
    for (const each of shown) this.#oracle.asked.delete(each.text);
    if (answer.status !== 202) return true;
    const { data } = answer.body as { readonly data: readonly { readonly memory: { readonly id: string } }[] };
    for (const [at, each] of shown.entries()) this.#created(data[at]?.memory.id ?? "", each);
    return true;
  }

  /** Stores the text of a file. */
  async upload(server: Caller): Promise<boolean> {
    if (server.upload === undefined) return this.create(server);
    const text = Array.from({ length: UPLOAD_SENTENCES }, () => newText(this.#random)).join(" ");
    const shown = { text, revision: ++this.#revision };
    this.#oracle.asked.set(text, shown);
    const { metadata } = bodyOf(shown);
    const answer = await ifAnswered(server.upload(`${this.#name}.txt`, text, metadata));
    if (answer === null) return false;
    if (!isUncertain(answer)) this.#oracle.asked.delete(text);
    if (answer.status === 202) this.#created((answer.body as { readonly id: string }).id, shown, true);
    return true;
  }

  /** Stores a text that is kept in a file until it is published. */
  async storeLong(server: Caller): Promise<boolean> {
    if (server.storeLarge === undefined) return this.create(server);
    const text = Array.from({ length: LONG_SENTENCES }, () => newText(this.#random)).join(" ");
    const shown = { text, revision: ++this.#revision };
    this.#oracle.asked.set(text, shown);
    const answer = await ifAnswered(server.storeLarge(text, bodyOf(shown).metadata));
    if (answer === null) return false;
    if (!isUncertain(answer)) this.#oracle.asked.delete(text);
    if (answer.status === 202) this.#created((answer.body as { readonly id: string }).id, shown, true);
    return true;
  }

  /** Stores a memory under a new external id, or gives a memory with one a new text. */
  async upsert(server: Caller): Promise<boolean> {
    const known = [...this.#upserted].filter(([, memory]) => memory.state !== null && this.#owned.includes(memory));
    const [externalId, memory] = known[Math.floor(this.#random() * 2 * known.length)] ?? [];
    const shown = this.#newShown();
    const id = externalId ?? `${this.#name}-${RUN}-${shown.revision}`;
    if (memory === undefined) this.#oracle.asked.set(shown.text, shown);
    else this.#oracle.asks(memory, shown);
    const answer = await ifAnswered(server.call("POST", "/v1/memories", { ...bodyOf(shown), externalId: id }));
    if (answer === null || isUncertain(answer)) {
      return memory === undefined ? answer !== null : this.#leave(memory, answer !== null);
    }
    const isDone = answer.status === 202 || answer.status === 200;
    if (memory !== undefined) this.#oracle.answered(memory, isDone);
    else {
      this.#oracle.asked.delete(shown.text);
      const created = isDone ? this.#created((answer.body as { readonly id: string }).id, shown) : undefined;
      if (created !== undefined) this.#upserted.set(id, created);
    }
    return true;
  }

  /** Memories that were stored under an external id. */
  readonly #upserted = new Map<string, MemoryRecord>();

  /** Stores memories of a user, and deletes the user with them. */
  async cascade(server: Caller): Promise<boolean> {
    const userId = `${this.#name}-${RUN}-${++this.#revision}`;
    const memories: MemoryRecord[] = [];
    for (let at = 0; at < CASCADE_MEMORIES; at++) {
      const shown = this.#newShown();
      this.#oracle.asked.set(shown.text, shown);
      const answer = await ifAnswered(server.call("POST", "/v1/memories", { ...bodyOf(shown), userId }));
      if (answer === null || isUncertain(answer)) return answer !== null;
      this.#oracle.asked.delete(shown.text);
      if (answer.status !== 202) return true;
      const { id } = answer.body as { readonly id: string };
      this.#oracle.created(id, shown);
      memories.push(...[this.#oracle.memories.get(id)].filter((memory) => memory !== undefined));
    }
    for (const memory of memories) this.#oracle.asks(memory, null);
    const answer = await ifAnswered(server.call("DELETE", `/v1/users/${userId}?cascade=true`));
    if (answer === null || isUncertain(answer)) return answer !== null;
    for (const memory of memories) this.#oracle.answered(memory, answer.status < 300);
    return true;
  }

  /** Gives a memory a new text. */
  rewrite(server: Caller): Promise<boolean> {
    return this.#change(server, () => this.#newShown());
  }

  /** Changes the metadata of a memory. */
  annotate(server: Caller): Promise<boolean> {
    return this.#change(server, ({ text }) => ({ text, revision: ++this.#revision }));
  }

  /** Deletes a memory. */
  remove(server: Caller): Promise<boolean> {
    return this.#delete(server, "");
  }

  /** Deletes a memory and purges it at once. */
  purge(server: Caller): Promise<boolean> {
    return this.#delete(server, "?purge=true");
  }

  /** Erases the newest memory with `erases`, which returns whether it succeeded. Returns the memory. */
  async forget(erases: (id: string) => Promise<boolean>): Promise<MemoryRecord> {
    const memory = this.#owned.pop();
    if (memory === undefined) throw new Error("there is no memory to forget");
    this.#oracle.asks(memory, null);
    if (await erases(memory.id)) this.#oracle.answered(memory, true);
    return memory;
  }

  /** Sends a message to the writer's chat, and deletes the chat sometimes. */
  async message(server: Caller): Promise<boolean> {
    const own = [...this.#oracle.chats.values()].find((chat) => chat.state === "exists" && this.#owns(chat.id));
    if (own === undefined) {
      const answer = await ifAnswered(server.call("POST", "/v1/chats", { title: this.#name }));
      if (answer?.status !== 201) return answer !== null;
      const { id } = answer.body as { readonly id: string };
      this.#chats.add(id);
      this.#oracle.chats.set(id, { id, exchanges: [], state: "exists" });
      this.#oracle.acknowledged += 1;
      return true;
    }
    if (this.#random() < 0.1) return this.#drop(server, `/v1/chats/${own.id}`, own);
    const message = `Where is shelf ${Math.floor(this.#random() * 1e6)}?`;
    const before = own.exchanges;
    own.exchanges = [...before, { question: message, answer: undefined }];
    const answer = await ifAnswered(server.call("POST", `/v1/chats/${own.id}/messages`, { message, mode: "fast" }));
    if (answer === null) return false;
    // the question is stored before the answer, which a full disk may prevent
    if (answer.status >= 500) return true;
    own.exchanges = before;
    if (answer.status !== 200) return true;
    const { content } = (answer.body as { readonly message: { readonly content: string } }).message;
    own.exchanges = [...before, { question: message, answer: content }];
    this.#oracle.acknowledged += 1;
    return true;
  }

  /** Logs an event of the writer's user. */
  async event(server: Caller): Promise<boolean> {
    const number = ++this.#revision;
    const path = `/v1/users/${this.#name}/events`;
    const answer = await ifAnswered(server.call("POST", path, { type: "count", data: { number } }));
    if (answer?.status === 201) {
      const { id } = answer.body as { readonly id: string };
      this.#oracle.events.set(id, { id, userId: this.#name, number });
      this.#oracle.acknowledged += 1;
    }
    return answer !== null;
  }

  /** Creates a key, or revokes one. */
  async key(server: Caller): Promise<boolean> {
    const own = this.#oracle.keys.find((key) => key.state === "exists" && this.#owns(key.id));
    if (own !== undefined && this.#random() < 0.5) return this.#drop(server, `/v1/keys/${own.id}`, own);
    const body = { name: this.#name, scopes: ["memories:read"] };
    const answer = await ifAnswered(server.call("POST", "/v1/keys", body));
    if (answer?.status === 201) {
      const { id, key: secret } = answer.body as { readonly id: string; readonly key: string };
      this.#chats.add(id);
      this.#oracle.keys.push({ id, secret, state: "exists" });
      this.#oracle.acknowledged += 1;
    }
    return answer !== null;
  }

  /** Creates a webhook, or deletes one. */
  async webhook(server: Caller): Promise<boolean> {
    const own = [...this.#oracle.webhooks.values()].find((hook) => hook.state === "exists" && this.#owns(hook.id));
    if (own !== undefined) return this.#drop(server, `/v1/webhooks/${own.id}`, own);
    const body = { url: WEBHOOK_URL, events: ["memory.deleted"] };
    const answer = await ifAnswered(server.call("POST", "/v1/webhooks", body));
    if (answer?.status === 201) {
      const { id } = answer.body as { readonly id: string };
      this.#chats.add(id);
      this.#oracle.webhooks.set(id, { id, state: "exists" });
      this.#oracle.acknowledged += 1;
    }
    return answer !== null;
  }

  /** Ids of the chats, keys and webhooks that this writer created. */
  readonly #chats = new Set<string>();

  #owns(id: string): boolean {
    return this.#chats.has(id);
  }

  async #drop(server: Caller, path: string, record: { state: "exists" | "deleted" | "unknown" }): Promise<boolean> {
    record.state = "unknown";
    const answer = await ifAnswered(server.call("DELETE", path));
    if (answer === null || isUncertain(answer)) return answer !== null;
    record.state = answer.status === 204 ? "deleted" : "exists";
    if (answer.status === 204) this.#oracle.acknowledged += 1;
    return true;
  }

  async #change(server: Caller, wantedOf: (now: Shown) => Shown): Promise<boolean> {
    const memory = this.#owned[Math.floor(this.#random() * this.#owned.length)];
    if (memory === undefined || memory.state === null) return this.create(server);
    const wanted = wantedOf(memory.state);
    const { content, metadata } = bodyOf(wanted);
    this.#oracle.asks(memory, wanted);
    const body = wanted.text === memory.state.text ? { metadata } : { content, metadata };
    const answer = await ifAnswered(server.call("PUT", `/v1/memories/${memory.id}`, body));
    if (answer === null || isUncertain(answer)) return this.#leave(memory, answer !== null);
    this.#oracle.answered(memory, answer.status === 200 || answer.status === 202);
    return true;
  }

  async #delete(server: Caller, query: string): Promise<boolean> {
    const at = Math.floor(this.#random() * this.#owned.length);
    const memory = this.#owned[at];
    if (memory === undefined) return this.create(server);
    this.#oracle.asks(memory, null);
    const answer = await ifAnswered(server.call("DELETE", `/v1/memories/${memory.id}${query}`));
    if (answer === null || isUncertain(answer)) return this.#leave(memory, answer !== null);
    this.#oracle.answered(memory, answer.status === 204);
    if (answer.status === 204) this.#owned.splice(at, 1);
    return true;
  }

  /** A memory whose state is not known is not changed until the next check has decided it. */
  #leave(memory: MemoryRecord, goesOn: boolean): boolean {
    this.#owned = this.#owned.filter((each) => each !== memory);
    return goesOn;
  }

  #created(id: string, shown: Shown, isKeptInFile = false): MemoryRecord | undefined {
    this.#oracle.created(id, shown, isKeptInFile);
    const memory = this.#oracle.memories.get(id);
    if (memory !== undefined) this.#owned.push(memory);
    return memory;
  }

  #newShown(): Shown {
    return { text: newText(this.#random), revision: ++this.#revision };
  }
}

function bodyOf({ text, revision }: Shown) {
  return { content: text, metadata: { revision } };
}

/**
 * Whether the answer leaves open what happened. A server that is overloaded or full says that nothing was stored. If
 * its database did not answer, it does not know.
 */
function isUncertain({ status, body }: Called): boolean {
  if (status === 503)
    return (body as { readonly error?: { readonly code?: string } } | null)?.error?.code === "unavailable";
  return status >= 500 && status !== 507;
}

/**
 * Lets writers change a server until it goes away or `acknowledgedMax` more changes are acknowledged. Resolves when all
 * of them have ended.
 */
export async function writeAll(
  writers: readonly Writer[],
  oracle: Oracle,
  server: Caller,
  acknowledgedMax: number,
): Promise<void> {
  const enough = oracle.acknowledged + acknowledgedMax;
  await Promise.all(writers.map((writer) => writer.write(server, () => oracle.acknowledged >= enough)));
}

/** Writers with the numbers 1 to `count`. */
export function newWriters(oracle: Oracle, count: number, seed: number, mix: Mix = MIX): readonly Writer[] {
  return Array.from({ length: count }, (_, at) => new Writer(oracle, `writer${at + 1}`, seed + at, mix));
}
