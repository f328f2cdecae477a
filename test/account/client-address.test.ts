// Client addresses behind proxies: which address is counted as the client's, and that no client can choose it.

import { describe, expect, test } from "bun:test";
import { clientAddress, failureKey, parseTrustedProxies } from "../../src/account/client-address.ts";
import { UsageError } from "../../src/kit/flags.ts";
import { seeded } from "../support/seeded.ts";

const NONE = parseTrustedProxies("");
const PROXIES = parseTrustedProxies("10.0.0.0/8, 192.0.2.7, fd00::/8, 2001:db8:1::1");

describe("without trusted proxies", () => {
  test("the socket's address counts, whatever the header contains", () => {
    expect(clientAddress("198.51.100.1", "203.0.113.9", NONE)).toBe("198.51.100.1");
    expect(clientAddress("10.0.0.1", "203.0.113.9", NONE)).toBe("10.0.0.1");
  });

  const spellings: readonly (readonly [string, string])[] = [
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::FFFF:C000:201", "192.0.2.1"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["::1", "::1"],
    ["", ""],
    ["/run/mneme.sock", "/run/mneme.sock"],
  ];
  for (const [socket, address] of spellings) {
    test(`${JSON.stringify(socket)} is ${JSON.stringify(address)}`, () => {
      expect(clientAddress(socket, null, NONE)).toBe(address);
    });
  }
});

describe("behind trusted proxies", () => {
  const cases: readonly (readonly [name: string, socket: string, forwarded: string | null, client: string])[] = [
    ["the proxy's own entry", "10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["through two proxies", "10.0.0.1", "203.0.113.9, 10.2.3.4", "203.0.113.9"],
    ["through IPv4 and IPv6 proxies", "fd00::1", "203.0.113.9, 2001:db8:1::1, 192.0.2.7", "203.0.113.9"],
    ["the header of a socket that is not a trusted proxy is ignored", "198.51.100.1", "203.0.113.9", "198.51.100.1"],
    ["an address next to a single trusted address is not trusted", "192.0.2.8", "203.0.113.9", "192.0.2.8"],
    ["an entry that the client added to the left does not count", "10.0.0.1", "1.1.1.1, 203.0.113.9", "203.0.113.9"],
    ["a trusted address that the client added does not count", "10.0.0.1", "10.9.9.9, 203.0.113.9", "203.0.113.9"],
    ["a mapped socket address of a proxy", "::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["a mapped entry", "10.0.0.1", "::ffff:203.0.113.9", "203.0.113.9"],
    ["a mapped entry of a proxy", "10.0.0.1", "203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"],
    ["IPv6", "10.0.0.1", "2001:DB8::5", "2001:db8::5"],
    ["IPv6 in brackets", "10.0.0.1", "[2001:db8::5]", "2001:db8::5"],
    ["IPv6 with a port", "10.0.0.1", "[2001:db8::5]:4711", "2001:db8::5"],
    ["IPv4 with a port", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"],
    ["spaces", "10.0.0.1", "  203.0.113.9 ,\t10.0.0.2  ", "203.0.113.9"],
    ["no header", "10.0.0.1", null, "10.0.0.1"],
    ["an empty header", "10.0.0.1", "", "10.0.0.1"],
    ["only proxies: the first of them counts", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["a malformed entry ends the search", "10.0.0.1", "203.0.113.9, unknown", "10.0.0.1"],
    ["a malformed entry: the last valid one counts", "10.0.0.1", "203.0.113.9, _hidden, 10.0.0.2", "10.0.0.2"],
    ["an empty entry is malformed", "10.0.0.1", "203.0.113.9,", "10.0.0.1"],
    ["a short form is malformed", "10.0.0.1", "127.1", "10.0.0.1"],
    ["an octal form is malformed", "10.0.0.1", "010.0.0.9", "10.0.0.1"],
    ["a number is malformed", "10.0.0.1", "3405803785", "10.0.0.1"],
    ["a host name is malformed", "10.0.0.1", "client.example", "10.0.0.1"],
    ["too many IPv6 groups are malformed", "10.0.0.1", "1:2:3:4:5:6:7:8:9", "10.0.0.1"],
    ["a very long entry is malformed", "10.0.0.1", "1".repeat(10_000), "10.0.0.1"],
  ];
  for (const [name, socket, forwarded, client] of cases) {
    test(name, () => expect(clientAddress(socket, forwarded, PROXIES)).toBe(client));
  }

  test("0.0.0.0/0 trusts every IPv4 hop, including mapped ones, and no IPv6", () => {
    const everyone = parseTrustedProxies("0.0.0.0/0");
    expect(clientAddress("::ffff:198.51.100.1", "1.1.1.1, 2.2.2.2", everyone)).toBe("1.1.1.1");
    expect(clientAddress("2001:db8::1", "1.1.1.1", everyone)).toBe("2001:db8::1");
  });

  test("no client behind a proxy can choose its address", () => {
    const random = seeded(7);
    const pieces = ["10.0.0.1", "fd00::1", "1.1.1.1", "::1", "", "unknown", "[::1]:1", "192.0.2.7", "x y", "127.1"];
    for (let round = 0; round < 500; round++) {
      const forged = Array.from(
        { length: Math.floor(random() * 6) },
        () => pieces[Math.floor(random() * pieces.length)],
      );
      const header = [...forged, "203.0.113.9", "10.0.0.2"].join(", ");
      expect(clientAddress("10.0.0.1", header, PROXIES), header).toBe("203.0.113.9");
    }
  });
});

describe("the setting", () => {
  test("trusts no proxy if it is empty", () => {
    expect(parseTrustedProxies("")).toEqual([]);
    expect(parseTrustedProxies("  ")).toEqual([]);
  });

  test("accepts networks with host bits and mapped ones", () => {
    for (const text of ["10.1.2.3/8", "::ffff:10.0.0.0/104"]) {
      expect(clientAddress("10.200.0.1", "203.0.113.9", parseTrustedProxies(text))).toBe("203.0.113.9");
      expect(clientAddress("11.0.0.1", "203.0.113.9", parseTrustedProxies(text))).toBe("11.0.0.1");
    }
  });

  test("accepts the smallest and largest prefix lengths", () => {
    for (const good of ["10.0.0.1/0", "10.0.0.1/32", "::1/0", "::1/128"]) parseTrustedProxies(good);
  });

  const bad = [
    "10.0.0.1/33",
    "::1/129",
    "10.0.0.0/",
    "/8",
    "10.0.0.0/8/8",
    "10.0.0.0/-1",
    "10.0.0.0/255.0.0.0",
    "10.0.0",
  ];
  for (const entry of [
    ...bad,
    "127.1",
    "proxy.example",
    "10.0.0.1:80",
    "[::1]",
    "::ffff:10.0.0.0/95",
    "*",
    "10.0.0.1 /8",
  ]) {
    test(`refuses ${entry} and names it`, () => {
      const act = () => parseTrustedProxies(`10.0.0.1, ${entry} ,::1`);
      expect(act).toThrow(UsageError);
      expect(act).toThrow(`${JSON.stringify(entry)} is neither an address nor a CIDR`);
    });
  }

  test("refuses an empty entry", () => {
    for (const text of [",", "10.0.0.1,", "10.0.0.1,,::1"]) expect(() => parseTrustedProxies(text)).toThrow('"" is');
  });
});

describe("failures are counted", () => {
  test("per IPv4 address", () => {
    expect(failureKey("192.0.2.1")).toBe("192.0.2.1");
    expect(failureKey("::ffff:192.0.2.1")).toBe("192.0.2.1");
    expect(failureKey("192.0.2.2")).not.toBe(failureKey("192.0.2.1"));
  });

  test("per /64 of IPv6", () => {
    expect(failureKey("2001:db8:0:1::1")).toBe("2001:db8:0:1::/64");
    expect(failureKey("2001:db8:0:1:ffff:ffff:ffff:ffff")).toBe("2001:db8:0:1::/64");
    expect(failureKey("2001:db8:0:2::1")).toBe("2001:db8:0:2::/64");
    expect(failureKey("fe80::1%eth0")).toBe("fe80::/64");
  });

  test("per unchanged text if it is not an address", () => {
    expect(failureKey("")).toBe("");
    expect(failureKey("/run/mneme.sock")).toBe("/run/mneme.sock");
  });
});
