// More searches than the server answers in time: 503 with a time to try again, over the whole path of a request.

import { expect, test } from "bun:test";
import { startService } from "../support/service.ts";

const SEARCH = { query: "when does the tide turn?", mode: "precise" };
const CLIENTS = 48;

test("searches beyond capacity are refused as overloaded, counted, and answered again when the load is gone", async () => {
  const server = await startService({ config: { searchBudget: 0.1 } });
  try {
    await server.store({ content: "The tide turns twice a day." });
    const refusals: Awaited<ReturnType<typeof server.call>>[] = [];
    const client = async () => {
      while (refusals.length === 0) {
        const answer = await server.call("POST", "/v1/memories/search", SEARCH);
        if (answer.status !== 200) refusals.push(answer);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, client));
    for (const { status, body, headers } of refusals) {
      expect(status).toBe(503);
      expect(body.error).toMatchObject({ code: "overloaded", status: 503 });
      expect(body.error.retry_after_seconds).toBeGreaterThanOrEqual(1);
      expect(headers.get("retry-after")).toBeNull(); // the contract keeps this header to 429
    }
    const metrics = await (await server.service.handle(new Request("http://localhost/metrics"))).text();
    expect(metrics).toContain(`mneme_searches_refused_total{mode="precise"} ${refusals.length}`);
    expect(metrics).toContain("mneme_searches_in_progress 0");
    const again = await server.call("POST", "/v1/memories/search", SEARCH);
    expect([again.status, again.body.total_results]).toEqual([200, 1]);
  } finally {
    await server.stop();
  }
});
