// Cases: questions with what a search should find, and runs that measure how well it does.

import {
  type Case,
  type CaseRun,
  createCase,
  deleteCase,
  getCaseRun,
  listCaseRuns,
  listCases,
  runCases,
} from "../core/index.ts";
import { List } from "../list.ts";
import type { CallOptions, Transport, WriteOptions } from "../transport.ts";
import type { Mode, NewCase } from "../types.ts";

/** The operations on cases. */
export class Cases {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Stores a question with the memories that a search should find, or says that it should find nothing. */
  create(newCase: NewCase, options?: WriteOptions): Promise<Case> {
    return this.#transport.call((core) => createCase({ ...core, body: newCase }), "keyed", options);
  }

  /** Lists cases, newest first. */
  list(params: { readonly limit?: number } = {}, options?: CallOptions): List<Case> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listCases({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Deletes a case. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#transport.remove((core) => deleteCase({ ...core, path: { id } }), options);
  }

  /** Begins a run over all cases. @param modes default: each case in its own mode */
  run(modes?: readonly Mode[], options?: WriteOptions): Promise<CaseRun> {
    const body = modes === undefined ? {} : { modes: [...modes] };
    return this.#transport.call((core) => runCases({ ...core, body }), "keyed", options);
  }

  /** Lists runs, newest first. */
  runs(params: { readonly limit?: number } = {}, options?: CallOptions): List<CaseRun> {
    return new List((cursor) =>
      this.#transport.call(
        (core) => listCaseRuns({ ...core, query: { ...params, ...(cursor !== undefined && { cursor }) } }),
        "always",
        options,
      ),
    );
  }

  /** Reads the progress of a run and, when it is completed, its results by mode. */
  getRun(id: string, options?: CallOptions): Promise<CaseRun> {
    return this.#transport.call((core) => getCaseRun({ ...core, path: { id } }), "always", options);
  }
}
