// Finds the client's address behind the operator's own proxies, and the key by which failed authentication attempts are
// counted. rate-limits.ts has the limit for such attempts.

import ipaddr from "ipaddr.js";
import { UsageError } from "../kit/flags.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = readonly [address: Address, bits: number];

/** The operator's own proxies. Only their X-Forwarded-For is trusted. */
export type TrustedProxies = readonly Network[];

/** Maximum length of a text that is parsed as an address. An address with its zone is far shorter. */
const ADDRESS_CHARACTERS_MAX = 100;
/**
 * Number of 16-bit groups of an IPv6 address that identify a subscriber. A subscriber has at least a /64 (RFC 6177),
 * which has too many addresses to count each of them.
 */
const SUBSCRIBER_GROUPS = 4;

/**
 * Parses the setting: addresses and CIDRs, separated by commas. An empty text means no proxies.
 * @throws UsageError with one sentence that names the first invalid entry.
 */
export function parseTrustedProxies(text: string): TrustedProxies {
  if (text.trim() === "") return [];
  return text.split(",").map((entry) => {
    const network = parseNetwork(entry.trim());
    if (network !== null) return network;
    throw new UsageError(
      `${JSON.stringify(entry.trim())} is neither an address nor a CIDR; write them as in 10.0.0.1, 192.168.0.0/16, fd00::/8.`,
    );
  });
}

/**
 * The address of the client that sent a request. It is the socket's address; if that is a trusted proxy, it is the
 * right-most address of X-Forwarded-For that is not a trusted proxy. Only entries that a trusted proxy added count: the
 * entries to the left of an untrusted address or of an invalid entry may have been written by anybody. An IPv4-mapped
 * address (`::ffff:192.0.2.1`) is returned as IPv4; an IPv6 address in its shortest form, without a zone.
 * @param socketAddress returned unchanged if it is not an address (a Unix socket).
 * @param forwardedFor value of the header. If there are several such headers, their values in order, joined by commas.
 */
export function clientAddress(socketAddress: string, forwardedFor: string | null, trusted: TrustedProxies): string {
  const socket = parseAddress(socketAddress);
  if (socket === null) return socketAddress;
  let client = socket;
  for (const hop of (forwardedFor ?? "").split(",").reverse()) {
    if (!isTrusted(client, trusted)) break;
    const next = parseAddress(withoutPort(hop.trim()));
    if (next === null) break;
    client = next;
  }
  return client.toString();
}

/** Key by which failed attempts are counted: the address for IPv4, its /64 (`2001:db8:0:1::/64`) for IPv6. */
export function failureKey(address: string): string {
  const parsed = parseAddress(address);
  if (parsed === null) return address;
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  const network = parsed.parts.map((part, at) => (at < SUBSCRIBER_GROUPS ? part : 0));
  return `${new ipaddr.IPv6(network)}/64`;
}

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  return trusted.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits));
}

// Parses an address; null if it is malformed. The check is strict, because ipaddr.js also accepts 127.1, 0x7f.1 and
// 010.0.0.1 (as octal), which no proxy writes.
function parseAddress(text: string): Address | null {
  if (text.length > ADDRESS_CHARACTERS_MAX) return null;
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : new ipaddr.IPv6(address.parts);
}

function parseNetwork(text: string): Network | null {
  const [, host = "", prefix] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === null) return null;
  const bitsMax = address.kind() === "ipv4" ? 32 : 128;
  if (prefix === undefined) return [address, bitsMax];
  // ::ffff:10.0.0.0/104 is the same network as 10.0.0.0/8.
  const bits = Number(prefix) - (bitsMax === 32 && host.includes(":") ? 96 : 0);
  return bits >= 0 && bits <= bitsMax ? [address, bits] : null;
}

// Removes the port that some proxies add: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
function withoutPort(hop: string): string {
  const [, bracketed, v4] = /^(?:\[([^\]]*)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/.exec(hop) ?? [];
  return bracketed ?? v4 ?? hop;
}
