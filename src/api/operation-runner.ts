// Runs one operation for one request: count → scope → query and body → idempotency → the operation's steps, of which
// those that change something are one transaction → response. Routing and authentication come before it, in app.ts.

import type { TSchema } from "@sinclair/typebox";
import { checkIdempotencyKey, fingerprintOf, type Idempotency, type Once } from "../account/idempotency.ts";
import type { Bucket } from "../account/rate-limits.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { allows, type Principal } from "../domain/scope.ts";
import { andThen, type Eventually } from "../kit/eventually.ts";
import { parseJson } from "../kit/exact-json.ts";
import type { JsonRecord } from "../kit/record.ts";
import type { DiskSpace } from "../ports/disk-space.ts";
import type { IdempotencySlot } from "../ports/idempotency-store.ts";
import type { JsonBodies, ParsedJson } from "../ports/json-bodies.ts";
import type { Transaction, Transactions } from "../ports/transactions.ts";
import {
  BodyBudget,
  BodyReader,
  type BodyReservation,
  bodyBounds,
  refuseUnstorable,
  withoutLongTexts,
} from "./body.ts";
import { check, checkQuery } from "./check.ts";
import { STATUS_OF } from "./errors.ts";
import type { Admission, Gate, PendingAuthentication } from "./gate.ts";
import { longTextsIn, withLongTexts } from "./long-texts.ts";
import type { RequestMetrics } from "./metrics.ts";
import {
  type Answer,
  type Call,
  EventBody,
  JsonText,
  type Operation,
  Unchanged,
  type WrittenAnswer,
} from "./operation.ts";
import type { OperationInput } from "./operation-calls.ts";
import type { Responses } from "./responses.ts";
import { checkedParameters, type PathParameters } from "./routes.ts";
import type { SseEvent } from "./sse.ts";
import type { Upload, Uploads } from "./upload.ts";

/** What the runner calls. */
export interface RunnerDependencies {
  readonly gate: Gate;
  readonly responses: Responses;
  readonly idempotency: Idempotency;
  readonly transactions: Transactions;
  readonly uploads: Uploads;
  readonly disk: DiskSpace;
  readonly jsonBodies: JsonBodies;
  readonly metrics: RequestMetrics;
}

/** An operation with its rate-limit bucket. */
export interface LimitedOperation {
  readonly operation: Operation;
  readonly bucket: Bucket;
}

/** A request whose key is valid, or is still being looked up (`admission.pending`). */
interface AdmittedRequest {
  readonly request: Request;
  readonly admission: Admission;
}

/** A request that was routed to an operation. */
export interface RoutedRequest extends LimitedOperation, AdmittedRequest {
  readonly parameters: PathParameters;
}

/** Runs operations. */
export class OperationRunner {
  readonly #uses: RunnerDependencies;
  readonly #bodies = new BodyBudget(LIMITS.bodiesInFlightBytes);
  readonly #reader: BodyReader;

  constructor(uses: RunnerDependencies) {
    this.#uses = uses;
    this.#reader = new BodyReader(uses.jsonBodies);
  }

  /** Runs the operation. @throws Fault of the operation, or of a check before it; the promise may reject instead */
  run(routed: RoutedRequest): Eventually<Response> {
    const { pending } = routed.admission;
    return pending === null ? this.#runAuthenticated(routed) : this.#runWhilePending(routed, pending);
  }

  #runAuthenticated(routed: RoutedRequest): Eventually<Response> {
    const { principal } = routed.admission;
    invariant(principal, "a request reaches an operation only with a valid key");
    return this.#runFor(routed, principal);
  }

  /**
   * Reads for the caller to whom the key belonged last, while the key is looked up. If it belongs to somebody else now,
   * or has other rights, what was read is dropped.
   */
  async #runWhilePending(routed: RoutedRequest, { assumed, ended }: PendingAuthentication): Promise<Response> {
    if (!onlyReads(routed.operation)) {
      await ended;
      return this.#runAuthenticated(routed);
    }
    const early = (async () => this.#runFor(routed, assumed))();
    void Promise.allSettled([early]); // its failure is thrown below, unless the key is refused
    await ended;
    const { principal } = routed.admission;
    return principal !== null && isSame(principal, assumed) ? early : this.#runAuthenticated(routed);
  }

  #runFor(routed: RoutedRequest, principal: Principal): Eventually<Response> {
    const { operation, bucket, parameters, admission } = routed;
    return andThen(this.#uses.gate.count(admission, principal, bucket), () => {
      this.#admit(operation, principal);
      const params = checkedParameters(parameters);
      const query = checkQuery(operation.query, admission.search);
      const received = { principal, params, query, body: null, upload: null };
      return operation.body === null
        ? this.#respond(routed, this.#callOf(routed, received))
        : this.#runWithBody(routed, operation.body, received);
    });
  }

  #callOf({ request, admission }: AdmittedRequest, received: Received, asked: Asked = request): Call {
    return new ReceivedCall(asked, received, async () => {
      const now = await this.#uses.gate.confirm(request, admission);
      if (isSame(now, received.principal)) return;
      throw new Fault("invalid_api_key", "The rights of this API key were changed during the request.");
    });
  }

  #admit(operation: Operation, principal: Principal): void {
    authorise(operation, principal);
    if (this.#uses.disk.isFull && storesData(operation)) throw this.#uses.disk.fault;
  }

  #respond(routed: RoutedRequest, call: Call): Eventually<Response> {
    const { operation, request, admission } = routed;
    const key = operation.isIdempotent === true ? request.headers.get("idempotency-key") : null;
    return andThen(this.#perform(operation, call, key), (answer) =>
      this.#uses.responses.of(request, admission, answer),
    );
  }

  /**
   * Runs an operation for a caller of a protocol, and returns the body of its answer. Its answer is not a stream.
   * @throws Fault of the operation, or of a check before it
   */
  async call(
    { operation, bucket }: LimitedOperation,
    caller: AdmittedRequest,
    { params = {}, query: parameters = {}, body: given, idempotencyKey }: OperationInput,
    signal: AbortSignal,
  ): Promise<JsonRecord> {
    const { gate, metrics, responses } = this.#uses;
    const { request, admission } = caller;
    const startedAt = performance.now();
    let status = 200;
    try {
      const principal = await gate.confirm(request, admission);
      await gate.count({ ...admission }, principal, bucket);
      this.#admit(operation, principal);
      refuseUnstorable({ ...params, ...parameters });
      refuseUnstorable(given);
      const present = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
      const query = check(operation.query, Object.fromEntries(present));
      const body = operation.body === null ? null : checkBody(operation, operation.body, given);
      const received = { principal, params, query, body, upload: null };
      const call = this.#callOf(caller, received, { ...CALL_OF_PROTOCOL, signal });
      const answer = await this.#perform(operation, call, idempotencyKey ?? null);
      ({ status } = answer);
      return (answer.body instanceof JsonText ? parseJson(answer.body.text) : (answer.body ?? {})) as JsonRecord;
    } catch (error) {
      const fault = responses.faultOf({ signal }, error, admission.requestId);
      status = STATUS_OF[fault.code];
      throw fault;
    } finally {
      metrics.observe(operation.name, status, performance.now() - startedAt);
    }
  }

  /** Reads a small JSON body for `work`. The body's memory stays reserved until `work` ends. */
  async withJsonBody<T>(request: Request, work: (body: unknown) => Promise<T>): Promise<T> {
    const reserved = this.#bodies.reserve();
    try {
      const { value } = await this.#reader.read(request, bodyBounds(undefined), reserved);
      return await work(value);
    } finally {
      reserved.release();
    }
  }

  async #runWithBody(routed: RoutedRequest, schema: TSchema, beforeBody: Received): Promise<Response> {
    const { operation, request } = routed;
    const reserved = this.#bodies.reserve();
    let upload: Upload | null = null;
    let parsed: ParsedJson | null = null;
    const release = () => {
      parsed?.release();
      reserved.release();
    };
    let isSending = false;
    try {
      if (operation.takesFile) upload = await this.#uses.uploads.receive(request);
      parsed = upload === null ? await this.#bodyOf(operation, request, reserved) : withoutLongTexts(upload.fields);
      const body = checkBody(operation, schema, parsed.value);
      // Receiving a body can take minutes. The key is checked again, because it may have been revoked in the meantime.
      const principal = await this.#uses.gate.confirm(request, routed.admission);
      authorise(operation, principal);
      const call = this.#callOf(routed, { ...beforeBody, principal, body, upload });
      const response = await this.#respond(routed, call);
      if (parsed.longTexts.length === 0) return response;
      const sent = await withLongTexts(response, parsed.longTexts, release);
      isSending = true;
      return sent;
    } finally {
      if (!isSending) release();
      await upload?.discard();
    }
  }

  async #bodyOf(operation: Operation, request: Request, reserved: BodyReservation): Promise<ParsedJson> {
    const isEmpty = request.body === null || request.headers.get("content-length") === "0";
    if (operation.isBodyOptional === true && isEmpty) return withoutLongTexts({});
    return this.#reader.read(request, bodyBounds(operation.carriesContent), reserved);
  }

  /** Runs the steps of an operation. With an Idempotency-Key, a repeated request gets the answer of the first. */
  #perform(operation: Operation, call: Call, key: string | null): Eventually<Answer> {
    const { steps } = operation;
    if ("read" in steps) return steps.read(call);
    return key === null ? this.#make(operation, steps, call, null) : this.#makeOnce(operation, steps, call, key);
  }

  async #makeOnce(operation: Operation, steps: WritingSteps, call: Call, key: string): Promise<Answer> {
    const begun = await this.#uses.idempotency.begin(slotOf(operation, call, key), fingerprint(call));
    if (begun.kind === "replay") {
      const { status, body } = begun;
      return { ...(await operation.replay({ status, body: parseJson(body) as JsonRecord }, call)), isReplayed: true };
    }
    let answer: Answer | null = null;
    try {
      answer = await this.#make(operation, steps, call, begun);
      return answer;
    } finally {
      if (!(answer?.body instanceof EventBody)) await begun.end(); // a stream ends it later
    }
  }

  async #make(operation: Operation, steps: WritingSteps, call: Call, once: Once | null): Promise<Answer> {
    if ("write" in steps) {
      const written = await steps.write(call);
      return isStreamed(operation, call) ? this.#stream(written, once) : this.#writeWhole(written, once);
    }
    try {
      return await this.#change(steps, call, once);
    } catch (error) {
      // A deletion that finds the disk full is run again when there is room for it: it must be able to free space.
      if (operation.method !== "DELETE" || !this.#uses.disk.makeRoom(error)) throw error;
      return this.#change(steps, call, once);
    }
  }

  async #change(steps: ChangeSteps, call: Call, once: Once | null): Promise<Answer> {
    const prepared = await steps.prepare?.(call);
    try {
      if (prepared instanceof Unchanged) return prepared.answer;
      let changed: unknown;
      const answer = await this.#commit(once, async (transaction) => {
        changed = await steps.change(transaction, call, prepared);
        return steps.answer(changed, call);
      });
      return (await steps.finish?.(answer, changed, call)) ?? answer;
    } finally {
      await (prepared as Partial<AsyncDisposable> | undefined)?.[Symbol.asyncDispose]?.();
    }
  }

  async #writeWhole({ events, store, release }: WrittenAnswer, once: Once | null): Promise<Answer> {
    try {
      for (let next = await events.next(); next.done !== true; ) next = await events.next();
      return await this.#commit(once, store);
    } finally {
      release();
    }
  }

  #stream({ events, store, lastEvents, interrupt, release }: WrittenAnswer, once: Once | null): Answer {
    let hasBegun = false;
    let stored: Promise<unknown> | null = null;
    const all = async function* (commit: () => Promise<unknown>): AsyncGenerator<SseEvent> {
      for await (const event of events) {
        hasBegun = true;
        yield event;
      }
      if (!hasBegun) return; // the caller has disconnected
      stored = commit();
      await stored;
      yield* lastEvents();
    };
    const body = new EventBody(
      all(() => this.#commit(once, store)),
      async (how) => {
        try {
          await Promise.allSettled([stored]); // its failure was the last event
          // A caller who disconnects in the middle has received part of the answer, so the question is counted.
          const isCounted = stored !== null || how !== "aborted" || !hasBegun || interrupt === undefined;
          if (!isCounted) await this.#uses.transactions.run(interrupt);
          await events.return(undefined);
        } finally {
          release();
          await once?.end();
        }
      },
    );
    return { status: 200, body };
  }

  /** Runs `work` in one transaction. With an Idempotency-Key, its answer is stored in the same transaction. */
  #commit(once: Once | null, work: (transaction: Transaction) => Promise<Answer>): Promise<Answer> {
    return this.#uses.transactions.run(async (transaction) => {
      const answer = await work(transaction);
      const { status, body, remembered = body, subjects = [] } = answer;
      await once?.remember(transaction, { status, remembered, subjects });
      return answer;
    });
  }
}

type ChangeSteps = Extract<Operation["steps"], { change: unknown }>;
type WritingSteps = Exclude<Operation["steps"], { read: unknown }>;

/** Whether the caller wants the answer as a stream. */
function isStreamed({ streams }: Operation, { body }: Call): boolean {
  return streams === "always" || (streams === "when asked" && (body as { readonly stream?: boolean }).stream === true);
}

/** Checks a body. @throws Fault of `explainRefusal` if the operation has a clearer one, otherwise that of `check` */
function checkBody({ explainRefusal }: Operation, schema: TSchema, value: unknown): unknown {
  try {
    return check(schema, value);
  } catch (refusal) {
    throw explainRefusal?.(value) ?? refusal;
  }
}

function authorise(operation: Operation, principal: Principal): void {
  if (operation.scope !== null && !allows(principal, operation.scope)) {
    throw new Fault(
      "insufficient_scope",
      `This key lacks the scope '${operation.scope}' that ${operation.name} requires.`,
    );
  }
  if (principal.userId !== null && operation.isForConfinedKeys === false) {
    throw new Fault(
      "insufficient_scope",
      `This key is confined to one user, and ${operation.name} concerns all users of the project.`,
    );
  }
}

/** Whether an operation changes nothing and counts nothing but the request, so that its result may be dropped. */
function onlyReads({ method, scope }: Operation): boolean {
  return method === "GET" && (scope === null || scope.endsWith(":read"));
}

function isSame(one: Principal, other: Principal): boolean {
  return (
    one.keyId === other.keyId &&
    one.projectId === other.projectId &&
    one.userId === other.userId &&
    one.scopes.length === other.scopes.length &&
    one.scopes.every((scope, at) => scope === other.scopes[at])
  );
}

/** Whether an operation adds data to the stores. Searches and questions do not: they only count queries. */
function storesData({ method, scope }: Operation): boolean {
  return method !== "GET" && method !== "DELETE" && scope?.endsWith(":read") !== true && scope !== "query";
}

type Asked = Pick<Request, "method" | "headers" | "signal">;
type Received = Omit<Call, "request" | "signal" | "confirm">;
/** Method and headers that an operation sees when a protocol calls it, because there is no HTTP request for it. */
const CALL_OF_PROTOCOL = { method: "GET", headers: new Headers() } as const;

/** The input of an operation's steps, from a request. */
class ReceivedCall implements Call {
  readonly principal: Principal;
  readonly params: Call["params"];
  readonly query: unknown;
  readonly body: unknown;
  readonly upload: Upload | null;
  readonly request: Asked;

  constructor(
    asked: Asked,
    { principal, params, query, body, upload }: Received,
    readonly confirm: Call["confirm"],
  ) {
    this.request = asked;
    this.principal = principal;
    this.params = params;
    this.query = query;
    this.body = body;
    this.upload = upload;
  }

  // A getter, because creating a request's signal takes as long as reading a row.
  get signal(): AbortSignal {
    return this.request.signal;
  }
}

function slotOf({ method, path }: Operation, { principal: { projectId, userId } }: Call, key: string): IdempotencySlot {
  return { projectId, userId, route: `${method} ${path}`, key: checkIdempotencyKey(key) };
}

function fingerprint({ params, query, body, upload }: Call): Uint8Array {
  const file = upload === null ? null : { sha256: upload.sha256, filename: upload.file.filename };
  const longTexts = longTextsIn(body).map(({ sha256 }) => Buffer.from(sha256).toString("hex"));
  return fingerprintOf({ params, query, body, file, longTexts: longTexts.length === 0 ? undefined : longTexts });
}
