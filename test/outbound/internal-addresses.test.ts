// Internal addresses in every notation, and names that resolve to them: the guard refuses them, and the sender makes no
// connection.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { createAddressGuard, type Resolve } from "../../src/adapters/outbound/guard.ts";
import { createOutboundSender } from "../../src/adapters/outbound/sender.ts";
import { Fault } from "../../src/domain/fault.ts";
import { answering, listen, type Receiver } from "./receiver.ts";

const PUBLIC = "93.184.216.34";

/** Addresses that names resolve to. All other names do not resolve. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  localhost: ["127.0.0.1", "::1"],
  "localhost.": ["127.0.0.1"],
  "app.localhost": ["127.0.0.1"],
  "localhost.localdomain": ["127.0.0.1"],
  "ip6-localhost": ["::1"],
  "loopback.example.com": ["127.0.0.1"],
  "loopback.example.com.": ["127.0.0.1"],
  "loopback6.example.com": ["::1"],
  "127.0.0.1.example.com": ["127.0.0.1"],
  "any.example.com": ["0.0.0.0"],
  "mapped.example.com": ["::ffff:127.0.0.1"],
  "nat64.example.com": ["64:ff9b::7f00:1"],
  "zone.example.com": ["::1%lo"],
  "metadata.example.com": ["169.254.169.254"],
  "wireserver.example.com": ["168.63.129.16"],
  "private.example.com": ["10.0.0.1"],
  "mixed.example.com": [PUBLIC, "127.0.0.1"],
  "mixed6.example.com": ["2606:4700:4700::1111", "::1"],
  "nothing.example.com": [],
  "garbled.example.com": ["127.1"],
  "xn--bcher-kva.example": ["127.0.0.1"],
};

const resolve: Resolve = async (host) => {
  const addresses = NAMES[host];
  if (addresses === undefined) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" });
  return addresses;
};

// PORT is replaced by the port on which 127.0.0.1 and ::1 listen
const NOTATIONS: Readonly<Record<string, readonly string[]>> = {
  "plain addresses": [
    ...["http://127.0.0.1:PORT/", "https://127.0.0.1:PORT/", "http://127.255.255.254:PORT/", "http://0.0.0.0:PORT/"],
    ...["http://[::1]:PORT/", "http://[::]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/", "http://[::0001]:PORT/"],
    ...["http://10.0.0.1:PORT/", "http://172.16.0.1:PORT/", "http://192.168.0.1:PORT/", "http://100.64.0.1:PORT/"],
    ...["http://169.254.169.254/latest/meta-data/", "http://[fe80::1]:PORT/", "http://[fd00:ec2::254]/"],
    ...["http://168.63.129.16/machine?comp=goalstate", "http://100.100.100.200/latest/meta-data/"],
    ...["http://192.0.0.192/opc/v1/instance/", "http://[fd20:ce::254]/", "http://199.36.153.8/"],
    ...["http://255.255.255.255:PORT/", "http://224.0.0.1:PORT/", "http://198.18.0.1:PORT/", "http://[ff02::1]:PORT/"],
  ],
  "decimal, octal, hex and short forms": [
    ...["http://2130706433:PORT/", "http://0x7f000001:PORT/", "http://017700000001:PORT/", "http://0:PORT/"],
    ...[
      "http://0177.0.0.1:PORT/",
      "http://0x7f.0.0.1:PORT/",
      "http://0X7F.0x0.0x0.0x1:PORT/",
      "http://00000177.1:PORT/",
    ],
    ...["http://127.1:PORT/", "http://127.0.1:PORT/", "http://127.0x1:PORT/", "http://0x7f.1:PORT/", "http://0x:PORT/"],
    ...["http://2852039166/", "http://0xa9fea9fe/", "http://0251.0376.0251.0376/"],
  ],
  "addresses inside addresses": [
    ...["http://[::ffff:127.0.0.1]:PORT/", "http://[::ffff:7f00:1]:PORT/", "http://[::FFFF:7F00:0001]:PORT/"],
    ...["http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", `http://[::ffff:${PUBLIC}]:PORT/`, "http://[::127.0.0.1]:PORT/"],
    ...["http://[::ffff:0:127.0.0.1]:PORT/", "http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b:1::7f00:1]:PORT/"],
    ...["http://[2002:7f00:1::]:PORT/", "http://192.88.99.1:PORT/", "http://[2001:0:7f00:1::80ff:fffe]:PORT/"],
  ],
  "dots, case, percent signs and other digits": [
    ...["http://127.0.0.1.:PORT/", "http://127.1.:PORT/", "http://0x7f000001.:PORT/", "HTTP://LOCALHOST:PORT/"],
    ...["http://127.0.0.%31:PORT/", "http://%31%32%37.0.0.1:PORT/", "http://%6c%6f%63%61%6c%68%6f%73%74:PORT/"],
    ...["http://１２７.0.0.1:PORT/", "http://①②⑦.⓪.⓪.①:PORT/", "http://127。0。0。1:PORT/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ:PORT/"],
    ...["http://loc\u00adalhost:PORT/", "http://loc\u200balhost:PORT/", "http://𝟏𝟐𝟕.0.0.1:PORT/"],
  ],
  "zones and broken brackets": [
    ...["http://[::1%25lo]:PORT/", "http://[::1%lo]:PORT/", "http://[fe80::1%25eth0]:PORT/", "http://[::1:PORT/"],
    ...["http://::1:PORT/", "http://[127.0.0.1]:PORT/", "http://[::ffff:127.1]:PORT/", "http://[]:PORT/"],
  ],
  names: [
    ...["localhost", "LocalHost", "localhost.", "app.localhost", "localhost.localdomain", "ip6-localhost"],
    ...["loopback.example.com", "loopback.example.com.", "loopback6.example.com", "127.0.0.1.example.com"],
    ...["any.example.com", "mapped.example.com", "nat64.example.com", "zone.example.com", "metadata.example.com"],
    ...["wireserver.example.com"],
    ...["private.example.com", "mixed.example.com", "mixed6.example.com", "nothing.example.com", "garbled.example.com"],
    ...["bücher.example", "unknown.example.com"],
  ].map((host) => `http://${host}:PORT/`),
  credentials: [
    ...["http://user:password@127.0.0.1:PORT/", "http://user@127.0.0.1:PORT/", "http://@127.0.0.1:PORT/"],
    ...["http://:@localhost:PORT/", `http://${PUBLIC}@127.0.0.1:PORT/`, `http://127.0.0.1:PORT@${PUBLIC}/`],
    ...[
      "http://user:password@example.com/",
      `http://127.0.0.1:PORT\\@${PUBLIC}/`,
      `http://${PUBLIC}\\@127.0.0.1:PORT/`,
    ],
  ],
  "other schemes": [
    ...["file:///etc/passwd", "data:text/plain,hello", "ftp://127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/_x"],
    ...[
      "javascript:alert(1)",
      "ws://127.0.0.1:PORT/",
      "blob:http://127.0.0.1:PORT/x",
      "s3://bucket/key",
      "unix:/tmp/s",
    ],
    ...["http+unix://%2Ftmp%2Fs/", "ldap://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/x", "//127.0.0.1:PORT/"],
    ...["view-source:http://127.0.0.1:PORT/", "httpx://127.0.0.1:PORT/", "mailto:a@example.com"],
  ],
  "malformed addresses": [
    ...[
      "",
      " ",
      "http",
      "http:",
      "http:/",
      "http://",
      "https://",
      "http:///",
      "http://?x",
      "http://#x",
      "127.0.0.1:PORT",
    ],
    ...["http:127.0.0.1:PORT/", "http:/127.0.0.1:PORT/", "http:///127.0.0.1:PORT/", "http:\\\\127.0.0.1:PORT\\"],
    ...[" http://127.0.0.1:PORT/", "http://127.0.0.1:PORT/ ", "ht\ntp://127.0.0.1:PORT/", "http://12\t7.0.0.1:PORT/"],
    ...["http://127.0.0.1:PORT/\r\nHost: x", "http://127.0.0.1\u0000.example.com/", "http://127.0.0.1%00.example.com/"],
    ...["http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:x/"],
    ...[
      "http://256.0.0.1/",
      "http://1.2.3.4.5/",
      "http://4294967296/",
      "http://exa mple.com/",
      "http://a..example.com/",
    ],
    ...["http://./", "http://.example.com/", "http://*.example.com/", "http://exa^mple.com/", "http://example.com%2f/"],
    `http://${"a".repeat(64)}.example.com/`,
    `http://example.com/${"a".repeat(2_048)}`,
  ],
};

const allow = AllowList.parse("");
const guard = createAddressGuard({ allow, resolve });
const sender = createOutboundSender({ allow, resolve, timeoutMs: 5_000 });
const post = (url: string, from = sender) => from.post(url, {}, "{}", new AbortController().signal);

let receivers: readonly Receiver[] = [];
let port = 0;
const connections = () => receivers.reduce((sum, receiver) => sum + receiver.connections(), 0);

beforeAll(async () => {
  receivers = await listenOnLoopback();
  port = receivers[0]?.port ?? 0;
});
afterAll(() => {
  for (const receiver of receivers) receiver.close();
});

test("there are at least 60 notations", () => {
  expect(Object.values(NOTATIONS).flat().length).toBeGreaterThanOrEqual(60);
});

for (const [kind, notations] of Object.entries(NOTATIONS)) {
  describe(kind, () => {
    for (const notation of notations) {
      test(`${JSON.stringify(notation.slice(0, 80))} is refused and not called`, async () => {
        const url = notation.replaceAll("PORT", String(port));
        const before = connections();
        const refusal = await guard.check(url, "url").then(
          () => null,
          (error: unknown) => error,
        );
        expect(refusal).toBeInstanceOf(Fault);
        expect(refusal).toMatchObject({ code: "unsafe_url", param: "url" });
        const answer = await post(url);
        expect(answer.statusCode).toBeNull();
        // the sender itself refused the call; it did not fail in the network
        expect(answer.error).toStartWith("the address ");
        expect(connections()).toBe(before);
      });
    }
  });
}

describe("changes after the check", () => {
  test("a name that becomes internal between check and connection is not called", async () => {
    const answers = [[PUBLIC], ["127.0.0.1"]];
    const turning: Resolve = async () => answers.shift() ?? [];
    const before = connections();
    await createAddressGuard({ allow, resolve: turning }).check(`http://turning.example.com:${port}/`, "url");
    const answer = await post(
      `http://turning.example.com:${port}/`,
      createOutboundSender({ allow, resolve: turning, timeoutMs: 5_000 }),
    );
    expect(answer).toMatchObject({
      statusCode: null,
      error: "the address does not resolve to public addresses only",
    });
    expect(answers).toEqual([]);
    expect(connections()).toBe(before);
  });

  test("the connection uses the addresses of one single resolution", async () => {
    let resolutions = 0;
    const counting: Resolve = async () => {
      resolutions++;
      return ["127.0.0.1"];
    };
    const before = connections();
    const loopback = AllowList.parse("127.0.0.1");
    const answer = await post(
      // a name that the system's resolver knows, too: there it has the same address, or none
      `http://localhost:${port}/`,
      createOutboundSender({ allow: loopback, resolve: counting, timeoutMs: 5_000 }),
    );
    expect(answer.statusCode).toBe(200);
    expect(resolutions).toBe(1);
    expect(connections()).toBe(before + 1);
  });

  test("the resolver's addresses are used even if the system would resolve the name differently", async () => {
    const answer = await post(
      "http://localhost:1/",
      createOutboundSender({ allow, resolve: async () => [], timeoutMs: 5_000 }),
    );
    expect(answer.error).toBe("the address does not resolve to public addresses only");
  });

  test("a redirect to loopback is an ordinary response and is not followed", async () => {
    const redirecting = await listen(answering(302, [`Location: http://127.0.0.1:${port}/inside`]));
    const before = connections();
    try {
      const redirectingSender = createOutboundSender({
        allow: AllowList.parse("hooks.example.com"),
        resolve: async () => ["127.0.0.1"],
        timeoutMs: 5_000,
      });
      const answer = await post(`http://hooks.example.com:${redirecting.port}/`, redirectingSender);
      expect(answer).toMatchObject({ statusCode: 302, error: null });
      expect(redirecting.connections()).toBe(1);
      expect(connections()).toBe(before);
    } finally {
      redirecting.close();
    }
  });
});

test("the listeners of these tests work: when allow-listed, the same addresses are reached", async () => {
  const before = receivers.map((receiver) => receiver.connections());
  const open = createOutboundSender({ allow: AllowList.parse("127.0.0.0/8,::1"), resolve, timeoutMs: 5_000 });
  for (const host of ["127.1", "[::1]"].slice(0, receivers.length)) {
    expect(await post(`http://${host}:${port}/`, open)).toMatchObject({ statusCode: 200, error: null });
  }
  expect(receivers.map((receiver) => receiver.connections())).toEqual(before.map((count) => count + 1));
});

// Listens on 127.0.0.1 and ::1 with the same port. On a machine without IPv6 it listens on 127.0.0.1 only.
async function listenOnLoopback(tries = 5): Promise<readonly Receiver[]> {
  const four = await listen(answering(200));
  try {
    return [four, await listen(answering(200), "::1", four.port)];
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT") return [four];
    four.close();
    if (code === "EADDRINUSE" && tries > 1) return listenOnLoopback(tries - 1);
    throw error;
  }
}
