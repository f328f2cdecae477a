// Reading JSON bodies in any operation: media type, size, encoding, syntax, and texts that cannot be stored.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { BodyBudget } from "../../src/api/body.ts";
import { LIMITS } from "../../src/domain/limits.ts";
import { type Answered, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { OPERATIONS } from "./contract.ts";
import { expectFault, expectFaultOf } from "./faults.ts";

let mneme: TestService;
beforeAll(async () => {
  mneme = await startService();
});
afterAll(() => mneme.stop());

type Body = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

const post = (body: Body | null, headers: Record<string, string> = {}): Promise<Answered> =>
  mneme.send(
    new Request("http://mneme.test/v1/memories", {
      method: "POST",
      headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json", ...headers },
      body,
    }),
  );

const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string, "utf8"))));

describe("media type", () => {
  for (const type of [
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=utf-8",
    "application/json;x=y",
  ]) {
    test(`${type} is accepted`, async () =>
      expect((await post('{"content":"x"}', { "content-type": type })).status).toBe(202));
  }

  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonl",
    "",
    "json",
  ]) {
    test(`'${type}' is 415`, async () => {
      expectFault(await post('{"content":"x"}', { "content-type": type }), 415, "unsupported_media_type");
    });
  }
});

describe("size", () => {
  const MiB = 1024 * 1024;
  const block = new Uint8Array(MiB).fill(0x20);

  /** Creates a body of `count` MiB of spaces; `taken` returns how many MiB the server has read. */
  function blanks(count: number): { readonly stream: ReadableStream<Uint8Array>; readonly taken: () => number } {
    let taken = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (taken === count) controller.close();
        else controller.enqueue(block.slice()); // a copy, because the reader frees what it was given
        taken += 1;
      },
    });
    return { stream, taken: () => taken };
  }

  test("a declared length over 100 MB is 413 before the body is read", async () => {
    const { stream, taken } = blanks(200);
    const answer = await post(stream, { "content-length": String(LIMITS.bodyBytes + 1) });
    expectFault(answer, 413, "payload_too_large");
    expect(taken()).toBeLessThan(3);
  });

  test("a body without a length, or with one too small, is 413 as soon as it is over 100 MB", async () => {
    for (const headers of [{}, { "content-length": "15" }]) {
      const { stream, taken } = blanks(200);
      expectFault(await post(stream, headers), 413, "payload_too_large");
      expect(taken()).toBeLessThan(105);
    }
  });

  test("a body of exactly 100 MB is accepted, one byte more is 413", async () => {
    const text = '{"content":"Mostly blanks."}';
    const padded = (bytesInAll: number) => {
      const body = new Uint8Array(bytesInAll).fill(0x20);
      body.set(bytes(text));
      return body;
    };
    const taken = await post(padded(LIMITS.bodyBytes));
    expect([taken.status, taken.body.content]).toEqual([202, "Mostly blanks."]);
    expectFault(await post(padded(LIMITS.bodyBytes + 1)), 413, "payload_too_large");
  });

  test("a body without content may have 1 MB, one byte more is 413", async () => {
    const send = (path: string, method: string, length: number) => {
      const body = '{"query":"x","message":"x","id":"u","name":"n"}'.padEnd(length);
      const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
      return mneme.send(new Request(`http://mneme.test/v1${path}`, { method, headers, body }));
    };
    const carriers = ["/memories", "/memories/{}", "/memories/batch", "/memories/upload"];
    const paths = OPERATIONS.filter(({ path, body }) => body !== null && !carriers.includes(path));
    expect(paths.length).toBeGreaterThan(12);
    for (const { method, path } of paths) {
      const at = path.replaceAll("{}", "x");
      expect([at, (await send(at, method, LIMITS.smallBodyBytes)).status]).not.toEqual([at, 413]);
      expectFaultOf(`/v1${at}`, await send(at, method, LIMITS.smallBodyBytes + 1), 413, "payload_too_large");
    }
  });

  test("a body that is cut off is a client error, not a server error", async () => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes('{"content":"half'));
        controller.error(new Error("connection reset"));
      },
    });
    expectFault(await post(stream), 400, "invalid_request");
  });
});

describe("encoding and syntax", () => {
  const refused: [name: string, body: Body | null][] = [
    ["no body", null],
    ["an empty body", ""],
    ["half an object", '{"content":"x"'],
    ["two values", '{"content":"x"}{"content":"y"}'],
    ["a trailing comma", '{"content":"x",}'],
    ["single quotes", "{'content':'x'}"],
    ["a comment", '{"content":"x"} // note'],
    ["NaN", '{"content":"x","metadata":{"a":NaN}}'],
    ["a bare line feed in a text", '{"content":"a\nb"}'],
    ["a bare NUL in a text", bytes('{"content":"a', [0], 'b"}')],
    ["a byte that is no UTF-8", bytes('{"content":"', [0xff], '"}')],
    ["UTF-8 cut short", bytes('{"content":"', [0xe2, 0x82], '"}')],
    ["an overlong slash", bytes('{"content":"', [0xc0, 0xaf], '"}')],
    ["a surrogate in UTF-8", bytes('{"content":"', [0xed, 0xa0, 0x80], '"}')],
    ["UTF-16", new Uint8Array(Buffer.from('\ufeff{"content":"x"}', "utf16le"))],
  ];
  for (const [name, body] of refused) {
    test(`${name} is 400`, async () => expectFault(await post(body), 400, "invalid_request"));
  }

  test("a byte order mark is ignored", async () => {
    expect((await post(bytes([0xef, 0xbb, 0xbf], '{"content":"x"}'))).status).toBe(202);
  });
});

describe("texts that cannot be stored", () => {
  const refused: [name: string, body: string, param: string | undefined][] = [
    ["NUL in the content", '{"content":"a\\u0000b"}', "content"],
    ["a lone high surrogate", '{"content":"a\\ud800b"}', "content"],
    ["a lone low surrogate", '{"content":"\\uDC00"}', "content"],
    ["surrogates in the wrong order", '{"content":"\\uDC00\\uD800"}', "content"],
    ["NUL in a tag", '{"content":"x","tags":["a","\\u0000"]}', "tags[1]"],
    ["NUL deep in the metadata", '{"content":"x","metadata":{"a":[{"b":"\\u0000"}]}}', "metadata.a[0].b"],
    ["NUL in a metadata key", '{"content":"x","metadata":{"a\\u0000":1}}', "metadata.a\\0"],
    ["NUL in the userId", '{"content":"x","userId":"ada\\u0000"}', "userId"],
    ["a body that is only a bad text", '"\\ud800"', undefined],
  ];
  for (const [name, body, param] of refused) {
    test(`${name} is refused with its path`, async () => expectFault(await post(body), 400, "invalid_request", param));
  }

  test("escaped surrogate pairs, and backslashes that only look like escapes, are accepted", async () => {
    const { body } = await post('{"content":"\\ud83d\\ude00 \\\\u0000 \\\\ud800"}');
    expect(body.content).toBe("😀 \\u0000 \\ud800");
  });
});

describe("nesting and number of values", () => {
  const nested = (depth: number) => `{"content":"x","metadata":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`;

  test("64 levels, the body included, are accepted; one more is refused", async () => {
    expect((await post(nested(63))).status).toBe(202);
    expectFault(await post(nested(64)), 400, "invalid_request");
  });

  test("a million levels are refused", async () => {
    expectFault(await post("[".repeat(1e6) + "]".repeat(1e6)), 400, "invalid_request");
    expectFault(await post(nested(500_000)), 400, "invalid_request");
  });

  const tags = (count: number) => `{"content":"x","tags":[${'"t",'.repeat(count - 1)}"t"]}`;
  const fields = (count: number) => Array.from({ length: count }, (_, at) => `"f${at}":0`).join(",");
  const postTo = (path: string, body: string) =>
    mneme.send(
      new Request(`http://mneme.test/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" },
        body,
      }),
    );

  test("a memory has at most 20,000 values, and at most 10,000 members", async () => {
    expectFault(await post(tags(LIMITS.memoryJsonValues - 3)), 400, "too_many_tags", "tags");
    const past = await post(tags(LIMITS.memoryJsonValues - 2));
    expectFault(past, 400, "invalid_request", undefined);
    expect(past.body.error.message).toBe("The body has more than 20000 JSON values.");
    expectFault(await post(`{${fields(LIMITS.jsonMembers)}}`), 400, "invalid_request", "f0");
    const members = await post(`{${fields(LIMITS.jsonMembers + 1)}}`);
    expect(members.body.error.message).toBe("The body has more than 10000 JSON members.");
  });

  test("in a batch, these limits are those of each memory", async () => {
    const item = `{"content":"x","metadata":{${fields(LIMITS.jsonMembers - 2)}}}`;
    const most = await postTo("/memories/batch", `{"memories":[${`${item},`.repeat(9)}${item}]}`);
    expectFault(most, 400, "invalid_request");
    expect(most.body.error.items[9].error).toMatchObject({ code: "metadata_too_large" });
    const past = await postTo("/memories/batch", `{"memories":[${item},{${fields(LIMITS.jsonMembers + 1)}}]}`);
    expectFault(past, 400, "invalid_request", undefined);
    expect(past.body.error.message).toBe("A memory of the body has more than 10000 JSON members.");
  });

  test("a body has at most 1,000,000 values", async () => {
    const batch = (items: number) => postTo("/memories/batch", `{"memories":[${"0,".repeat(items - 1)}0]}`);
    expectFault(await batch(LIMITS.jsonValues - 2), 400, "batch_too_large", "memories");
    const past = await batch(LIMITS.jsonValues - 1);
    expectFault(past, 400, "invalid_request", undefined);
    expect(past.body.error.message).toBe("The body has more than 1000000 JSON values.");
  });

  test("200 conditions of 1,000 values are accepted in filters", async () => {
    const condition = `{"metadata.n":{"$in":[${Array.from({ length: 1000 }, (_, at) => at).join(",")}]}}`;
    const filters = `{"$or":[${`${condition},`.repeat(199)}${condition}]}`;
    expect((await postTo("/memories/search", `{"query":"x","filters":${filters}}`)).status).toBe(200);
  });
});

describe("bodies in flight", () => {
  test("are refused as overloaded beyond the budget, until another request ends", () => {
    const budget = new BodyBudget(10, 0);
    const [first, second] = [budget.reserve(), budget.reserve()];
    first.add(6);
    second.add(4);
    expect(() => second.add(1)).toThrow(expect.objectContaining({ code: "overloaded", retryAfterSeconds: 1 }));
    first.release();
    first.release();
    second.add(6);
    expect(() => second.add(1)).toThrow();
  });
});

describe("a slow body", () => {
  /** Sends a request with the first part of a body. `send` sends the rest. */
  const begun = (path: string, secret: string, first: Uint8Array<ArrayBuffer>) => {
    const { promise: rest, resolve: send } = Promise.withResolvers<string>();
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(first),
      pull: async (controller) => {
        controller.enqueue(Buffer.from(await rest));
        controller.close();
      },
    });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    return { answer: mneme.send(new Request(`http://mneme.test${path}`, { method: "POST", headers, body })), send };
  };

  test("changes nothing if its key was revoked meanwhile", async () => {
    const { body: issued } = await mneme.call("POST", "/v1/keys", { name: "k", scopes: ["*"] });
    const late = begun("/v1/users", issued.key, bytes('{"id":'));
    await mneme.call("DELETE", `/v1/keys/${issued.id}`);
    late.send('"late"}');
    expectFault(await late.answer, 401, "invalid_api_key");
    expectFault(await mneme.call("GET", "/v1/users/late"), 404, "user_not_found", "userId");
  });

  test("blocks no small request, however many large ones wait", async () => {
    const large = bytes(`{"content":"${"x".repeat(99 * 1024 * 1024)}`);
    const waiting = Array.from({ length: 5 }, () => begun("/v1/memories", TEST_KEY, large));
    expect((await post('{"content":"small"}')).status).toBe(202);
    for (const one of waiting) one.send('", "broken');
    for (const one of waiting) expect([400, 503]).toContain((await one.answer).status);
  });
});
