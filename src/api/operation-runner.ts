// Runs one operation for one request: rate limit → scope → query and body → idempotency → operation → response. Routing
// and authentication come before it, in app.ts.

import type { TSchema } from "@sinclair/typebox";
import { type Begun, checkIdempotencyKey, fingerprintOf, type Idempotency } from "../account/idempotency.ts";
import type { Bucket } from "../account/rate-limits.ts";
import { Fault, invariant } from "../domain/fault.ts";
import { LIMITS } from "../domain/limits.ts";
import { allows, type Principal } from "../domain/scope.ts";
import { andThen, type Eventually, orElse } from "../kit/eventually.ts";
import type { DiskSpace } from "../ports/disk-space.ts";
import type { JsonBodies, LongText, ParsedJson } from "../ports/json-bodies.ts";
import type { Transactions } from "../ports/transactions.ts";
import { BodyBudget, BodyReader, type BodyReservation, bodyBounds, NO_LONG_TEXTS, withoutLongTexts } from "./body.ts";
import { check, checkQuery } from "./check.ts";
import type { Admission, Gate, PendingAuthentication } from "./gate.ts";
import { withLongTexts } from "./long-texts.ts";
import type { Answer, Call, Operation, ReplayCall } from "./operation.ts";
import type { Responses } from "./responses.ts";
import { checkedParameters, type PathParameters } from "./routes.ts";
import type { Upload, Uploads } from "./upload.ts";

/** What the runner needs. */
export interface OperationRunnerParts {
  readonly gate: Gate;
  readonly responses: Responses;
  readonly idempotency: Idempotency;
  readonly transactions: Transactions;
  readonly uploads: Uploads;
  readonly disk: DiskSpace;
  readonly jsonBodies: JsonBodies;
}

/** A request that was routed to an operation. */
export interface RoutedRequest {
  readonly operation: Operation;
  /** Rate-limit bucket of the operation. */
  readonly bucket: Bucket;
  readonly request: Request;
  readonly parameters: PathParameters;
  readonly admission: Admission;
}

type Commit = Call<unknown, unknown>["commit"];

/** Runs operations. */
export class OperationRunner {
  readonly #parts: OperationRunnerParts;
  readonly #bodies = new BodyBudget(LIMITS.bodiesInFlightBytes);
  readonly #reader: BodyReader;
  readonly #commit: Commit;

  constructor(parts: OperationRunnerParts) {
    this.#parts = parts;
    this.#reader = new BodyReader(parts.jsonBodies);
    this.#commit = (work) => parts.transactions.run(work);
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
    const { bucket, admission } = routed;
    return andThen(this.#parts.gate.count(admission, principal, bucket), () => this.#runCounted(routed, principal));
  }

  #runCounted(routed: RoutedRequest, principal: Principal): Eventually<Response> {
    const { operation, request, parameters, admission } = routed;
    authorise(operation, principal);
    if (this.#parts.disk.isFull && storesData(operation)) throw this.#parts.disk.fault;
    const known: KnownBeforeBody = {
      principal,
      params: checkedParameters(parameters),
      query: checkQuery(operation.query, admission.search),
      stream: this.#parts.responses.streamFor(request, admission),
      commit: this.#commit,
      confirm: async () => {
        const now = await this.#parts.gate.confirm(request, admission);
        if (isSame(now, principal)) return;
        throw new Fault("invalid_api_key", "The rights of this API key were changed during the request.");
      },
    };
    return operation.body === null
      ? this.#perform(routed, new ReceivedCall(request, known))
      : this.#runWithBody(routed, operation.body, known);
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

  async #runWithBody(routed: RoutedRequest, schema: TSchema, known: KnownBeforeBody): Promise<Response> {
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
      if (operation.takesFile) upload = await this.#parts.uploads.receive(request);
      parsed = upload === null ? await this.#bodyOf(operation, request, reserved) : withoutLongTexts(upload.fields);
      const { longTexts } = parsed;
      const body = checkBody(operation, schema, parsed.value);
      // Receiving a body can take minutes. The key is checked again, because it may have been revoked in the meantime.
      const principal = await this.#parts.gate.confirm(request, routed.admission);
      authorise(operation, principal);
      const call = new ReceivedCall(request, { ...known, principal, body, longTexts, upload });
      const response = await this.#perform(routed, call);
      if (longTexts.size === 0) return response;
      const sent = await withLongTexts(response, longTexts, release);
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

  #perform(routed: RoutedRequest, call: ReceivedCall): Eventually<Response> {
    const { operation, request, admission } = routed;
    const key = operation.isIdempotent === true ? request.headers.get("idempotency-key") : null;
    if (key !== null) return this.#performOnce(routed, call, key);
    return andThen(this.#run(operation, call), (answer) => this.#parts.responses.of(request, admission, answer));
  }

  /** A deletion that finds the disk full is run again when there is room for it: it must be able to free space. */
  #run(operation: Operation, call: ReceivedCall): Eventually<Answer> {
    if (operation.method !== "DELETE") return operation.run(call);
    return orElse(
      () => operation.run(call),
      (error) => {
        if (this.#parts.disk.makeRoom(error)) return operation.run(call);
        throw error;
      },
    );
  }

  async #performOnce({ operation, request, admission }: RoutedRequest, call: ReceivedCall, key: string) {
    const { idempotency, responses } = this.#parts;
    const begun = await begin(idempotency, key, operation, call);
    if (begun.kind === "run") return responses.of(request, admission, await runOnce(operation, call, begun));
    const { status, body } = begun;
    const answer = await operation.replay({ status, body: JSON.parse(body) }, call);
    return responses.of(request, admission, answer, { "idempotent-replayed": "true" });
  }
}

/** Checks a body. An operation may explain a refusal better than its schema. */
function checkBody({ explainRefusal }: Operation, schema: TSchema, value: unknown): unknown {
  try {
    return check(schema, value);
  } catch (refusal) {
    throw explainRefusal?.(value) ?? refusal;
  }
}

function authorise(operation: Operation, principal: Principal): void {
  if (!allows(principal, operation.scope)) {
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

/** Whether an operation changes nothing and counts nothing apart from the request, so that it may run in vain. */
function onlyReads({ method, scope }: Operation): boolean {
  return method === "GET" && scope.endsWith(":read");
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

/** Whether an operation adds data to the stores. Those that read with a body count queries only. */
function storesData({ method, scope }: Operation): boolean {
  return method !== "GET" && method !== "DELETE" && !scope.endsWith(":read") && scope !== "query";
}

/** The parts of a call that are known before its body is read. */
type KnownBeforeBody = Pick<Call<unknown, unknown>, "principal" | "params" | "query" | "stream" | "commit" | "confirm">;

/** The input of an operation's `run`, built from a received request. */
class ReceivedCall implements Call<unknown, unknown> {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: unknown;
  readonly stream: Call<unknown, unknown>["stream"];
  readonly confirm: Call<unknown, unknown>["confirm"];
  readonly body: unknown;
  readonly longTexts: ReadonlyMap<string, LongText>;
  readonly upload: Upload | null;
  /** Replaced for requests with an Idempotency-Key by a function that also stores the answer. */
  commit: Commit;
  readonly #request: Request;

  constructor(request: Request, known: KnownBeforeBody & Partial<Pick<ReplayCall, "body" | "longTexts" | "upload">>) {
    this.#request = request;
    this.principal = known.principal;
    this.params = known.params;
    this.query = known.query;
    this.stream = known.stream;
    this.commit = known.commit;
    this.confirm = known.confirm;
    this.body = known.body ?? null;
    this.longTexts = known.longTexts ?? NO_LONG_TEXTS;
    this.upload = known.upload ?? null;
  }

  // A getter, because creating a request's signal takes as long as reading a row.
  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

/** Decides whether a request with an Idempotency-Key runs or is answered as the repetition of an earlier one. */
function begin(idempotency: Idempotency, key: string, operation: Operation, call: ReplayCall): Promise<Begun> {
  const { params, query, body, longTexts, upload, principal } = call;
  const slot = {
    projectId: principal.projectId,
    userId: principal.userId,
    route: `${operation.method} ${operation.path}`,
    key: checkIdempotencyKey(key),
  };
  const file = upload === null ? null : { sha256: upload.sha256, filename: upload.file.filename };
  return idempotency.begin(slot, fingerprintOf({ params, query, body, file, ...hashesOf(longTexts) }));
}

// Absent if there are none, so that requests without long texts keep the fingerprint that they always had.
function hashesOf(longTexts: ReadonlyMap<string, LongText>): { readonly longTexts?: readonly string[] } {
  const hashes = Array.from(longTexts.values(), ({ sha256 }) => Buffer.from(sha256).toString("hex"));
  return hashes.length === 0 ? {} : { longTexts: hashes };
}

/** Runs an operation. Its change and the answer for repetitions are committed in one transaction. */
async function runOnce(
  operation: Operation,
  call: ReceivedCall,
  begun: Extract<Begun, { kind: "run" }>,
): Promise<Answer> {
  call.commit = (work) =>
    begun.commit(async (transaction) => {
      const answer = await work(transaction);
      return { ...answer, remembered: answer.remembered ?? answer.body };
    });
  let answer: Answer | null = null;
  try {
    answer = await operation.run(call);
    return answer;
  } finally {
    if (answer?.ended === undefined) await begun.end();
    else void answer.ended.then(() => begun.end());
  }
}
