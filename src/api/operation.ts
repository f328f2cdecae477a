// The declaration of an operation. Routes, scopes, rate-limit buckets, checks of query and body, the OpenAPI document
// and the 405 answers all derive from it. operation-runner.ts runs operations.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Fault, FaultCode } from "../domain/fault.ts";
import type { KeyScope, Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { LongText } from "../ports/json-bodies.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { CarriedContent } from "./body.ts";
import type { SseEvent, StreamEnd } from "./sse.ts";
import type { Upload } from "./upload.ts";

/** The answer of an operation or page; responses.ts turns it into a Response. */
export interface Answer {
  readonly status: number;
  /**
   * null if there is no body. `Page` and `JsonText` are sent unchanged, a ReadableStream as Server-Sent Events,
   * anything else as JSON.
   */
  readonly body: unknown;
  /**
   * What is stored under the Idempotency-Key instead of `body`, without secrets and without data that a repeated
   * request contains.
   */
  readonly remembered?: unknown;
  /** Further subjects that `remembered` concerns but does not contain; see `subjectsOf` in account/idempotency.ts. */
  readonly subjects?: readonly string[];
  /** Resolves when the streamed answer has ended. Absent if the answer is not a stream. */
  readonly ended?: Promise<void>;
}

/** A body that is not JSON. */
export class Page {
  constructor(
    readonly contentType: string,
    readonly text: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** A body that is already serialised JSON. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** The input of an operation's `run`. All of it has been checked. */
export interface Call<Query, Body> {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /**
   * Long contents of the body. `body` has their keys in their place, and so may the answer: the keys are replaced when
   * it is sent.
   */
  readonly longTexts: ReadonlyMap<string, LongText>;
  /** The uploaded file, if the operation takes one; otherwise null. */
  readonly upload: Upload | null;
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal;
  /**
   * Checks the key again, after a long wait.
   * @throws Fault `invalid_api_key` if it has become invalid or has other rights now
   */
  readonly confirm: () => Promise<void>;
  /**
   * Runs `work` in one transaction. With an Idempotency-Key, the answer is stored in the same transaction. Every
   * operation that changes something calls this once, and makes its change and its answer in `work`.
   */
  readonly commit: (work: (transaction: Transaction) => Eventually<Answer>) => Promise<Answer>;
  /** Answers with Server-Sent Events. `onEnd` is called once, however the stream ends; its errors are logged. */
  readonly stream: (events: AsyncIterable<SseEvent>, onEnd: (how: StreamEnd) => void | Promise<void>) => Answer;
}

/** Groups of operations in the reference, in order. */
export const GROUPS = ["Memories", "Chats", "OpenAI", "Users", "Keys", "Projects", "Webhooks"] as const;
/** A group of operations. */
export type Group = (typeof GROUPS)[number];

interface Declared {
  /** Unique name; `operationId` in the OpenAPI document. */
  readonly name: string;
  readonly group: Group;
  /** One line for the reference. */
  readonly summary: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Route template with `:id` for a path parameter. */
  readonly path: string;
  readonly scope: KeyScope;
  /** Whether a key that is confined to one user may call it. Default: true. */
  readonly isForConfinedKeys?: boolean;
  /** Success statuses with the schema of each body; null if there is no body. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
  /**
   * Whether the success answer is an event stream: `always`, or only if the body says `stream: true`. If it is absent,
   * the answer is never a stream.
   */
  readonly streams?: "always" | "when asked";
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

/** One operation of the API. */
export interface Operation extends Declared {
  readonly query: TObject;
  /** Schema of the body; null if the operation takes no body. */
  readonly body: TSchema | null;
  /** Whether the body is a form with a file (multipart/form-data) instead of JSON. */
  readonly takesFile: boolean;
  readonly run: (call: Call<unknown, unknown>) => Eventually<Answer>;
  /** Answers a repeated request from the answer stored under its Idempotency-Key. */
  readonly replay: (
    remembered: { readonly status: number; readonly body: unknown },
    call: ReplayCall,
  ) => Eventually<Answer>;
}

/** The input of `replay`. */
export type ReplayCall = Omit<Call<unknown, unknown>, "commit">;

/** Declares an operation; the types of `query` and `body` in `run` derive from their schemas. */
export function operation<Query extends TObject, Body extends TSchema>(
  declared: Declared & {
    readonly query: Query;
    readonly body?: Body;
    readonly takesFile?: boolean;
    readonly run: (call: Call<Static<Query>, Static<Body>>) => Eventually<Answer>;
    readonly replay?: Operation["replay"];
  },
): Operation {
  return {
    takesFile: false,
    replay: ({ status, body }) => ({ status, body }),
    ...declared,
    body: declared.body ?? null,
    run: declared.run as Operation["run"],
  };
}
