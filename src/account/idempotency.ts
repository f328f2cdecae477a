// Makes repeated POST requests harmless: decides whether a request with an Idempotency-Key is new, a repetition of an
// earlier one, or a different request with a key that was used before. The API decides which operations accept the
// header.

import { createHash, type Hash } from "node:crypto";
import { Fault, invariant } from "../domain/fault.ts";
import { ID_PREFIXES, isId } from "../domain/ids.ts";
import { LIMITS } from "../domain/limits.ts";
import type { Eventually } from "../kit/eventually.ts";
import { splitsPair } from "../kit/surrogates.ts";
import type { Flight, Flights } from "../ports/coordination.ts";
import { type IdempotencySlot, type IdempotencyStore, userSubject } from "../ports/idempotency-store.ts";
import type { Transaction } from "../ports/transactions.ts";

/** The result of a request that made a change, as it is stored under the Idempotency-Key. */
export interface Outcome {
  readonly status: number;
  /**
   * The JSON from which a repetition is answered. It lacks one-time secrets and the data that the repeated request
   * contains itself.
   */
  readonly remembered: unknown;
  /**
   * Further subjects (see `subjectsOf`) that `remembered` concerns but does not contain, such as the chat and the user
   * of a message.
   */
  readonly subjects?: readonly string[];
}

/** What to do with a request: replay the stored answer, or run the request. */
export type Begun =
  | { readonly kind: "replay"; readonly status: number; readonly body: string }
  | ({ readonly kind: "run" } & Once);

/** A request that runs under its Idempotency-Key. */
export interface Once {
  /**
   * Stores the answer in the transaction of the request's change: after a crash either both exist or neither does. If
   * the transaction is undone, a repetition runs again. Call it once, before `end`.
   */
  remember(transaction: Transaction, outcome: Outcome): Promise<void>;
  /**
   * Ends the request. From now on, the next request with the same key runs or is replayed. Must be called; a second
   * call does nothing.
   */
  end(): Eventually<void>;
}

/** Requests under an Idempotency-Key. */
export class Idempotency {
  readonly #store: Pick<IdempotencyStore, "recall">;
  readonly #flights: Flights;

  /** @param flights the requests in progress; by default, those of this process */
  constructor(store: Pick<IdempotencyStore, "recall">, flights: Flights = new InFlight()) {
    this.#store = store;
    this.#flights = flights;
  }

  /**
   * Decides whether a request is replayed or runs. Call it after all checks that are possible without running the
   * request.
   * @param fingerprint `fingerprintOf` of path parameters, query and body.
   * @throws Fault `idempotency_conflict` if a different request used this key, a request with this key is still
   *   running, or what that request created was deleted since
   */
  async begin(slot: IdempotencySlot, fingerprint: Uint8Array): Promise<Begun> {
    // Marked as running before the answer is looked up, so that no answer that is stored meanwhile is missed.
    const flight = await this.#flights.begin(slotKeyOf(slot));
    let begun: Begun | null = null;
    try {
      begun = await this.#replay(slot, fingerprint);
      if (begun === null && flight !== null) begun = runOnce(slot, fingerprint, flight);
      if (begun !== null) return begun;
      throw conflict("belongs to a request that is still running; repeat the request when that one has ended");
    } finally {
      if (begun?.kind !== "run") await flight?.end();
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
}

function runOnce(slot: IdempotencySlot, fingerprint: Uint8Array, flight: Flight): Begun {
  let isRunning = true;
  return {
    kind: "run",
    remember: async ({ idempotency }, { status, remembered, subjects = [] }) => {
      invariant(isRunning, `a request to ${slot.route} is remembered after its end`);
      const all = new Set([...subjectsOf(remembered), ...subjects]);
      await idempotency.remember(slot, { fingerprint, status, body: JSON.stringify(remembered) }, [...all]);
    },
    end: () => {
      isRunning = false;
      return flight.end();
    },
  };
}

/** The slots of the requests that are running in this process. */
export class InFlight implements Flights {
  readonly #slotKeys = new Set<string>();

  begin(slotKey: string): { end(): void } | null {
    if (this.#slotKeys.has(slotKey)) return null;
    this.#slotKeys.add(slotKey);
    let isRunning = true;
    return {
      end: () => {
        // A late second call must not end the next request with this key.
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
 * undefined count as absent. A `LongText` counts only as its placeholder, so the caller has to add the hashes of all
 * such texts to the value. Texts must be well-formed (api/body.ts guarantees it). The recursion is as deep as the
 * value. Takes linear time and does not copy the texts.
 */
export function fingerprintOf(value: unknown): Uint8Array {
  const canonical = new CanonicalHash();
  canonical.add(value);
  return canonical.digest();
}

/**
 * The subjects of an answer, without duplicates: what the answer is about. These are the ids in the fields `id`,
 * `memory_id` and `webhook_id` at any depth, and the users (as `userSubject`) in the fields `userId` and, for a User,
 * `id`. When a subject is erased, the stored answers about it are erased, too.
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

/** Prefixes of public ids in answers. Any other value of a field `id` is a user id, which the application chose. */
const PUBLIC_IDS = Object.values(ID_PREFIXES);

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

/**
 * Maximum number of UTF-16 code units passed to the hash at once: large enough to be fast, small compared with a body.
 */
const PIECE_UNITS = 64 * 1024;

/**
 * Hashes a canonical form of a JSON value: JSON with sorted keys, with a comma after each member, and with texts
 * written as their length and then their characters without escapes. Because of the length, no escapes are needed; they
 * would cost time for megabytes of text.
 */
class CanonicalHash {
  readonly #hash: Hash = createHash("sha256");
  #pending = "";

  add(value: unknown): void {
    if (typeof value === "string") this.#addText(value);
    else if (typeof value !== "object" || value === null) this.#addScalar(value);
    else if ("toJSON" in value && typeof value.toJSON === "function") this.add(value.toJSON());
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
    // -0 is written as "0", which is right because both are equal.
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

// Where the next piece ends. A surrogate pair is never split, because all lone surrogates have the same hash.
function pieceEnd(text: string, start: number): number {
  const end = start + PIECE_UNITS;
  return splitsPair(text, end) ? end + 1 : end;
}

// Most objects of a long body have their keys in order already, and checking that is faster than sorting.
function sortedNames(value: object): readonly string[] {
  const names = Object.keys(value);
  const isSorted = names.every((name, at) => at === 0 || (names[at - 1] ?? "") < name);
  return isSorted ? names : names.sort();
}
