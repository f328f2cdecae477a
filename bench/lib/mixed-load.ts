// Mixed requests of many kinds against one server, with a bounded number of live memories.

import { MODE_NAMES } from "../../src/domain/ranking.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { isRecord } from "../../src/kit/record.ts";
import { docx } from "../../test/documents/office/office-file.ts";
import { buildPdf, lines } from "../../test/documents/pdf/build-pdf.ts";
import type { RunningServer } from "../../test/support/server.ts";
import { FITTING_PERSONS, readPersons } from "./personal.ts";
import { storeAll, untilSettled } from "./storing.ts";
import { uploadFile } from "./uploading.ts";

/** Kinds of requests, and how often each is sent. */
const MIX = {
  ...{ create: 12, rewrite: 8, annotate: 4, upsert: 6, delete: 8, purge: 6, upload: 3 },
  ...{ search: 28, query: 3, message: 5, get: 10, list: 7 },
} as const;
type Action = keyof typeof MIX;
const ACTIONS = Object.keys(MIX) as readonly Action[];
const WEIGHTS = Object.values(MIX).reduce((sum, weight) => sum + weight, 0);

/** Number of callers; each waits for its answer before its next request. */
const CALLERS = 8;
/** A text has one to this many notes. */
const NOTES_PER_TEXT = 6;
/** A chat is deleted after this many messages. */
const MESSAGES_PER_CHAT = 8;
const CHATS = 4;
/** Number of different `externalId`s, as a share of the bound of live memories. */
const EXTERNAL_SHARE = 0.25;
/** Callers that are later than this do not try to catch up. */
const LATE_MS = 2_000;

/** Requests of one kind: times in milliseconds, and the number of unexpected answers. */
export interface Sent {
  readonly ms: number[];
  failed: number;
}

/** A mixed load: what it has stored, and the requests that it has sent. */
export class MixedLoad {
  readonly sent = new Map<Action, Sent>(ACTIONS.map((action) => [action, { ms: [], failed: 0 }]));
  /** Examples of unexpected answers, at most ten. */
  readonly failures: string[] = [];
  readonly #server: RunningServer;
  readonly #random: () => number;
  readonly #bound: number;
  readonly #notes: readonly string[];
  readonly #questions: readonly string[];
  readonly #live: string[] = [];
  readonly #external = new Set<string>();
  readonly #chats: { id: string; messages: number }[] = [];
  #number = 0;

  /** @param bound maximum number of live memories; below half of it, nothing is deleted */
  constructor(server: RunningServer, random: () => number, bound: number) {
    this.#server = server;
    this.#random = random;
    this.#bound = bound;
    const persons = readPersons(FITTING_PERSONS);
    this.#notes = persons.flatMap(({ notes }) => notes.map(({ text }) => text));
    this.#questions = persons.flatMap(({ questions }) => questions.map(({ text }) => text));
  }

  /** Number of live memories. */
  get live(): number {
    return this.#live.length;
  }

  /** Stores memories up to three quarters of the bound, and waits until they are completed. */
  async fill(): Promise<void> {
    const texts = Array.from({ length: 0.75 * this.#bound }, () => ({ content: this.#text() }));
    this.#live.push(...(await storeAll(this.#server, texts)).map(({ id }) => String(id)));
  }

  /** Sends requests as fast as they are answered. Returns requests per second; the time to process memories counts. */
  async capacity(seconds: number): Promise<number> {
    const startedAt = performance.now();
    let answered = 0;
    await this.#call(async () => {
      if (performance.now() - startedAt >= seconds * 1_000) return false;
      answered += 1;
      return true;
    });
    await untilSettled(this.#server);
    return answered / ((performance.now() - startedAt) / 1_000);
  }

  /** Sends `perSecond` requests each second for `seconds`, and leaves out late ones. Returns how many were sent. */
  async send(perSecond: number, seconds: number): Promise<number> {
    const startedAt = performance.now();
    let next = 0;
    let sent = 0;
    await this.#call(async () => {
      const late = performance.now() - startedAt - (next * 1_000) / perSecond;
      if (late > LATE_MS) next += Math.floor((late / 1_000) * perSecond);
      const dueMs = (next++ * 1_000) / perSecond;
      if (dueMs >= seconds * 1_000) return false;
      await systemClock.sleep(Math.max(0, startedAt + dueMs - performance.now()));
      sent += 1;
      return true;
    });
    return sent;
  }

  /** Lets all callers send requests until `mayGoOn` says no. */
  async #call(mayGoOn: () => Promise<boolean>): Promise<void> {
    const caller = async () => {
      while (await mayGoOn()) {
        const action = this.#choose();
        const record = this.sent.get(action) as Sent;
        const startedAt = performance.now();
        const refusal = await this.#do(action);
        record.ms.push(performance.now() - startedAt);
        if (refusal === null) continue;
        record.failed += 1;
        if (this.failures.length < 10) this.failures.push(`${action}: ${refusal}`);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
  }

  #choose(): Action {
    let left = this.#random() * WEIGHTS;
    const isChosen = (action: Action) => {
      left -= MIX[action];
      return left < 0;
    };
    const chosen = ACTIONS.find(isChosen) ?? "get";
    const stores = chosen === "create" || chosen === "upload" || chosen === "upsert";
    if (stores && this.#live.length >= this.#bound) return "delete";
    if ((chosen === "delete" || chosen === "purge") && this.#live.length < this.#bound / 2) return "create";
    return chosen;
  }

  /** Sends one request; returns null, or a text about an unexpected answer. */
  async #do(action: Action): Promise<string | null> {
    const { call } = this.#server;
    switch (action) {
      case "create":
        return this.#store(await call("POST", "/v1/memories", { content: this.#text() }));
      case "upsert": {
        const externalId = `external-${Math.floor(this.#random() * this.#bound * EXTERNAL_SHARE)}`;
        return this.#store(await call("POST", "/v1/memories", { externalId, content: this.#text() }));
      }
      case "upload": {
        const { filename, bytes } = this.#file();
        return this.#store(await uploadFile(this.#server, filename, bytes));
      }
      case "rewrite":
        return unless(await call("PUT", `/v1/memories/${this.#any()}`, { content: this.#text() }), 202, 404);
      case "annotate":
        return unless(
          await call("PUT", `/v1/memories/${this.#any()}`, { tags: [`tag${this.#number % 50}`] }),
          200,
          404,
        );
      case "delete":
      case "purge":
        return this.#delete(action === "purge" ? "?purge=true" : "");
      case "search": {
        const mode = MODE_NAMES[Math.floor(this.#random() * MODE_NAMES.length)];
        return unless(await call("POST", "/v1/memories/search", { query: this.#question(), mode }), 200);
      }
      case "query":
        return unless(await call("POST", "/v1/memories/query", { query: this.#question() }), 200);
      case "message":
        return this.#message();
      case "get":
        return unless(await call("GET", `/v1/memories/${this.#any()}`), 200, 404);
      case "list":
        return unless(await call("GET", "/v1/memories?limit=50"), 200);
    }
  }

  #store({ status, body }: { readonly status: number; readonly body: unknown }): string | null {
    if ((status !== 202 && status !== 200) || !isRecord(body)) return `${status} ${JSON.stringify(body)}`;
    const id = String(body.id);
    if (typeof body.externalId === "string") {
      if (this.#external.has(id)) return null;
      this.#external.add(id);
    }
    this.#live.push(id);
    return null;
  }

  async #delete(query: string): Promise<string | null> {
    const at = Math.floor(this.#random() * this.#live.length);
    const [id = ""] = this.#live.splice(at, 1);
    this.#external.delete(id);
    return unless(await this.#server.call("DELETE", `/v1/memories/${id}${query}`), 204);
  }

  async #message(): Promise<string | null> {
    if (this.#chats.length < CHATS) {
      const { status, body } = await this.#server.call("POST", "/v1/chats", { title: "endurance" });
      if (status !== 201 || !isRecord(body)) return `${status} ${JSON.stringify(body)}`;
      this.#chats.push({ id: String(body.id), messages: 0 });
      return null;
    }
    const at = Math.floor(this.#random() * this.#chats.length);
    const chat = this.#chats[at] as { id: string; messages: number };
    if (chat.messages >= MESSAGES_PER_CHAT) {
      this.#chats.splice(at, 1);
      return unless(await this.#server.call("DELETE", `/v1/chats/${chat.id}`), 204);
    }
    chat.messages += 1;
    const message = this.#question();
    // 404: another caller has deleted the chat meanwhile
    return unless(await this.#server.call("POST", `/v1/chats/${chat.id}/messages`, { message }), 200, 404);
  }

  #any(): string {
    return this.#live[Math.floor(this.#random() * this.#live.length)] ?? "mem_none";
  }

  #question(): string {
    return this.#questions[Math.floor(this.#random() * this.#questions.length)] ?? "";
  }

  #text(): string {
    const notes = Array.from({ length: 1 + Math.floor(this.#random() * NOTES_PER_TEXT) }, () => this.#note());
    return `${notes.join(" ")} Note ${++this.#number}.`;
  }

  #note(): string {
    return this.#notes[Math.floor(this.#random() * this.#notes.length)] ?? "";
  }

  #file(): { readonly filename: string; readonly bytes: string | Uint8Array } {
    const texts = Array.from({ length: 10 }, () => this.#text());
    const kind = Math.floor(this.#random() * 4);
    const ascii = texts.map((text) => text.replace(/[^ -~]|[<>&()\\]/g, " "));
    if (kind === 0) return { filename: "notes.txt", bytes: texts.join("\n\n") };
    if (kind === 1)
      return { filename: "notes.html", bytes: `<html><body><p>${ascii.join("</p><p>")}</p></body></html>` };
    if (kind === 2) {
      const paragraphs = ascii.map((text) => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`);
      return { filename: "notes.docx", bytes: docx(paragraphs.join(""), {}, { "[Content_Types].xml": "<Types/>" }) };
    }
    return {
      filename: "notes.pdf",
      bytes: buildPdf({ pages: ascii.map((text) => [lines([text.slice(0, 80)], 60, 60)].flat()) }),
    };
  }
}

function unless({ status, body }: { readonly status: number; readonly body: unknown }, ...expected: readonly number[]) {
  return expected.includes(status) ? null : `${status} ${JSON.stringify(body)?.slice(0, 300)}`;
}
