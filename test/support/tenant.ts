// Projects of test services.

import type { Answered, TestService } from "./service.ts";

/** A project on a plan. */
export interface Tenant {
  readonly of: TestService;
  readonly id: string;
  /** The project's first key. */
  readonly key: string;
  /** Sends a request with the project's first key. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>;
}

/** Creates a project on a plan, with the plan's name. */
export async function createTenant(of: TestService, plan: string): Promise<Tenant> {
  const { id, key } = (await of.call("POST", "/v1/projects", { name: plan, plan })).body;
  const call: Tenant["call"] = (method, path, body, headers) =>
    of.call(method, path, body, { authorization: `Bearer ${key}`, ...headers });
  return { of, id, key, call };
}
