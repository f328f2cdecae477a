// What an operation of the API is: one declaration per operation, from which routes, authentication scopes, checks of
// query and body and the 405 answers follow. The order in which a request passes them stands in app.ts.

import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { KeyScope, Principal } from "../domain/scope.ts";

/** An answer before it becomes a Response; a body of null is none. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What an operation's function is given: all of it checked. */
export interface Call<Query, Body> {
  readonly principal: Principal;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
}

/** One operation: method, path and what it asks for. */
export interface Operation {
  /** The interface's name of it. */
  readonly name: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Route template, `:id` for a path parameter. */
  readonly path: string;
  readonly scope: KeyScope;
  readonly query: TObject;
  /** null: no body is read. */
  readonly body: TSchema | null;
  readonly run: (call: Call<unknown, unknown>) => Promise<Answer>;
}

/** Declares an operation; the types of `query` and `body` in `run` follow from their schemas. */
export function operation<Query extends TObject, Body extends TSchema>(declared: {
  readonly name: string;
  readonly method: Operation["method"];
  readonly path: string;
  readonly scope: KeyScope;
  readonly query: Query;
  readonly body?: Body;
  readonly run: (call: Call<Static<Query>, Static<Body>>) => Promise<Answer>;
}): Operation {
  return { ...declared, body: declared.body ?? null, run: declared.run as Operation["run"] };
}
