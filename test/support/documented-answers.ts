// Compares answers of test services with the OpenAPI document, so that every test that calls the API also tests the
// document. test/api/contract-fuzz.test.ts does the same for random requests.

import { RATE_LIMITS, RateBuckets } from "../../src/account/rate-limits.ts";
import { openApiDocument } from "../../src/api/openapi.ts";
import { DECLARED_OPERATIONS } from "./declared-operations.ts";
import { Contract, type RawAnswer, type SentEvent } from "./openapi.ts";

let contract: Contract | null = null;

function documentedContract(): Contract {
  const buckets = new RateBuckets(RATE_LIMITS, DECLARED_OPERATIONS);
  contract ??= new Contract(openApiDocument({ operations: DECLARED_OPERATIONS, version: "0", buckets }));
  return contract;
}

/**
 * Compares an answer of a route under /v1 with the document.
 * @throws Error that lists the contradictions
 */
export function expectDocumented(request: Pick<Request, "method" | "url">, answer: RawAnswer): void {
  const { method } = request;
  const { pathname } = new URL(request.url);
  if (!pathname.startsWith("/v1/")) return;
  const documented = documentedContract();
  const problems = documented.problemsOf(documented.operationOf(method, pathname), { method, pathname }, answer);
  if (problems.length === 0) return;
  const what = `${method} ${pathname} answers ${answer.status}`;
  throw new Error(`${what}, not as documented: ${problems.join("; ")}\n${answer.text}`);
}

/**
 * Compares an event of a streamed answer with the document.
 * @throws Error that lists the contradictions
 */
export function expectDocumentedEvent(event: SentEvent): void {
  const problems = documentedContract().eventProblems(event);
  if (problems.length > 0) throw new Error(`an event is not as documented: ${problems.join("; ")}`);
}
