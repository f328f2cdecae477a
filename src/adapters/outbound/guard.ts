// Decides whether an address may be called: parses the URL, resolves its name and checks every resulting address.
// addresses.ts knows which addresses are public; sender.ts makes sure that only checked addresses are connected to.

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { Fault } from "../../domain/fault.ts";
import { LIMITS } from "../../domain/limits.ts";
import type { AddressGuard } from "../../ports/outbound.ts";
import { type AllowList, isGloballyRoutable, isHostName } from "./addresses.ts";

/** What the caller of a refused address can ask for. The setting is in settings/outbound.ts. */
const REMEDY = "The operator of this server can allow it with --webhook-allow.";

/**
 * Resolves a host name to IPv4 (dotted decimal) or IPv6 addresses. If the name does not resolve, rejects or returns no
 * address.
 */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** The operating system's resolver, which also reads the hosts file. */
export const resolveBySystem: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** Options of the decision whether a host may be called. */
export interface Admission {
  readonly allow: AllowList;
  /** Defaults to `resolveBySystem`. */
  readonly resolve?: Resolve;
}

/** Options of an address guard. */
export interface GuardOptions extends Admission {
  /**
   * Maximum time to resolve a name, in milliseconds. A name that takes longer counts as unresolvable. Default 5,000,
   * the time of one attempt of a typical resolver.
   */
  readonly resolveTimeoutMs?: number;
}

/**
 * A URL or host that must not be called. `message` is public. It is the end of a sentence that begins with "the
 * address", such as "is not public".
 */
export class UnsafeTarget extends Error {
  override readonly name = "UnsafeTarget";
  /** Whether an allow list could admit it. */
  readonly isAllowable: boolean;

  constructor(message: string, { isAllowable = false, ...options }: ErrorOptions & { isAllowable?: boolean } = {}) {
    super(message, options);
    this.isAllowable = isAllowable;
  }
}

/** A parsed URL. */
export interface Target {
  readonly url: URL;
  /** The host: a name in lower case, or an IP address without brackets. */
  readonly host: string;
  readonly isLiteralAddress: boolean;
}

/** Creates an AddressGuard. */
export function createAddressGuard({
  allow,
  resolve = resolveBySystem,
  resolveTimeoutMs = 5_000,
}: GuardOptions): AddressGuard {
  return {
    async check(url, param) {
      try {
        await admittedAddresses(parseTarget(url), { allow, resolve: withTimeout(resolve, resolveTimeoutMs) });
      } catch (cause) {
        if (!(cause instanceof UnsafeTarget)) throw cause;
        const remedy = cause.isAllowable ? ` ${REMEDY}` : "";
        throw new Fault("unsafe_url", `The address in ${param} ${cause.message}.${remedy}`, { param, cause });
      }
    },
  };
}

/**
 * Parses a URL. Accepts only URLs that all parsers interpret in the same way: `http://` or `https://`, then a host; no
 * credentials, white space or control characters. URL normalises the notation of the host (`127.1`, `0x7f000001`,
 * full-width digits).
 * @throws UnsafeTarget for anything else, for port 0, and for a URL longer than LIMITS.webhookUrlCharacters
 */
export function parseTarget(text: string): Target {
  if (text.length > LIMITS.webhookUrlCharacters) {
    throw new UnsafeTarget(`is longer than ${LIMITS.webhookUrlCharacters} characters`);
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) throw new UnsafeTarget("must begin with http:// or https:// and a host");
  if (authority.includes("@")) throw new UnsafeTarget("contains credentials; remove everything before the @");
  if (authority.includes("\\") || /[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) {
    throw new UnsafeTarget("is not a well-formed URL");
  }
  const url = new URL(text);
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const isLiteralAddress = isIP(host) !== 0;
  if (!isLiteralAddress && !isHostName(host)) throw new UnsafeTarget("has no valid host");
  if (url.port === "0") throw new UnsafeTarget("has port 0");
  return { url, host, isLiteralAddress };
}

/**
 * Returns all addresses of `target`, at least one. All of them may be called.
 * @throws UnsafeTarget if there is no address, or if one of them must not be called. The message is the same in both
 *   cases, because it would otherwise reveal which names exist in the operator's network.
 */
export async function admittedAddresses(
  { host, isLiteralAddress }: Target,
  { allow, resolve }: Required<Admission>,
): Promise<readonly string[]> {
  const isAdmitted = (address: string) => isGloballyRoutable(address) || allow.allowsAddress(address);
  if (isLiteralAddress) {
    if (!isAdmitted(host)) throw new UnsafeTarget("is not public", { isAllowable: true });
    return [host];
  }
  const unsafe = (cause?: unknown) =>
    new UnsafeTarget("does not resolve to public addresses only", { cause, isAllowable: true });
  const addresses = await resolve(host).catch((cause) => {
    throw unsafe(cause);
  });
  const isSafe = addresses.length > 0 && (allow.allowsHost(host) || addresses.every(isAdmitted));
  if (!isSafe) throw unsafe();
  return addresses;
}

function withTimeout(resolve: Resolve, timeoutMs: number): Resolve {
  return (host) =>
    new Promise((settle, reject) => {
      const timer = setTimeout(() => reject(new Error(`no addresses received within ${timeoutMs} ms`)), timeoutMs);
      resolve(host)
        .then(settle, reject)
        .finally(() => clearTimeout(timer));
    });
}
