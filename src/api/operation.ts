// The declaration of an operation. Routes, scopes, rate-limit buckets, checks of query and body, the OpenAPI document
// and the 405 answers all derive from it. operation-runner.ts runs the steps of operations.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Fault, FaultCode } from "../domain/fault.ts";
import type { KeyScope, Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { CarriedContent } from "./body.ts";
import type { SseEvent, StreamEnd } from "./sse.ts";
import type { Upload } from "./upload.ts";

/** The answer of an operation or page; responses.ts turns it into a Response. */
export interface Answer {
  readonly status: number;
  /**
   * null if there is no body. `Page`, `JsonText`, `FileBody` and `EventBody` are sent as they say, anything else as
   * JSON.
   */
  readonly body: unknown;
  /**
   * What is stored under the Idempotency-Key instead of `body`, without secrets and without data that a repeated
   * request contains.
   */
  readonly remembered?: unknown;
  /** Further subjects that `remembered` concerns but does not contain; see `subjectsOf` in account/idempotency.ts. */
  readonly subjects?: readonly string[];
  /** Whether it is the answer of an earlier request with the same Idempotency-Key. Default: false. */
  readonly isReplayed?: boolean;
}

/** The answer of an operation that succeeded and returns nothing. */
export const NO_CONTENT: Answer = { status: 204, body: null };

/** A body that is sent as it is, such as HTML. */
export class Page {
  constructor(
    readonly contentType: string,
    readonly content: string | Uint8Array<ArrayBuffer>,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** A body that is already serialised JSON. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** A body that is a file, or a part of one. */
export class FileBody {
  /**
   * @param content the bytes to send; null if only the headers are sent
   * @param headers names are in lower case
   */
  constructor(
    readonly content: Blob | null,
    readonly headers: Readonly<Record<string, string>>,
  ) {}
}

/** A body that is sent as Server-Sent Events. */
export class EventBody {
  /** @param onEnd called once, however the stream ends; its errors are logged */
  constructor(
    readonly events: AsyncIterable<SseEvent>,
    readonly onEnd: (how: StreamEnd) => void | Promise<void> = () => undefined,
  ) {}
}

/** The input of an operation's steps. All of it has been checked. */
export interface Call<Query = unknown, Body = unknown> {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The uploaded file, if the operation takes one; otherwise null. */
  readonly upload: Upload | null;
  /** Method and headers of the request, for the few operations that depend on them. */
  readonly request: Pick<Request, "method" | "headers">;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
  /**
   * Checks the key again, after a long wait.
   * @throws Fault `invalid_api_key` if it has become invalid or has other rights now
   */
  readonly confirm: () => Promise<void>;
}

/** Returned by `prepare` if there is nothing to change: `answer` is sent without a transaction. */
export class Unchanged {
  constructor(readonly answer: Answer) {}
}

/** The step of an operation that only reads. */
interface Read<C> {
  readonly read: (call: C) => Eventually<Answer>;
}

/** The steps of an operation that changes something, in order. */
interface Change<C, Prepared, Changed> {
  /**
   * Does what must happen before the transaction. If what it returns is AsyncDisposable, it is disposed of at the end,
   * also after an error.
   */
  readonly prepare?: (call: C) => Eventually<Prepared | Unchanged>;
  /** Makes the change, in one transaction with `answer`. */
  readonly change: (transaction: Transaction, call: C, prepared: Prepared) => Eventually<Changed>;
  /** Makes the answer. With an Idempotency-Key, it is stored in the same transaction. */
  readonly answer: (changed: Changed, call: C) => Answer;
  /** Does what must happen after the commit, and completes the answer. */
  readonly finish?: (answer: Answer, changed: Changed, call: C) => Eventually<Answer>;
}

/** The step of an operation whose answer is written piece by piece, and stored when it is complete. */
interface Write<C> {
  readonly write: (call: C) => Promise<WrittenAnswer>;
}

/** An answer that is being written. */
export interface WrittenAnswer {
  /** The pieces as they are sent in a stream. If the answer is not streamed, they are not sent. */
  readonly events: AsyncGenerator<SseEvent>;
  /** Stores the complete answer, after the last of `events`, and returns it as one body. */
  readonly store: (transaction: Transaction) => Promise<Answer>;
  /** The last events of a stream, after `store`. */
  readonly lastEvents: () => Iterable<SseEvent>;
  /**
   * Counts the question of a caller who disconnected after the first event of a stream. Absent if nothing is counted.
   */
  readonly interrupt?: (transaction: Transaction) => Promise<void>;
  /** Frees what the answer holds; called once, when it was stored, has failed or was abandoned. */
  readonly release: () => void;
}

/** Groups of operations in the order of the reference, each with its description. */
export const GROUPS = {
  Memories: "Texts that are stored and indexed, so that search and query can find them.",
  Graph: "Entities that memories mention, and how they are connected.",
  Chats: "Conversations whose questions are answered from memories.",
  OpenAI:
    "Routes for clients of OpenAI: models, chat completions and embeddings. Errors have OpenAI's form, and streams have no event names.",
  Users: "The users of your application, and events that are logged for them.",
  Keys: "API keys of a project: their scopes, the user they are confined to, and their expiry.",
  Projects: "Projects with their plans, settings and usage.",
  Cases: "Questions with what a search should find, and runs that measure how well it does.",
  System: "The server itself, for its operator.",
  Models:
    "Models that compute vectors and read passages: those that ship with the program, and those that an operator added.",
  Webhooks: "URLs that receive an event when a memory changes.",
} as const;
/** A group of operations. */
export type Group = keyof typeof GROUPS;

interface Declared {
  /** Unique name; `operationId` in the OpenAPI document. */
  readonly name: string;
  readonly group: Group;
  /** One line for the reference. */
  readonly summary: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Route template with `:id` for a path parameter. */
  readonly path: string;
  /** The scope that a key needs; null: any valid key may call it. */
  readonly scope: KeyScope | null;
  /** Whether a key that is confined to one user may call it. Default: true. */
  readonly isForConfinedKeys?: boolean;
  /** Success statuses with the schema of each body; null if there is no body. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
  /**
   * Whether the success answer is an event stream: `always`, or only if the body says `stream: true`. If it is absent,
   * the answer is never a stream.
   */
  readonly streams?: "always" | "when asked";
  /** Whether the success answer is a file of any type (`FileBody`). */
  readonly answersFile?: boolean;
  /** Error codes beyond those that every operation of its kind has (`faultsOf` in catalogue.ts). */
  readonly faults?: readonly FaultCode[];
  /** Whether the body may be empty; it then counts as `{}`. */
  readonly isBodyOptional?: boolean;
  /** The content in the body, which can then have 100 MB. Any other JSON body is small. */
  readonly carriesContent?: CarriedContent;
  /** Whether it supports an Idempotency-Key. */
  readonly isIdempotent?: boolean;
  /** Whose conventions errors and streams of its route follow (conventions.ts). Default: Mneme's own. */
  readonly conventions?: "openai";
  /** A clearer error for a body that does not fit its schema; null if there is none. */
  readonly explainRefusal?: (body: unknown) => Fault | null;
}

/** The steps of any operation. */
export type Steps = Read<Call> | Change<Call, unknown, unknown> | Write<Call>;

/** One operation of the API. */
export interface Operation extends Declared {
  readonly query: TObject;
  /** Schema of the body; null if the operation takes no body. */
  readonly body: TSchema | null;
  /** Whether the body is a form with a file (multipart/form-data) instead of JSON. */
  readonly takesFile: boolean;
  readonly steps: Steps;
  /** Answers a repeated request from the answer stored under its Idempotency-Key. */
  readonly replay: (remembered: Answer, call: Call) => Eventually<Answer>;
}

interface Described<Query extends TObject, Body extends TSchema> extends Declared {
  readonly query: Query;
  readonly body?: Body;
  readonly takesFile?: boolean;
  readonly replay?: Operation["replay"];
}

/** Declares an operation that only reads. The types of `query` and `body` derive from their schemas, here and below. */
export function reading<Query extends TObject, Body extends TSchema>(
  declared: Described<Query, Body> & Read<Call<Static<Query>, Static<Body>>>,
): Operation {
  const { read, ...described } = declared;
  return operation(described, { read } as Steps);
}

/** Declares an operation that changes something. */
export function changing<Query extends TObject, Body extends TSchema, Prepared, Changed>(
  declared: Described<Query, Body> & Change<Call<Static<Query>, Static<Body>>, Prepared, Changed>,
): Operation {
  const { prepare, change, answer, finish, ...described } = declared;
  return operation(described, { prepare, change, answer, finish } as Steps);
}

/** Declares an operation whose answer is written piece by piece. */
export function writing<Query extends TObject, Body extends TSchema>(
  declared: Described<Query, Body> & Write<Call<Static<Query>, Static<Body>>>,
): Operation {
  const { write, ...described } = declared;
  return operation(described, { write } as Steps);
}

function operation(described: Described<TObject, TSchema>, steps: Steps): Operation {
  return { takesFile: false, replay: (remembered) => remembered, ...described, body: described.body ?? null, steps };
}
