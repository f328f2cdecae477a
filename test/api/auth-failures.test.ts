// Requests without a valid key are counted by client address, thirty per minute, and never block requests with a valid
// key.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { parseTrustedProxies } from "../../src/account/client-address.ts";
import { startServer } from "../support/server.ts";
import { type Answered, SettableClock, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { ENGLISH } from "../support/shipped-models.ts";
import { expectFault } from "./faults.ts";

const PROXY = "10.0.0.1";
const clock = new SettableClock();
let mneme: TestService;
beforeAll(async () => {
  const config = { trustedProxies: parseTrustedProxies(`${PROXY}, 192.0.2.0/28, fd00::/8`) };
  mneme = await startService({ countsWords: true, clock, config, waitsForModels: false });
});
afterAll(() => mneme.stop());

const ask = async (address: string, headers: Record<string, string> = {}, path = "/v1/memories"): Promise<Answered> => {
  const response = await mneme.service.handle(new Request(`http://mneme.test${path}`, { headers }), () => address);
  return { status: response.status, headers: response.headers, body: await response.json() };
};
const wrong = { authorization: "Bearer ctx_nobody-has-this-one" };
const valid = { authorization: `Bearer ${TEST_KEY}` };
const forwarded = (value: string) => ({ ...wrong, "x-forwarded-for": value });
/** Sends failing requests until the client with this address and these headers is blocked. */
const exhaust = async (address: string, headers: Record<string, string> = wrong) => {
  for (let n = 0; n < 30; n++) expect((await ask(address, headers)).status).toBe(401);
  expect((await ask(address, headers)).status).toBe(429);
};
const statusFrom = async (address: string, headers: Record<string, string> = wrong) =>
  (await ask(address, headers)).status;

describe("failures of an address", () => {
  test("thirty are 401, further ones 429 with Retry-After", async () => {
    const address = "203.0.113.1";
    const answers: Answered[] = [];
    for (let n = 0; n < 35; n++) answers.push(await ask(address, wrong));
    for (const [n, answer] of answers.entries()) {
      if (n < 30) {
        expectFault(answer, 401, "invalid_api_key");
        expect(answer.headers.get("x-ratelimit-remaining")).toBe(String(29 - n));
      } else {
        expectFault(answer, 429, "rate_limit_exceeded");
        expect(Number(answer.headers.get("retry-after"))).toBeWithin(1, 61);
        expect(answer.headers.get("x-ratelimit-remaining")).toBe("0");
        expect(answer.headers.has("www-authenticate")).toBe(false);
      }
      expect(answer.headers.get("x-ratelimit-limit")).toBe("30");
      expect(answer.headers.has("retry-after")).toBe(n >= 30);
    }
  });

  test("missing and wrong keys count together, on every route and on unknown paths", async () => {
    const address = "203.0.113.2";
    const kinds = [{}, wrong, { authorization: "Basic eDp5" }, { authorization: "Bearer" }];
    for (let n = 0; n < 30; n++) {
      const path = ["/v1/memories", "/v1/nothing", "/v1/projects"][n % 3] ?? "";
      expect((await ask(address, kinds[n % 4], path)).status).toBe(401);
    }
    for (const headers of kinds) expectFault(await ask(address, headers), 429, "rate_limit_exceeded");
    expect((await ask(address, wrong, "/v1/nothing")).status).toBe(429);
  });

  test("two hundred at once: exactly thirty are 401", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask("203.0.113.3", wrong)));
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(30);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(170);
  });

  test("a valid key passes meanwhile, and shows its own window", async () => {
    await exhaust("203.0.113.4");
    for (let n = 0; n < 5; n++) {
      const answer = await ask("203.0.113.4", valid);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("x-ratelimit-limit")).not.toBe("30");
    }
    expect(await statusFrom("203.0.113.4")).toBe(429);
  });

  test("requests with valid keys do not count, even if they are refused", async () => {
    const weak = { authorization: `Bearer ${mneme.addKey(["query"])}` };
    for (let n = 0; n < 40; n++) {
      expect((await ask("203.0.113.5", valid)).status).toBe(200);
      expect((await ask("203.0.113.5", weak)).status).toBe(403);
      expect((await ask("203.0.113.5", valid, "/v1/nothing")).status).toBe(404);
    }
    await exhaust("203.0.113.5");
  });

  test("pages that need no key stay available", async () => {
    await exhaust("203.0.113.6");
    expect((await ask("203.0.113.6", wrong, "/health")).status).toBe(200);
  });

  test("each address has its own window", async () => {
    await exhaust("203.0.113.7");
    await exhaust("203.0.113.8");
  });

  test("the window slides: after a minute all thirty are available again, and 429s did not count", async () => {
    const address = "203.0.113.9";
    await exhaust(address);
    for (let n = 0; n < 50; n++) expect(await statusFrom(address)).toBe(429);
    const wait = Number((await ask(address, wrong)).headers.get("retry-after"));
    clock.advance(wait * 1000);
    expect(await statusFrom(address)).toBe(401);
    clock.advance(60_000);
    await exhaust(address);
  });

  test("expired and revoked keys count like unknown ones", async () => {
    const address = "203.0.113.10";
    const ended = mneme.addKey(["*"], undefined, { expiresAt: clock.now() + 1_000 });
    const headers = { authorization: `Bearer ${ended}` };
    expect(await statusFrom(address, headers)).toBe(200);
    clock.advance(2_000);
    await exhaust(address, headers);
  });

  test("a subscriber's /64 of IPv6 is one address, IPv4 in IPv6 is the IPv4 one", async () => {
    await exhaust("2001:db8:1:2::1");
    expect(await statusFrom("2001:db8:1:2:ffff::9")).toBe(429);
    expect(await statusFrom("2001:db8:1:3::1")).toBe(401);
    await exhaust("203.0.113.11");
    expect(await statusFrom("::ffff:203.0.113.11")).toBe(429);
  });
});

describe("proxies", () => {
  test("behind a trusted proxy each client is counted separately", async () => {
    await exhaust(PROXY, forwarded("198.51.100.1"));
    expect(await statusFrom(PROXY, forwarded("198.51.100.2"))).toBe(401);
    expect(await statusFrom("198.51.100.1")).toBe(429);
    expect(await statusFrom(PROXY)).toBe(401);
  });

  test("through several trusted proxies the first untrusted address counts", async () => {
    await exhaust(PROXY, forwarded("198.51.100.10, 192.0.2.1"));
    expect(await statusFrom("198.51.100.10")).toBe(429);
    expect(await statusFrom("fd00::5", forwarded("198.51.100.10"))).toBe(429);
  });

  test("addresses that a client adds itself change nothing", async () => {
    await exhaust(PROXY, forwarded("198.51.100.20"));
    for (let n = 0; n < 5; n++) {
      expect(await statusFrom(PROXY, forwarded(`203.0.113.${100 + n}, 198.51.100.20`))).toBe(429);
    }
  });

  test("without a trusted proxy the header is ignored", async () => {
    const stranger = "192.0.2.77";
    for (let n = 0; n < 30; n++) expect(await statusFrom(stranger, forwarded(`203.0.113.${n}`))).toBe(401);
    expect(await statusFrom(stranger, forwarded("203.0.113.200"))).toBe(429);
    expect(await statusFrom("203.0.113.200")).toBe(401);
  });

  for (const [at, value] of ["", "unknown", "not an address", "198.51.100.300", "1.2.3"].entries()) {
    test(`a header of ${JSON.stringify(value)} counts for the proxy itself`, async () => {
      const own = `192.0.2.${at + 1}`;
      await exhaust(own, forwarded(value));
      expect(await statusFrom(own)).toBe(429);
    });
  }
});

test("over a socket the address of the connection counts, and a trusted proxy's header is used", async () => {
  await using server = await startServer({
    environment: { MNEME_EMBEDDER: ENGLISH, MNEME_TRUSTED_PROXIES: "127.0.0.1" },
  });
  const fail = async (headers: Record<string, string>) => {
    const response = await fetch(`${server.url}/v1/memories`, { headers: { ...wrong, ...headers } });
    await response.body?.cancel();
    return response.status;
  };
  const client = (n: number) => ({ "x-forwarded-for": `198.51.100.${n}` });
  for (let n = 0; n < 30; n++) expect(await fail(client(1))).toBe(401);
  expect(await fail(client(1))).toBe(429);
  expect(await fail(client(2))).toBe(401);
  expect(await fail({})).toBe(401);
  expect((await server.call("GET", "/v1/memories")).status).toBe(200);
});
