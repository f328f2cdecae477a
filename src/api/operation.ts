// What an operation of the API is: one declaration per operation, from which routes, scopes, rate-limit buckets, checks of
// query and body, the OpenAPI document and the 405 answers follow. The order in which a request passes them stands in app.ts.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { FaultCode } from "../domain/fault.ts";
import type { KeyScope, Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { Transaction } from "../ports/transactions.ts";
import type { SseEvent, StreamEnd } from "./sse.ts";
import type { Upload } from "./upload.ts";

/** An answer before it becomes a Response. */
export interface Answer {
  readonly status: number;
  /** null: none. A `Page` and a `JsonText` go out as they are, a ReadableStream as Server-Sent Events, everything else as JSON. */
  readonly body: unknown;
  /** What an Idempotency-Key remembers instead of `body`: without secrets, and without what the request itself brings. */
  readonly remembered?: unknown;
  /** Ids that `remembered` speaks of without showing them, see `subjectsOf` in account/idempotency.ts. */
  readonly subjects?: readonly string[];
  /** Resolves when work goes on behind an answer (a stream) and has ended; absent: it ended with the answer. */
  readonly ended?: Promise<void>;
}

/** A body that is no JSON. */
export class Page {
  constructor(
    readonly contentType: string,
    readonly text: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** A body that is JSON already. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** What an operation's function is given: all of it checked. */
export interface Call<Query, Body> {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The file of an operation that takes one. */
  readonly upload: Upload | null;
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
  /**
   * Runs `work` in one transaction. With an Idempotency-Key the answer is remembered in the same transaction. Every operation that
   * changes something makes its change and its answer in here, once.
   */
  readonly commit: (work: (transaction: Transaction) => Eventually<Answer>) => Promise<Answer>;
  /** Answers with Server-Sent Events; `onEnd` is called once, however the stream ends; what it throws is logged. */
  readonly stream: (events: AsyncIterable<SseEvent>, onEnd: (how: StreamEnd) => void | Promise<void>) => Answer;
}

/** Groups of the documentation. */
export const GROUPS = ["Memories", "Chats", "Users", "Keys", "Projects", "Webhooks"] as const;
/** One group of the documentation. */
export type Group = (typeof GROUPS)[number];

interface Declared {
  /** The interface's name of it. */
  readonly name: string;
  readonly group: Group;
  /** One line for the documentation. */
  readonly summary: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Route template, `:id` for a path parameter. */
  readonly path: string;
  readonly scope: KeyScope;
  /** Whether a key that is confined to a user may call it at all. */
  readonly isForConfinedKeys?: boolean;
  /** Success statuses and what each answers; null: no body. */
  readonly answers: Readonly<Record<number, TSchema | null>>;
  /** The success answer may be Server-Sent Events. */
  readonly streams?: "always" | "when asked";
  /** What it can refuse beside what every operation can (`faultsOf` in catalogue.ts). */
  readonly faults?: readonly FaultCode[];
  /** An empty body counts as `{}`. */
  readonly isBodyOptional?: boolean;
  /** Whether it heeds an Idempotency-Key. */
  readonly isIdempotent?: boolean;
}

/** One operation: method, path and what it asks for. */
export interface Operation extends Declared {
  readonly query: TObject;
  /** null: no body is read. */
  readonly body: TSchema | null;
  /** The body is a form with a file (multipart/form-data) and not JSON. */
  readonly takesFile: boolean;
  readonly run: (call: Call<unknown, unknown>) => Eventually<Answer>;
  /** The answer to a repeated request, from what was remembered. */
  readonly replay: (
    remembered: { readonly status: number; readonly body: unknown },
    call: ReplayCall,
  ) => Eventually<Answer>;
}

/** What a replay may look at. */
export type ReplayCall = Omit<Call<unknown, unknown>, "commit">;

/** Declares an operation; the types of `query` and `body` in `run` follow from their schemas. */
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
