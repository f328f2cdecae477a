// The two queues of the lanes (`query` and `ingest`), and the rules by which `take` chooses the next work of a lane. It
// depends on no time; lanes.ts sends the requests.
//
// The rules:
// - Query work, for which a person waits, has priority over ingest work.
// - Texts of queries go before reranks and readings, which take many times as long. So queries that arrive together
//   are embedded together, and a search without reranking does not wait for those with it. At most
//   `OVERTAKING_TEXTS_MAX` texts overtake a rerank.
// - The query lane gets ingest work only while there are no queries, one small slice at a time. So the first query
//   waits for one such slice at most, and the next queries for none.
// - An ingest lane that is free gets query work, too. If both queues have work, it gets ingest work every second time,
//   so that neither queue waits forever.
// - A lane on a GPU gets larger slices. If more queries are on their way, it waits a moment for them.
// - ingest-queue.ts decides which ingest work is next.

import type { EarlyExit, Priority } from "../../ports/models.ts";
import { type IngestCall, IngestQueue } from "./ingest-queue.ts";
import { REQUEST_TEXTS_MAX } from "./lane-protocol.ts";

/** The call to which a unit belongs. lanes.ts uses objects that also settle the promise of the caller. */
export interface UnitOwner extends IngestCall {
  readonly priority: Priority;
}

interface UnitBase<Owner extends UnitOwner> {
  readonly owner: Owner;
  /** Id of the model. A slice has work for one model only. */
  readonly model: string;
  /** Number of tokens, estimated by `estimateTokens`. */
  readonly tokens: number;
  /** Number of lanes that died while they computed it. */
  deaths: number;
}

/** One text to embed or to count. `index` is its row in the owner's result. */
export interface TextUnit<Owner extends UnitOwner> extends UnitBase<Owner> {
  readonly op: "embed" | "count";
  readonly index: number;
  readonly text: string;
}

/** Some passages to score or read with one query. `indices` are their rows in the owner's result. */
export interface PairsUnit<Owner extends UnitOwner> extends UnitBase<Owner> {
  readonly op: "score" | "read";
  readonly indices: readonly number[];
  readonly query: string;
  readonly passages: readonly string[];
  /** null if all passages must pass through all layers. */
  readonly earlyExit: EarlyExit | null;
}

/** The smallest unit of work, which is never split between lanes. */
export type Unit<Owner extends UnitOwner> = TextUnit<Owner> | PairsUnit<Owner>;

/** The work of one request to a lane: some texts with the same `op`, or one piece of a rerank or reading. */
export type Slice<Owner extends UnitOwner> =
  | {
      readonly op: TextUnit<Owner>["op"];
      readonly model: string;
      readonly priority: Priority;
      readonly units: readonly TextUnit<Owner>[];
    }
  | {
      readonly op: PairsUnit<Owner>["op"];
      readonly model: string;
      readonly priority: Priority;
      readonly units: readonly [PairsUnit<Owner>];
    };

/** Whether a unit or slice consists of pairs of query and passage. A slice of pairs has one unit only. */
export function isOfPairs<Work extends { readonly op: string }>(
  work: Work,
): work is Extract<Work, { readonly op: "score" | "read" }> {
  return work.op === "score" || work.op === "read";
}

/** Role of a lane. With several lanes, one has role `query` and the others `ingest`. A single lane has role `only`. */
export type LaneRole = "query" | "ingest" | "only";

/** State of a lane that determines which work it may get. */
export interface LaneLoad {
  readonly role: LaneRole;
  /** Number of requests that the lane has not answered yet. */
  readonly inFlight: number;
  /** Whether its last slice was query work. */
  readonly tookQueryLast: boolean;
  /** Whether there was no query for a while (`QUIET_AFTER_MS` in lanes.ts), so that another one is unlikely now. */
  readonly isQuiet: boolean;
  /** Whether it computes on a GPU. */
  readonly isOnGpu: boolean;
  /** Whether the waiting queries should wait for others, to be computed with them. */
  readonly isGathering: boolean;
}

interface RoleRule {
  /** Maximum number of tokens of one slice of ingest work. */
  readonly ingestTokensMax: number;
  /**
   * Maximum number of requests that are sent and not answered. With two, a lane does not wait for the server between
   * slices.
   */
  readonly depth: number;
  /** Whether every second slice is ingest work while both queues have work. */
  readonly isShared: boolean;
  /** Whether the lane gets ingest work only while there are no queries. */
  readonly isReserved: boolean;
}

/**
 * Rules for lanes on the CPU. 1,024 tokens take about 60 ms of one core. 256 take about 16 ms, which is the longest
 * time that a query waits for ingest work.
 */
const RULES: Readonly<Record<LaneRole, RoleRule>> = {
  query: { ingestTokensMax: 256, depth: 1, isShared: false, isReserved: true },
  ingest: { ingestTokensMax: 1024, depth: 2, isShared: true, isReserved: false },
  only: { ingestTokensMax: 256, depth: 1, isShared: true, isReserved: false },
};

/**
 * Rules for lanes on a GPU. It computes thousands of tokens in the time of a few, because most of the time is the start
 * of its kernels: an H200 embeds one query in 3.5 ms, and 6,000 chunks per second (docs/benchmarks.md).
 */
const GPU_RULES: typeof RULES = {
  query: { ...RULES.query, ingestTokensMax: 4096 },
  ingest: { ...RULES.ingest, ingestTokensMax: 16_384 },
  only: { ...RULES.only, ingestTokensMax: 4096 },
};

/**
 * Maximum size of a slice of queries, on the CPU and on a GPU. In a larger one, the first query would wait too long.
 */
const QUERIES_TOGETHER = { textsMax: 16, tokensMax: 1024 };
const GPU_QUERIES_TOGETHER = { textsMax: 64, tokensMax: 8192 };
/** Number of texts of queries after which a waiting piece of a rerank is next: about 50 ms of one core. */
const OVERTAKING_TEXTS_MAX = 16;

/** The two queues. Texts of queries are first in, first out, and so are pairs (reranks and readings). */
export class Schedule<Owner extends UnitOwner> {
  private queryTexts: Unit<Owner>[] = [];
  private pairs: Unit<Owner>[] = [];
  /** Number of texts of queries that were taken since the last piece of a rerank. */
  private textsInRow = 0;
  private readonly ingest = new IngestQueue<Owner, Unit<Owner>>();
  private ingestTokensWaiting = 0;

  /** Whether texts of queries wait, and no pairs. Only texts can be computed together with those of later queries. */
  get areOnlyTextsOfQueriesWaiting(): boolean {
    return this.queryTexts.length > 0 && this.pairs.length === 0;
  }

  /** Number of tokens of the waiting ingest units. */
  ingestTokens(): number {
    return this.ingestTokensWaiting;
  }

  /** Appends units to the queue of their priority. */
  add(units: readonly Unit<Owner>[]): void {
    for (const unit of units) {
      if (unit.owner.priority === "ingest") this.ingest.add(unit);
      else if (isOfPairs(unit)) this.pairs.push(unit);
      else this.queryTexts.push(unit);
    }
    this.ingestTokensWaiting += ingestTokensOf(units);
  }

  /** Puts units back at the front of their queue, in their order, after their lane died. */
  putBack(units: readonly Unit<Owner>[]): void {
    const queries = units.filter((unit) => unit.owner.priority === "query");
    this.queryTexts.unshift(...queries.filter((unit) => !isOfPairs(unit)));
    this.pairs.unshift(...queries.filter((unit) => isOfPairs(unit)));
    this.ingest.putBack(units.filter((unit) => unit.owner.priority === "ingest"));
    this.ingestTokensWaiting += ingestTokensOf(units);
  }

  /** Removes the waiting units of an owner whose call has ended. */
  drop(owner: Owner): void {
    this.queryTexts = this.queryTexts.filter((unit) => unit.owner !== owner);
    this.pairs = this.pairs.filter((unit) => unit.owner !== owner);
    this.ingestTokensWaiting -= ingestTokensOf(this.ingest.drop(owner));
  }

  /** The owners of all waiting units. */
  owners(): ReadonlySet<Owner> {
    const queries = [...this.queryTexts, ...this.pairs].map((unit) => unit.owner);
    return new Set([...queries, ...this.ingest.owners()]);
  }

  /** Removes the slice that this lane should compute next and returns it; null if the lane should get no work now. */
  take(lane: LaneLoad): Slice<Owner> | null {
    const rule = (lane.isOnGpu ? GPU_RULES : RULES)[lane.role];
    if (lane.inFlight >= rule.depth) return null;
    const queriesWait = this.queryTexts.length + this.pairs.length > 0;
    // A busy lane gets no second slice while queries wait, so that it is free for them sooner.
    if (lane.inFlight > 0) return queriesWait ? null : this.takeIngest(rule);
    const isIngestTurn = rule.isShared && lane.tookQueryLast && this.ingest.isWaiting;
    if (queriesWait && !isIngestTurn) {
      const together = lane.isOnGpu ? GPU_QUERIES_TOGETHER : QUERIES_TOGETHER;
      const gathers = lane.isGathering && this.areOnlyTextsOfQueriesWaiting;
      return gathers && this.queryTexts.length < together.textsMax ? null : this.takeQueries(together);
    }
    return rule.isReserved && !lane.isQuiet ? null : this.takeIngest(rule);
  }

  private takeQueries({ textsMax, tokensMax }: typeof QUERIES_TOGETHER): Slice<Owner> | null {
    const isRerankTurn = this.textsInRow >= OVERTAKING_TEXTS_MAX && this.pairs.length > 0;
    const units = isRerankTurn || this.queryTexts.length === 0 ? this.pairs : this.queryTexts;
    const queue = { peek: () => units[0], take: () => units.shift() };
    const slice = takeSlice(queue, "query", textsMax, tokensMax);
    this.textsInRow = slice === null || isOfPairs(slice) ? 0 : this.textsInRow + slice.units.length;
    return slice;
  }

  private takeIngest(rule: RoleRule): Slice<Owner> | null {
    this.ingest.beginSlice();
    const slice = takeSlice(this.ingest, "ingest", REQUEST_TEXTS_MAX, rule.ingestTokensMax);
    if (slice !== null) this.ingestTokensWaiting -= ingestTokensOf(slice.units);
    return slice;
  }
}

/**
 * Takes the next slice from a queue: its first unit and, if that is a text, those texts for the same model directly
 * after it that fit. A unit whose lane has died before gets a slice of its own, so that it cannot make other units
 * fail.
 * @param textsMax maximum number of texts in the slice
 * @param tokensMax maximum number of tokens in the slice, unless its first unit alone has more
 * @returns null if the queue is empty
 */
function takeSlice<Owner extends UnitOwner>(
  queue: { peek(): Unit<Owner> | undefined; take(): Unit<Owner> | undefined },
  priority: Priority,
  textsMax: number,
  tokensMax: number,
): Slice<Owner> | null {
  const first = queue.take();
  if (first === undefined) return null;
  const { model } = first;
  if (isOfPairs(first)) return { op: first.op, model, priority, units: [first] };
  const units = [first];
  let tokens = first.tokens;
  while (first.deaths === 0 && units.length < textsMax) {
    const next = queue.peek();
    if (next === undefined || isOfPairs(next) || next.op !== first.op || next.model !== model) break;
    if (next.deaths > 0 || tokens + next.tokens > tokensMax) break;
    queue.take();
    units.push(next);
    tokens += next.tokens;
  }
  return { op: first.op, model, priority, units };
}

function ingestTokensOf<Owner extends UnitOwner>(units: readonly Unit<Owner>[]): number {
  let tokens = 0;
  for (const unit of units) if (unit.owner.priority === "ingest") tokens += unit.tokens;
  return tokens;
}

/**
 * Number of tokens that are counted in the time in which one is embedded, with the slower tokeniser. In a second, one
 * core embeds about 17,000 tokens of English text; the tokeniser of all-minilm-l6-v2 counts 1,150,000, that of
 * mneme-e5-small 340,000.
 */
const COUNTED_PER_EMBEDDED = 20;

/** The time of counting the tokens of a text, as the number of tokens that are embedded in the same time. */
export function countingCost(text: string): number {
  return Math.ceil(estimateTokens(text, Number.POSITIVE_INFINITY) / COUNTED_PER_EMBEDDED);
}

/** Approximate number of UTF-8 bytes per token of English prose. */
const BYTES_PER_TOKEN = 4;
/** Number of special tokens: `[CLS]` and `[SEP]`. */
const SPECIAL_TOKENS = 2;

/**
 * Estimates the number of tokens that a model reads of a text, special tokens included, without tokenising it. It is
 * precise enough to distribute work.
 */
export function estimateTokens(text: string, tokensMax: number): number {
  return Math.min(tokensMax, SPECIAL_TOKENS + Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN));
}
