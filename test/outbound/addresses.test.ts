// Address classification: every block of the IANA registries, and every block that clouds use inside their networks, is
// refused from its first address to its last, its public neighbours are not, and the allow list allows what it names
// and nothing more.

import { describe, expect, test } from "bun:test";
import { AllowList, isGloballyRoutable } from "../../src/adapters/outbound/addresses.ts";

// first and last address of each refused block
const REFUSED: readonly (readonly [first: string, last: string])[] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.255"],
  ["::", "::1"],
  ["::7f00:1", "::ffff:ffff"], // IPv4-compatible
  ["::ffff:0:0", "::ffff:255.255.255.255"], // IPv4-mapped, public ones too
  ["::ffff:0:0:0", "::ffff:0:ffff:ffff"], // IPv4-translated
  ["64:ff9b::", "64:ff9b::ffff:ffff"], // NAT64
  ["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"],
  ["100::", "100::ffff:ffff:ffff:ffff"], // discard-only
  ["100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"], // dummy prefix
  ["2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff"], // Teredo
  ["2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // 6to4
  ["3ffe::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["4000::", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // not allocated
  ["5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // segment routing
  ["fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // unique local
  ["fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // link-local
  ["fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // site-local
  ["ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"], // multicast
  // public address space inside clouds
  ["161.26.0.0", "161.26.255.255"],
  ["166.8.0.0", "166.11.255.255"],
  ["168.63.129.16", "168.63.129.16"],
  ["199.36.153.4", "199.36.153.11"],
  ["2600:2d00:2:1000::", "2600:2d00:2:1000:ffff:ffff:ffff:ffff"],
  ["2600:2d00:2:2000::", "2600:2d00:2:2000:ffff:ffff:ffff:ffff"],
];

/** Addresses at which clouds serve the metadata, credentials, names or time of a virtual machine or container. */
const CLOUD_INNER: Readonly<Record<string, readonly string[]>> = {
  Alibaba: ["100.100.100.200", "100.100.2.136"],
  Amazon: ["169.254.169.254", "169.254.169.253", "169.254.169.123", "169.254.170.2", "169.254.170.23"],
  "Amazon by IPv6": ["fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::123", "fd00:ec2::23"],
  Azure: ["168.63.129.16", "169.254.169.254"],
  Google: ["169.254.169.254", "fd20:ce::254", "199.36.153.8", "199.36.153.4", "2600:2d00:2:2000::1"],
  IBM: ["169.254.169.254", "161.26.0.10", "166.9.14.5"],
  Linode: ["169.254.169.254", "fd00:a9fe:a9fe::1"],
  Oracle: ["169.254.169.254", "192.0.0.192", "fd00:c1::a9fe:a9fe"],
  Scaleway: ["169.254.42.42", "fd00:42::42"],
  Tencent: ["169.254.0.23"],
};

// public neighbours of refused blocks, and some well-known hosts
const ROUTABLE = [
  ...["1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0"],
  ...["169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255"],
  ...["192.88.100.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255"],
  ...["198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255", "8.8.8.8", "93.184.216.34"],
  ...["2000::1", "2001:200::", "2001:db7::1", "2001:db9::", "2003::", "3ffd:ffff::1", "3fff:1000::"],
  ...["2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "2620:4f:8000::1"],
  ...["161.25.255.255", "161.27.0.0", "166.7.255.255", "166.12.0.0", "168.63.129.15", "168.63.129.17"],
  ...["199.36.153.3", "199.36.153.12", "2600:2d00:2:fff::1", "2600:2d00:2:1001::", "2600:2d00:2:2001::"],
];

const NO_ADDRESSES = [
  "",
  "localhost",
  "127.1",
  "0x7f000001",
  "8.8.8",
  "010.8.8.8",
  "8.8.8.8 ",
  "8.8.8.8/8",
  "[2606::1]",
];

describe("globally routable", () => {
  for (const [first, last] of REFUSED) {
    test(`${first} to ${last} is not`, () => {
      expect([isGloballyRoutable(first), isGloballyRoutable(last)]).toEqual([false, false]);
    });
  }

  for (const [cloud, addresses] of Object.entries(CLOUD_INNER)) {
    test(`the inner addresses of ${cloud} are not`, () => {
      expect(addresses.filter((address) => isGloballyRoutable(address))).toEqual([]);
    });
  }

  test("public neighbours of refused blocks are", () => {
    expect(ROUTABLE.filter((address) => !isGloballyRoutable(address))).toEqual([]);
  });

  test("texts that are not plain addresses are not, including addresses with a zone", () => {
    const others = [...NO_ADDRESSES, "fe80::1%eth0", "2606:4700:4700::1111%eth0"];
    expect(others.filter((address) => isGloballyRoutable(address))).toEqual([]);
  });
});

describe("allow list", () => {
  test("an empty one allows nothing", () => {
    for (const list of [AllowList.parse(""), AllowList.parse(" , ")]) {
      expect([list.allowsHost("localhost"), list.allowsHost(""), list.allowsAddress("127.0.0.1")]).toEqual([
        false,
        false,
        false,
      ]);
    }
  });

  test("a name allows exactly that name, whatever its case, trailing dot or script", () => {
    const list = AllowList.parse("Hooks.Internal, bücher.example.,a_b");
    const allowed = ["hooks.internal", "HOOKS.internal", "hooks.internal.", "xn--bcher-kva.example", "a_b"];
    const refused = ["internal", "x.hooks.internal", "hooks.internal.example.com", "hooksXinternal", "a_b.."];
    expect(allowed.filter((host) => !list.allowsHost(host))).toEqual([]);
    expect(refused.filter((host) => list.allowsHost(host))).toEqual([]);
  });

  test("an address allows itself, and a block all addresses in it, up to its edges", () => {
    const list = AllowList.parse("10.1.2.3,192.168.4.0/22,[::1],fd00:1::/32,172.16.9.9/12");
    const allowed = ["10.1.2.3", "192.168.4.0", "192.168.7.255", "::1", "0:0::1", "fd00:1::", "172.31.0.1"];
    const refused = ["10.1.2.4", "192.168.3.255", "192.168.8.0", "::2", "fd00:2::", "172.32.0.0", "127.0.0.1"];
    expect(allowed.filter((address) => !list.allowsAddress(address))).toEqual([]);
    expect(refused.filter((address) => list.allowsAddress(address))).toEqual([]);
  });

  test("an IPv4 block allows no IPv6 form of its addresses, and no zone", () => {
    const list = AllowList.parse("0.0.0.0/0,fe80::/10");
    expect(list.allowsAddress("127.0.0.1")).toBe(true);
    expect(list.allowsAddress("fe80::1")).toBe(true);
    expect(
      ["::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "fe80::1%eth0"].filter((address) =>
        list.allowsAddress(address),
      ),
    ).toEqual([]);
  });

  const bad = [
    ...["10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/8/8", "10.0.0.0/0x8", "/8", "localhost/8"],
    ...[
      "127.1",
      "0x7f000001",
      "2130706433",
      "010.0.0.1",
      "10.0.0.256",
      "1.2.3.4.5",
      "fe80::1%eth0",
      "[::1",
      "::ffff::",
    ],
    ...["http://hooks.internal", "hooks.internal:8080", "hooks.internal/path", "user@hooks.internal", "*.internal"],
    ...["hooks internal", "hooks..internal", ".", ".internal", "a\\b", "a%62", `${"a".repeat(64)}.internal`],
  ];
  for (const entry of bad) {
    test(`refuses ${JSON.stringify(entry)} and names it`, () => {
      expect(() => AllowList.parse(`hooks.example.com, ${entry}`)).toThrow(JSON.stringify(entry));
    });
  }
});
