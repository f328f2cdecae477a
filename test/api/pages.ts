// Walks through lists page by page, until there is no cursor.

import { expect } from "bun:test";
import type { TestService } from "../support/service.ts";

/** Maximum number of pages, far more than any test needs. With it, a list that never ends fails instead of hanging. */
const PAGES_MAX = 500;

/**
 * Returns all items of a list, in order, and checks the fields of each page. @param path path and query, without
 * `limit` and `cursor`
 */
export async function walk(
  mneme: Pick<TestService, "call">,
  path: string,
  { limit = 100, headers }: { readonly limit?: number; readonly headers?: Record<string, string> } = {},
): Promise<readonly Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  const join = path.includes("?") ? "&" : "?";
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const more: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await mneme.call("GET", `${path}${join}limit=${limit}${more}`, undefined, headers);
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["cursor", "data", "has_more"]);
    expect(body.data.length).toBeLessThanOrEqual(limit);
    expect(body.has_more).toBe(body.cursor !== null);
    items.push(...body.data);
    cursor = body.cursor;
    if (cursor === null) return items;
  }
  throw new Error(`${path} did not end within ${PAGES_MAX} pages`);
}
