// Makes repeated POST requests harmless: tells whether a request with an Idempotency-Key is new, a repetition, or
// another request under a key that is taken. Which operations accept the header is the API's business.

import { createHash, type Hash } from "node:crypto";
import { Fault, invariant } from "../domain/fault.ts";
import { type IdPrefix, isId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { IdempotencySlot, IdempotencyStore } from "../ports/idempotency-store.ts";
import type { Transaction, Transactions } from "../ports/transactions.ts";

/** The outcome of a request's change. */
export interface Outcome {
  /** HTTP status. An outcome of 400 or more is not remembered. */
  readonly status: number;
  /** The JSON for answering a repetition: without one-time secrets, and without what the request itself contains. */
  readonly remembered: unknown;
  /**
   * Further subjects (see `subjectsOf`) that `remembered` does not show, for instance the chat and the user of a
   * message.
   */
  readonly subjects?: readonly string[];
}

/** What to do about a request. */
export type Begun =
  | { readonly kind: "replay"; readonly status: number; readonly body: string }
  | {
      readonly kind: "run";
      /**
       * Makes the request's change and remembers its answer in one transaction: after a crash there are both or none.
       * If `work` throws, or its outcome is no success, nothing is remembered and a repetition runs again. To be called
       * once, before `end`.
       */
      commit<O extends Outcome>(work: (transaction: Transaction) => Eventually<O>): Promise<O>;
      /**
       * The request is over: the next request with its key may run or is replayed. Must be called; a second call does
       * nothing.
       */
      end(): void;
    };

/** Requests under an Idempotency-Key; one instance per process. */
export class Idempotency {
  readonly #store: Pick<IdempotencyStore, "recall">;
  readonly #transactions: Transactions;
  readonly #inFlight = new InFlight();

  constructor(parts: { readonly store: Pick<IdempotencyStore, "recall">; readonly transactions: Transactions }) {
    this.#store = parts.store;
    this.#transactions = parts.transactions;
  }

  /**
   * Begins a request, after everything that can be checked without doing it was checked.
   * @param fingerprint `fingerprintOf` of path parameters, query and body.
   * @throws Fault `idempotency_conflict` if another request has this key, or the same one is still running
   */
  async begin(slot: IdempotencySlot, fingerprint: Uint8Array): Promise<Begun> {
    const known = await this.#replay(slot, fingerprint);
    if (known !== null) return known;
    const flight = this.#inFlight.begin(slotKeyOf(slot));
    if (flight === null) throw conflict("belongs to a request that is still running; repeat it when that has ended");
    try {
      // the request that ran before may have ended since the first look
      const answered = await this.#replay(slot, fingerprint);
      if (answered === null) return this.#run(slot, fingerprint, flight);
      flight.end();
      return answered;
    } catch (error) {
      flight.end();
      throw error;
    }
  }

  async #replay(slot: IdempotencySlot, fingerprint: Uint8Array): Promise<Begun | null> {
    const answer = await this.#store.recall(slot);
    if (answer === null) return null;
    if (!Buffer.from(answer.fingerprint).equals(fingerprint)) {
      throw conflict(
        "was used for another request; use a new key for each request, and the same to repeat it unchanged",
      );
    }
    const { status, body } = answer;
    if (body !== null) return { kind: "replay", status, body };
    throw conflict("made something that was deleted since; use a new key to make it again");
  }

  #run(slot: IdempotencySlot, fingerprint: Uint8Array, flight: { end(): void }): Begun {
    let isRunning = true;
    return {
      kind: "run",
      commit: (work) => {
        invariant(isRunning, `a request to ${slot.route} was to be stored after its end`);
        return this.#transactions.run(async (transaction) => {
          const outcome = await work(transaction);
          if (outcome.status < 400) await remember(transaction, slot, fingerprint, outcome);
          return outcome;
        });
      },
      end: () => {
        isRunning = false;
        flight.end();
      },
    };
  }
}

async function remember(
  { idempotency }: Transaction,
  slot: IdempotencySlot,
  fingerprint: Uint8Array,
  { status, remembered, subjects = [] }: Outcome,
): Promise<void> {
  const all = new Set([...subjectsOf(remembered), ...subjects]);
  await idempotency.remember(slot, { fingerprint, status, body: JSON.stringify(remembered) }, [...all]);
}

/** The slots of requests that are running: no slot is in it twice. */
export class InFlight {
  readonly #slotKeys = new Set<string>();

  /** Enters `slotKey` until `end`. Returns null if it is entered already. */
  begin(slotKey: string): { end(): void } | null {
    if (this.#slotKeys.has(slotKey)) return null;
    this.#slotKeys.add(slotKey);
    let isUnderWay = true;
    return {
      end: () => {
        // a late second call must not end the next request with this key
        if (isUnderWay) this.#slotKeys.delete(slotKey);
        isUnderWay = false;
      },
    };
  }
}

/**
 * The value of an Idempotency-Key header: 1 to 256 visible ASCII characters.
 * @throws Fault `invalid_request`
 */
export function checkIdempotencyKey(text: string): string {
  if (/^[!-~]+$/.test(text) && text.length <= LIMITS.idempotencyKeyCharacters) return text;
  throw new Fault(
    "invalid_request",
    `An Idempotency-Key is 1 to ${LIMITS.idempotencyKeyCharacters} visible ASCII characters without spaces, for example a UUID.`,
    { param: IDEMPOTENCY_KEY },
  );
}

/**
 * SHA-256 of a JSON value: equal for values that are equal whatever the order of their objects' keys, different
 * otherwise. Members that are undefined count as absent. Texts have to be well-formed (api/body.ts sees to that).
 * Recursion goes as deep as the value. Cost: one walk through it, and no copy of its texts.
 */
export function fingerprintOf(value: unknown): Uint8Array {
  const canonical = new CanonicalHash();
  canonical.add(value);
  return canonical.digest();
}

/** The subject that stands for a user in `subjectsOf` and in IdempotencyStore.forget. */
export function userSubject(userId: string): string {
  return `user:${userId}`;
}

/**
 * What an answer speaks of, each once: ids in the fields `id`, `memory_id` and `webhook_id` at any depth, and users
 * (`userSubject`) in the fields `userId` and, of a User, `id`.
 */
export function subjectsOf(body: unknown): readonly string[] {
  const subjects = new Set<string>();
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === "string") {
        const subject = subjectOf(name, member);
        if (subject !== null) subjects.add(subject);
      } else visit(member);
    }
  };
  visit(body);
  return [...subjects];
}

const IDEMPOTENCY_KEY = "Idempotency-Key";

/** Answers have ids of these; an `id` that is none of them is the application's own, of a user. */
const PUBLIC_IDS: readonly IdPrefix[] = ["mem", "chunk", "prj", "key", "chat", "msg", "evt", "wh", "dlv"];

function subjectOf(name: string, text: string): string | null {
  if (name === "memory_id" || name === "webhook_id") return text;
  if (name === "userId") return userSubject(text);
  if (name !== "id") return null;
  return PUBLIC_IDS.some((prefix) => isId(prefix, text)) ? text : userSubject(text);
}

function conflict(why: string): Fault {
  return new Fault("idempotency_conflict", `This ${IDEMPOTENCY_KEY} ${why}.`, { param: IDEMPOTENCY_KEY });
}

function slotKeyOf({ projectId, userId, route, key }: IdempotencySlot): string {
  return JSON.stringify([projectId, userId, route, key]);
}

/** What is handed to the hash at once, in UTF-16 units: large enough to be quick, small beside a body. */
const PIECE_UNITS = 64 * 1024;

/**
 * A form in which each JSON value can be written in one way only: that of JSON, with keys sorted, a comma behind each
 * member, and texts as they are behind their length, which spares escaping megabytes.
 */
class CanonicalHash {
  readonly #hash: Hash = createHash("sha256");
  #pending = "";

  add(value: unknown): void {
    if (typeof value === "string") this.#addText(value);
    else if (typeof value !== "object" || value === null) this.#addScalar(value);
    else if (Array.isArray(value)) {
      this.#write("[");
      for (const item of value) {
        this.add(item);
        this.#write(",");
      }
      this.#write("]");
    } else {
      this.#write("{");
      for (const name of sortedNames(value)) {
        const member = (value as Readonly<Record<string, unknown>>)[name];
        if (member === undefined) continue;
        this.#addText(name);
        this.add(member);
        this.#write(",");
      }
      this.#write("}");
    }
  }

  digest(): Uint8Array {
    this.#flush();
    return this.#hash.digest();
  }

  #addScalar(value: unknown): void {
    invariant(
      value === null || typeof value === "boolean" || Number.isFinite(value),
      `a ${typeof value} that is no JSON was to be compared`,
    );
    // -0 is written as the 0 that it equals
    this.#write(String(value));
  }

  #addText(text: string): void {
    if (text.length <= PIECE_UNITS) {
      this.#write(`"${text.length}:${text}`);
      return;
    }
    this.#write(`"${text.length}:`);
    this.#flush();
    for (let start = 0; start < text.length; ) {
      const end = pieceEnd(text, start);
      this.#hash.update(text.slice(start, end), "utf8");
      start = end;
    }
  }

  #write(text: string): void {
    this.#pending += text;
    if (this.#pending.length >= PIECE_UNITS) this.#flush();
  }

  #flush(): void {
    this.#hash.update(this.#pending, "utf8");
    this.#pending = "";
  }
}

// half a character would be hashed like any other half
function pieceEnd(text: string, start: number): number {
  const end = start + PIECE_UNITS;
  const isInsideOfPair = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return isInsideOfPair ? end + 1 : end;
}

// Most objects of a long body are written alike and in order: a look at them is quicker than sorting them anew.
function sortedNames(value: object): readonly string[] {
  const names = Object.keys(value);
  const isSorted = names.every((name, at) => at === 0 || (names[at - 1] ?? "") < name);
  return isSorted ? names : names.sort();
}
