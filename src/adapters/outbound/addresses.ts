// Decides whether an IP address is globally routable, and parses the operator's allow list. URLs and name resolution
// are in guard.ts.

import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Block = readonly [network: Address, prefixBits: number];

/**
 * IPv4 blocks that are not globally routable unicast: the IANA IPv4 Special-Purpose Address Registry and the multicast
 * block. 192.0.0.0/24 is refused as a whole: the registry marks two anycast addresses in it as reachable (RFC 7723,
 * RFC 8155), but hosts of the operator's own network could answer at them.
 */
const IPV4_REFUSED = blocks(
  "0.0.0.0/8", // this network (RFC 791)
  "10.0.0.0/8", // private (RFC 1918)
  "100.64.0.0/10", // carrier-grade NAT (RFC 6598)
  "127.0.0.0/8", // loopback (RFC 1122)
  "169.254.0.0/16", // link-local (RFC 3927); cloud metadata services
  "172.16.0.0/12", // private (RFC 1918)
  "192.0.0.0/24", // IETF protocol assignments (RFC 6890)
  "192.0.2.0/24", // documentation (RFC 5737)
  "192.88.99.0/24", // 6to4 relay anycast (RFC 7526)
  "192.168.0.0/16", // private (RFC 1918)
  "198.18.0.0/15", // benchmarking (RFC 2544)
  "198.51.100.0/24", // documentation (RFC 5737)
  "203.0.113.0/24", // documentation (RFC 5737)
  "224.0.0.0/4", // multicast (RFC 5771)
  "240.0.0.0/4", // reserved, and limited broadcast (RFC 1112, RFC 8190)
);

/**
 * IPv4 blocks of public address space that clouds use inside their networks only. They are not announced to the
 * Internet, and services there trust their neighbours. The other inner addresses of clouds, such as 169.254.169.254,
 * 169.254.170.2, 192.0.0.192, 100.100.100.200, fd00:ec2::254 and fd20:ce::254, are in blocks that are refused anyway.
 */
const IPV4_CLOUD = blocks(
  "161.26.0.0/16", // IBM Cloud: name server and other services of the private network
  "166.8.0.0/14", // IBM Cloud: private service endpoints
  "168.63.129.16/32", // Azure: name server, health probe and agent of every virtual machine
  "199.36.153.4/30", // Google Cloud: restricted.googleapis.com
  "199.36.153.8/30", // Google Cloud: private.googleapis.com
);

/** Like `IPV4_CLOUD`, for IPv6. */
const IPV6_CLOUD = blocks(
  "2600:2d00:2:1000::/64", // Google Cloud: restricted.googleapis.com
  "2600:2d00:2:2000::/64", // Google Cloud: private.googleapis.com
);

/**
 * IPv6 block that IANA allocates as global unicast (RFC 4291). Outside of it are the unspecified, loopback, IPv4-mapped
 * and -compatible, NAT64, discard-only, segment routing, unique local, link-local, site-local and multicast addresses.
 */
const IPV6_GLOBAL = blocks("2000::/3");

/**
 * Blocks inside 2000::/3 that are not globally routable: the IANA IPv6 Special-Purpose Address Registry. 2001::/23 is
 * refused as a whole, like 192.0.0.0/24: the addresses in it that the registry marks as reachable are anycast services
 * of the local network, or identifiers to which nothing is routed.
 */
const IPV6_REFUSED = blocks(
  "2001::/23", // IETF protocol assignments: Teredo, benchmarking, ORCHID, … (RFC 2928)
  "2001:db8::/32", // documentation (RFC 3849)
  "2002::/16", // 6to4, an IPv4 address inside (RFC 3056)
  "3ffe::/16", // 6bone, returned to IANA (RFC 3701)
  "3fff::/20", // documentation (RFC 9637)
);

/**
 * Whether `address` is globally routable unicast, and no inner address of a cloud. Accepts IPv4 addresses in dotted
 * decimal and IPv6 addresses, as resolvers and URLs write them. Returns false for anything else, including an address
 * with a zone.
 */
export function isGloballyRoutable(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === null) return false;
  if (parsed.kind() === "ipv4") return !isInAny(parsed, IPV4_REFUSED) && !isInAny(parsed, IPV4_CLOUD);
  return isInAny(parsed, IPV6_GLOBAL) && !isInAny(parsed, IPV6_REFUSED) && !isInAny(parsed, IPV6_CLOUD);
}

/**
 * Whether `host`, as taken from a URL, is a valid host name: labels of ASCII letters, digits, `-` and `_`, at most 253
 * characters, optionally with a trailing dot.
 */
export function isHostName(host: string): boolean {
  return host.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?$/i.test(host);
}

/**
 * The operator's allow list: what may be called besides globally routable addresses. Contains host names, which are
 * allowed whatever address they have, and address blocks.
 */
export class AllowList {
  /** @param hosts names in lower case, without a trailing dot */
  private constructor(
    private readonly hosts: ReadonlySet<string>,
    private readonly addresses: readonly Block[],
  ) {}

  /**
   * Parses host names, addresses and CIDR blocks, separated by commas. An empty text allows nothing. A name allows
   * exactly that name and no subdomain.
   * @throws Error with one sentence that names the first invalid entry
   */
  static parse(text: string): AllowList {
    const hosts = new Set<string>();
    const addresses: Block[] = [];
    for (const entry of text.split(",").map((part) => part.trim())) {
      if (entry === "") continue;
      const block = parseBlock(entry);
      const host = block === null ? parseHost(entry) : null;
      if (block !== null) addresses.push(block);
      else if (host !== null) hosts.add(host);
      else {
        throw new Error(
          `${JSON.stringify(entry)} is not a host name, address or CIDR block such as hooks.example.com, 10.1.2.3 or fd00::/8.`,
        );
      }
    }
    return new AllowList(hosts, addresses);
  }

  /** Whether this name is allowed, whatever it resolves to. Ignores case and a trailing dot. */
  allowsHost(host: string): boolean {
    return this.hosts.has(plainHost(host));
  }

  /** Whether this address is allowed. An IPv4 block does not allow IPv6 forms of its addresses. */
  allowsAddress(address: string): boolean {
    const parsed = parseAddress(address);
    return parsed !== null && isInAny(parsed, this.addresses);
  }
}

function blocks(...texts: readonly string[]): readonly Block[] {
  return texts.map((text) => ipaddr.parseCIDR(text));
}

// Checks with node's isIP first, because ipaddr.js also accepts 127.1, 0x7f.1 and 010.0.0.1, which programs interpret
// differently.
function parseAddress(text: string): Address | null {
  return isIP(text) === 0 || text.includes("%") ? null : ipaddr.parse(text);
}

function isInAny(address: Address, candidates: readonly Block[]): boolean {
  return candidates.some(
    ([network, prefixBits]) => network.kind() === address.kind() && address.match(network, prefixBits),
  );
}

function parseBlock(entry: string): Block | null {
  const [network = "", bits, ...more] = entry.split("/");
  const address = parseAddress(network.replace(/^\[(.*)\]$/, "$1"));
  if (address === null || more.length > 0) return null;
  const bitsMax = address.kind() === "ipv4" ? 32 : 128;
  if (bits === undefined) return [address, bitsMax];
  return /^\d{1,3}$/.test(bits) && Number(bits) <= bitsMax ? [address, Number(bits)] : null;
}

// Parses the name with URL, so that an internationalised name gets the form that guard.ts compares. Entries that URL
// turns into an address (127.1, 0x7f000001) are refused, because the operator may have meant something else.
function parseHost(entry: string): string | null {
  if (/[\s:/@?#\\%[\]]/.test(entry) || !URL.canParse(`http://${entry}/`)) return null;
  const host = new URL(`http://${entry}/`).hostname;
  return isHostName(host) && isIP(host) === 0 ? plainHost(host) : null;
}

function plainHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, "");
}
