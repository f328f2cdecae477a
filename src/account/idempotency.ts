// Makes repeated POST requests harmless: decides whether a request with an Idempotency-Key is new, a repetition, or a
// different request under a used key. The API decides which operations accept the header.

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

/** What to do with a request: replay a remembered answer, or run it. */
export type Begun =
  | { readonly kind: "replay"; readonly status: number; readonly body: string }
  | {
      readonly kind: "run";
      /**
       * Makes the request's change and remembers its answer in one transaction: after a crash both exist or neither.
       * If `work` throws, or its outcome is not a success, nothing is remembered and a repetition runs again. Call it
       * once, before `end`.
       */
      commit<O extends Outcome>(work: (transaction: Transaction) => Eventually<O>): Promise<O>;
      /**
       * Ends the request: the next request with its key may run or is replayed. Must be called; a second call does
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
   * Begins a request. Call it after all checks that are possible without running the request.
   * @param fingerprint `fingerprintOf` of path parameters, query and body.
   * @throws Fault `idempotency_conflict` if a different request used this key, or a request with it is still running
   */
  async begin(slot: IdempotencySlot, fingerprint: Uint8Array): Promise<Begun> {
    const known = await this.#replay(slot, fingerprint);
    if (known !== null) return known;
    const flight = this.#inFlight.begin(slotKeyOf(slot));
    if (flight === null)
      throw conflict("belongs to a request that is still running; repeat the request when that one has ended");
    try {
      // the request that was running may have ended since the first check
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
        "was used for another request; use a new key for each request, and the same key to repeat a request unchanged",
      );
    }
    const { status, body } = answer;
    if (body !== null) return { kind: "replay", status, body };
    throw conflict("created something that was deleted since; use a new key to create it again");
  }

  #run(slot: IdempotencySlot, fingerprint: Uint8Array, flight: { end(): void }): Begun {
    let isRunning = true;
    return {
      kind: "run",
      commit: (work) => {
        invariant(isRunning, `a request to ${slot.route} called commit after its end`);
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

/** Slots of requests that are running; each slot at most once. */
export class InFlight {
  readonly #slotKeys = new Set<string>();

  /** Adds `slotKey` until `end`. Returns null if it is running already. */
  begin(slotKey: string): { end(): void } | null {
    if (this.#slotKeys.has(slotKey)) return null;
    this.#slotKeys.add(slotKey);
    let isRunning = true;
    return {
      end: () => {
        // a late second call must not end the next request with this key
        if (isRunning) this.#slotKeys.delete(slotKey);
        isRunning = false;
      },
    };
  }
}

/**
 * Validates the value of an Idempotency-Key header: 1 to 256 visible ASCII characters.
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
 * SHA-256 of a JSON value. The order of object keys makes no difference; any other difference does. Members that are
 * undefined count as absent. Texts must be well-formed (api/body.ts guarantees it). Recursion is as deep as the value.
 * Linear, without copying the texts.
 */
export function fingerprintOf(value: unknown): Uint8Array {
  const canonical = new CanonicalHash();
  canonical.add(value);
  return canonical.digest();
}

/** Subject of a user, for `subjectsOf` and IdempotencyStore.forget. */
export function userSubject(userId: string): string {
  return `user:${userId}`;
}

/**
 * Subjects of an answer, without duplicates. They are the ids in the fields `id`, `memory_id` and `webhook_id` at any
 * depth, and users (`userSubject`) in the fields `userId` and, for a User, `id`. When a subject is erased, answers that
 * contain it are forgotten.
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

/** Prefixes of ids in answers. Any other value of a field `id` is a user id, which the application chose. */
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

/** UTF-16 units per call of the hash: large enough to be fast, small compared with a body. */
const PIECE_UNITS = 64 * 1024;

/**
 * Hashes a canonical form of a JSON value: JSON with sorted keys, a comma after each member, and each text unescaped
 * after its length. The length makes escaping unnecessary, which would cost time for megabytes of text.
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
      `the fingerprint of a ${typeof value} that is not JSON was requested`,
    );
    // String(-0) is "0", which is right: both are equal
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

// Never splits a surrogate pair: all lone surrogates have the same hash.
function pieceEnd(text: string, start: number): number {
  const end = start + PIECE_UNITS;
  const splitsPair = (text.charCodeAt(end - 1) & 0xfc00) === 0xd800;
  return splitsPair ? end + 1 : end;
}

// Most objects of a long body have their keys in order already, and checking that is faster than sorting.
function sortedNames(value: object): readonly string[] {
  const names = Object.keys(value);
  const isSorted = names.every((name, at) => at === 0 || (names[at - 1] ?? "") < name);
  return isSorted ? names : names.sort();
}
