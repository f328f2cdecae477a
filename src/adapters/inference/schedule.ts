// Who is computed next, and where? The two waiting lines of the lanes and the rules between them. Pure bookkeeping: it
// starts nothing and measures no time; lanes.ts carries out what `take` decides.
//
// The rules: a person waiting (`query`) goes before batch work (`ingest`). The query lane helps ingest only while no
// queries come, with one small piece at a time, so that the first query waits at most for that and the next ones for
// nothing. The ingest lane takes query work when it is free, but every other turn belongs to ingest: neither line starves.

import type { EarlyExit, Priority } from "../../ports/models.ts";
import { REQUEST_TEXTS_MAX } from "./lane-protocol.ts";

/** What all units of one call share; lanes.ts keeps the caller's promise in it. */
export interface UnitOwner {
  readonly priority: Priority;
}

interface UnitBase<Owner extends UnitOwner> {
  readonly owner: Owner;
  /** Estimated; see `estimateTokens`. */
  readonly tokens: number;
  /** Lanes that died over it. */
  deaths: number;
}

/** One text to embed; `index` is its row in the owner's result. */
export interface EmbedUnit<Owner extends UnitOwner> extends UnitBase<Owner> {
  readonly op: "embed";
  readonly index: number;
  readonly text: string;
}

/** Some passages of one rerank; `indices` are their places in the owner's result. */
export interface ScoreUnit<Owner extends UnitOwner> extends UnitBase<Owner> {
  readonly op: "score";
  readonly indices: readonly number[];
  readonly query: string;
  readonly passages: readonly string[];
  /** null: all passages are read by all layers. */
  readonly earlyExit: EarlyExit | null;
}

/** The smallest piece of work; never split over lanes. */
export type Unit<Owner extends UnitOwner> = EmbedUnit<Owner> | ScoreUnit<Owner>;

/** What one request to a lane computes: some texts, or one piece of a rerank. */
export type Slice<Owner extends UnitOwner> =
  | { readonly op: "embed"; readonly priority: Priority; readonly units: readonly EmbedUnit<Owner>[] }
  | { readonly op: "score"; readonly priority: Priority; readonly units: readonly [ScoreUnit<Owner>] };

/** What a lane is for: `query` and `ingest` share the work of several lanes, `only` does it all. */
export type LaneRole = "query" | "ingest" | "only";

/** The state of a lane that decides what it may take. */
export interface LaneLoad {
  readonly role: LaneRole;
  /** Requests sent and not answered. */
  readonly inFlight: number;
  /** Whether the last slice it took was query work. */
  readonly tookQueryLast: boolean;
  /** Whether no query came for a while, so that none is likely to come now. */
  readonly isQuiet: boolean;
}

interface RoleRule {
  /** Tokens of one slice of ingest work. */
  readonly ingestTokensMax: number;
  /** Requests in flight while ingest work waits; the second one spares the lane the wait for the server. */
  readonly depth: number;
  /** Whether every other turn belongs to ingest. */
  readonly isShared: boolean;
  /** Whether it leaves ingest alone while queries come. */
  readonly isReserved: boolean;
}

/** 1,024 tokens are about 60 ms of one core, 256 about 16 ms: the longest that a query waits behind helping out. */
const RULES: Readonly<Record<LaneRole, RoleRule>> = {
  query: { ingestTokensMax: 256, depth: 1, isShared: false, isReserved: true },
  ingest: { ingestTokensMax: 1024, depth: 2, isShared: true, isReserved: false },
  only: { ingestTokensMax: 256, depth: 1, isShared: true, isReserved: false },
};

/** Queries computed together: more would make the first one wait for the last. */
const QUERIES_TOGETHER_MAX = 16;
const QUERY_TOKENS_MAX = 1024;

/** The waiting lines. Within a line, first come, first served. */
export class Schedule<Owner extends UnitOwner> {
  private queries: Unit<Owner>[] = [];
  private ingest: Unit<Owner>[] = [];
  private ingestTokensWaiting = 0;

  /** Tokens of the ingest units that wait. */
  ingestTokens(): number {
    return this.ingestTokensWaiting;
  }

  /** Puts an owner's units at the end of its line. */
  add(units: readonly Unit<Owner>[]): void {
    for (const unit of units) this.line(unit).push(unit);
    this.ingestTokensWaiting += ingestTokensOf(units);
  }

  /** Puts units back at the front, in their order: their lane died over them. */
  putBack(units: readonly Unit<Owner>[]): void {
    for (const unit of units.toReversed()) this.line(unit).unshift(unit);
    this.ingestTokensWaiting += ingestTokensOf(units);
  }

  /** Forgets the waiting units of an owner who no longer wants them. */
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

  /** Takes the slice that this lane should compute next out of its line; null when it should take nothing now. */
  take(lane: LaneLoad): Slice<Owner> | null {
    const rule = RULES[lane.role];
    if (lane.inFlight >= rule.depth) return null;
    const queriesWait = this.queries.length > 0;
    // A lane that is busy is not topped up while queries wait: it gets free for them sooner.
    if (lane.inFlight > 0) return queriesWait ? null : this.takeIngest(rule);
    const isIngestTurn = rule.isShared && lane.tookQueryLast && this.ingest.length > 0;
    if (queriesWait && !isIngestTurn) return this.takeQueries();
    return rule.isReserved && !lane.isQuiet ? null : this.takeIngest(rule);
  }

  private line(unit: Unit<Owner>): Unit<Owner>[] {
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
 * Takes the first unit of a line, and with it the texts behind it that fit. A unit over which a lane died goes alone, so
 * that it takes no other with it.
 */
function takeSlice<Owner extends UnitOwner>(
  line: Unit<Owner>[],
  priority: Priority,
  textsMax: number,
  tokensMax: number,
): Slice<Owner> | null {
  const first = line.shift();
  if (first === undefined) return null;
  if (first.op === "score") return { op: "score", priority, units: [first] };
  const units = [first];
  let tokens = first.tokens;
  while (first.deaths === 0 && units.length < textsMax) {
    const next = line[0];
    if (next === undefined || next.op !== "embed" || next.deaths > 0 || tokens + next.tokens > tokensMax) break;
    line.shift();
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

/** Four bytes of UTF-8 are about one token of English prose. */
const BYTES_PER_TOKEN = 4;
/** `[CLS]` and `[SEP]`. */
const SPECIAL_TOKENS = 2;

/** Tokens that a model will read of a text, without tokenising it: good enough to share out work. */
export function estimateTokens(text: string, tokensMax: number): number {
  return Math.min(tokensMax, SPECIAL_TOKENS + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN));
}
