// The two queues of the lanes (`query` and `ingest`) and the rules between them. Pure bookkeeping: it starts nothing
// and measures no time; lanes.ts carries out what `take` decides.
//
// The rules:
// - Query work, for which a person waits, goes before ingest work.
// - The query lane takes ingest work only while no queries come, one small piece at a time. So the first query waits
//   for one such piece at most, and the next ones for none.
// - An ingest lane takes query work when it is free, but every other turn belongs to ingest. So neither queue starves.

import type { EarlyExit, Priority } from "../../ports/models.ts";
import { REQUEST_TEXTS_MAX } from "./lane-protocol.ts";

/** The call that a unit belongs to; lanes.ts keeps the caller's promise in it. */
export interface UnitOwner {
  readonly priority: Priority;
}

interface UnitBase<Owner extends UnitOwner> {
  readonly owner: Owner;
  /** Estimated by `estimateTokens`. */
  readonly tokens: number;
  /** Number of lanes that died while they computed it. */
  deaths: number;
}

/** One text to embed; `index` is its row in the owner's result. */
export interface EmbedUnit<Owner extends UnitOwner> extends UnitBase<Owner> {
  readonly op: "embed";
  readonly index: number;
  readonly text: string;
}

/** Some passages of one rerank; `indices` are their positions in the owner's result. */
export interface ScoreUnit<Owner extends UnitOwner> extends UnitBase<Owner> {
  readonly op: "score";
  readonly indices: readonly number[];
  readonly query: string;
  readonly passages: readonly string[];
  /** null: all passages are read by all layers. */
  readonly earlyExit: EarlyExit | null;
}

/** The smallest unit of work; never split over lanes. */
export type Unit<Owner extends UnitOwner> = EmbedUnit<Owner> | ScoreUnit<Owner>;

/** Work of one request to a lane: some texts, or one piece of a rerank. */
export type Slice<Owner extends UnitOwner> =
  | { readonly op: "embed"; readonly priority: Priority; readonly units: readonly EmbedUnit<Owner>[] }
  | { readonly op: "score"; readonly priority: Priority; readonly units: readonly [ScoreUnit<Owner>] };

/** Role of a lane. With several lanes, one has role `query` and the others `ingest`. A single lane has role `only`. */
export type LaneRole = "query" | "ingest" | "only";

/** State of a lane that determines what work it may take. */
export interface LaneLoad {
  readonly role: LaneRole;
  /** Requests without an answer yet. */
  readonly inFlight: number;
  /** Whether its last slice was query work. */
  readonly tookQueryLast: boolean;
  /** Whether no query came for a while, so that another one is unlikely to come now. */
  readonly isQuiet: boolean;
}

interface RoleRule {
  /** Maximum tokens of one slice of ingest work. */
  readonly ingestTokensMax: number;
  /** Maximum requests in flight. With two, a lane does not wait for the server between slices. */
  readonly depth: number;
  /** Whether every other turn belongs to ingest while both queues have work. */
  readonly isShared: boolean;
  /** Whether it takes no ingest work while queries come. */
  readonly isReserved: boolean;
}

/** 1,024 tokens take about 60 ms of one core. 256 take about 16 ms, the longest wait of a query behind ingest work. */
const RULES: Readonly<Record<LaneRole, RoleRule>> = {
  query: { ingestTokensMax: 256, depth: 1, isShared: false, isReserved: true },
  ingest: { ingestTokensMax: 1024, depth: 2, isShared: true, isReserved: false },
  only: { ingestTokensMax: 256, depth: 1, isShared: true, isReserved: false },
};

/** Maximum queries in one slice; with more, the first one would wait for the last. */
const QUERIES_TOGETHER_MAX = 16;
const QUERY_TOKENS_MAX = 1024;

/** The two queues; each is first in, first out. */
export class Schedule<Owner extends UnitOwner> {
  private queries: Unit<Owner>[] = [];
  private ingest: Unit<Owner>[] = [];
  private ingestTokensWaiting = 0;

  /** Tokens of the waiting ingest units. */
  ingestTokens(): number {
    return this.ingestTokensWaiting;
  }

  /** Appends units to the queue of their priority. */
  add(units: readonly Unit<Owner>[]): void {
    for (const unit of units) this.queueOf(unit).push(unit);
    this.ingestTokensWaiting += ingestTokensOf(units);
  }

  /** Puts units back at the front, in their order, after their lane died. */
  putBack(units: readonly Unit<Owner>[]): void {
    for (const unit of units.toReversed()) this.queueOf(unit).unshift(unit);
    this.ingestTokensWaiting += ingestTokensOf(units);
  }

  /** Removes the waiting units of an owner whose call has ended. */
  drop(owner: Owner): void {
    const isKept = (unit: Unit<Owner>) => unit.owner !== owner;
    this.queries = this.queries.filter(isKept);
    this.ingest = this.ingest.filter(isKept);
    this.ingestTokensWaiting = ingestTokensOf(this.ingest);
  }

  /** The owners of all waiting units. */
  owners(): ReadonlySet<Owner> {
    return new Set([...this.queries, ...this.ingest].map((unit) => unit.owner));
  }

  /** Removes and returns the slice that this lane should compute next; null: it should take nothing now. */
  take(lane: LaneLoad): Slice<Owner> | null {
    const rule = RULES[lane.role];
    if (lane.inFlight >= rule.depth) return null;
    const queriesWait = this.queries.length > 0;
    // A busy lane gets no second slice while queries wait, so that it is free for them sooner.
    if (lane.inFlight > 0) return queriesWait ? null : this.takeIngest(rule);
    const isIngestTurn = rule.isShared && lane.tookQueryLast && this.ingest.length > 0;
    if (queriesWait && !isIngestTurn) return this.takeQueries();
    return rule.isReserved && !lane.isQuiet ? null : this.takeIngest(rule);
  }

  private queueOf(unit: Unit<Owner>): Unit<Owner>[] {
    return unit.owner.priority === "query" ? this.queries : this.ingest;
  }

  private takeQueries(): Slice<Owner> | null {
    return takeSlice(this.queries, "query", QUERIES_TOGETHER_MAX, QUERY_TOKENS_MAX);
  }

  private takeIngest(rule: RoleRule): Slice<Owner> | null {
    const slice = takeSlice(this.ingest, "ingest", REQUEST_TEXTS_MAX, rule.ingestTokensMax);
    if (slice !== null) this.ingestTokensWaiting -= ingestTokensOf(slice.units);
    return slice;
  }
}

/**
 * Takes the first unit of a queue and the texts behind it that fit. A unit whose lane died before goes alone, so that
 * it cannot make other units fail.
 */
function takeSlice<Owner extends UnitOwner>(
  queue: Unit<Owner>[],
  priority: Priority,
  textsMax: number,
  tokensMax: number,
): Slice<Owner> | null {
  const first = queue.shift();
  if (first === undefined) return null;
  if (first.op === "score") return { op: "score", priority, units: [first] };
  const units = [first];
  let tokens = first.tokens;
  while (first.deaths === 0 && units.length < textsMax) {
    const next = queue[0];
    if (next === undefined || next.op !== "embed" || next.deaths > 0 || tokens + next.tokens > tokensMax) break;
    queue.shift();
    units.push(next);
    tokens += next.tokens;
  }
  return { op: "embed", priority, units };
}

function ingestTokensOf<Owner extends UnitOwner>(units: readonly Unit<Owner>[]): number {
  let tokens = 0;
  for (const unit of units) if (unit.owner.priority === "ingest") tokens += unit.tokens;
  return tokens;
}

/** UTF-8 bytes per token of English prose, about. */
const BYTES_PER_TOKEN = 4;
/** `[CLS]` and `[SEP]`. */
const SPECIAL_TOKENS = 2;

/** Estimated tokens that a model reads of a text, without tokenising it. Precise enough to distribute work. */
export function estimateTokens(text: string, tokensMax: number): number {
  return Math.min(tokensMax, SPECIAL_TOKENS + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN));
}
