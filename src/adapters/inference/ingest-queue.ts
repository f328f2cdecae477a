// Holds the ingest work that waits for the lanes, and decides which of it is next. schedule.ts takes units (texts to
// embed) from it, one slice after the other. A slice is one request to a lane.
//
// The rules, slice by slice:
// - Shares (usually projects) take turns, so that a long import of one project does not hold up the others.
// - Within a share, the call whose job has the fewest tokens left goes first, so that a note does not wait for a book.
// - Every fourth slice begins with the call that has waited longest, so that a book does not wait for ever for notes.

/** A call of ingest work. */
export interface IngestCall {
  /** Whose work it is. Shares take turns. */
  readonly share: string;
  /** Number of tokens that the job of this call still has to embed, if that is known; otherwise Infinity. */
  readonly tokensLeft: number;
}

/** Every slice whose number is divisible by this begins with the oldest call. */
const OLDEST_EVERY = 4;

/** Waiting units of one call, in order. Those before `next` are taken. */
interface WaitingCall<Owner, Unit> {
  readonly owner: Owner;
  readonly units: Unit[];
  next: number;
}

/** Waiting units of ingest work. */
export class IngestQueue<Owner extends IngestCall, Unit extends { readonly owner: Owner }> {
  /** Calls in the order of their arrival. */
  readonly #calls = new Map<Owner, WaitingCall<Owner, Unit>>();
  /** Units whose lane died. They go first. */
  #retried: Unit[] = [];
  /** Number of the slice in which each waiting share last had a turn. */
  readonly #servedIn = new Map<string, number>();
  #slice = 0;
  /** The call from which the next unit comes if no retried unit waits; null if it is not chosen yet. */
  #chosen: WaitingCall<Owner, Unit> | null = null;

  /** Whether any unit waits. */
  get isWaiting(): boolean {
    return this.#retried.length > 0 || this.#calls.size > 0;
  }

  /** Appends a unit. */
  add(unit: Unit): void {
    const call = this.#calls.get(unit.owner);
    if (call === undefined) this.#calls.set(unit.owner, { owner: unit.owner, units: [unit], next: 0 });
    else call.units.push(unit);
  }

  /** Puts units back at the front, in their order, after their lane died. */
  putBack(units: readonly Unit[]): void {
    this.#retried.unshift(...units);
  }

  /** Removes and returns the units of an owner. */
  drop(owner: Owner): readonly Unit[] {
    const call = this.#calls.get(owner);
    const retried = this.#retried.filter((unit) => unit.owner === owner);
    if (retried.length > 0) this.#retried = this.#retried.filter((unit) => unit.owner !== owner);
    if (call === undefined) return retried;
    this.#remove(call);
    return [...retried, ...call.units.slice(call.next)];
  }

  /** The owners of all waiting units. */
  owners(): readonly Owner[] {
    return [...this.#retried.map(({ owner }) => owner), ...this.#calls.keys()];
  }

  /** Begins the next slice: the rules above choose the call of its first unit. */
  beginSlice(): void {
    this.#slice += 1;
    const [oldest] = this.#calls.values();
    this.#chosen = this.#slice % OLDEST_EVERY === 0 ? (oldest ?? null) : null;
  }

  /** The next unit; undefined if none waits. */
  peek(): Unit | undefined {
    const call = this.#next();
    return this.#retried[0] ?? call?.units[call.next];
  }

  /** Removes and returns the next unit. */
  take(): Unit | undefined {
    const retried = this.#retried.shift();
    if (retried !== undefined) return retried;
    const call = this.#next();
    if (call === null) return undefined;
    const unit = call.units[call.next];
    call.next += 1;
    this.#servedIn.set(call.owner.share, this.#slice);
    if (call.next === call.units.length) this.#remove(call);
    return unit;
  }

  #next(): WaitingCall<Owner, Unit> | null {
    if (this.#chosen !== null) return this.#chosen;
    let best: WaitingCall<Owner, Unit> | null = null;
    for (const call of this.#calls.values()) if (best === null || this.#isBefore(call, best)) best = call;
    this.#chosen = best;
    return best;
  }

  // Calls of equal rank keep the order of their arrival.
  #isBefore({ owner }: WaitingCall<Owner, Unit>, { owner: other }: WaitingCall<Owner, Unit>): boolean {
    const turns = (this.#servedIn.get(owner.share) ?? 0) - (this.#servedIn.get(other.share) ?? 0);
    return turns === 0 ? owner.tokensLeft < other.tokensLeft : turns < 0;
  }

  #remove(call: WaitingCall<Owner, Unit>): void {
    this.#calls.delete(call.owner);
    if (this.#chosen === call) this.#chosen = null;
    const { share } = call.owner;
    for (const { owner } of this.#calls.values()) if (owner.share === share) return;
    this.#servedIn.delete(share);
  }
}
