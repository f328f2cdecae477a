// May this address be called? Reads the URL, resolves its name and judges every address that comes back. Which addresses
// are public is addresses.ts; that the connection goes to what was judged here is sender.ts.

import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { Fault } from "../../domain/fault.ts";
import { LIMITS } from "../../domain/limits.ts";
import type { AddressGuard } from "../../ports/outbound.ts";
import { type AllowList, isGloballyRoutable, isHostName } from "./addresses.ts";

/** The addresses of a name, IPv4 in dotted decimal or IPv6; rejects or gives none when it does not resolve. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** Resolves as other programs of this machine do, the hosts file included. */
export const resolveBySystem: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);

/** What decides whether a host may be called. */
export interface Admission {
  readonly allow: AllowList;
  /** Defaults to `resolveBySystem`. */
  readonly resolve?: Resolve;
}

/** What a guard goes by. */
export interface GuardOptions extends Admission {
  /** A name whose addresses take longer counts as not resolving. Default 5,000: one try of a usual resolver. */
  readonly resolveTimeoutMs?: number;
}

/** A URL or host that may not be called. `message` is public and completes "the address …": "is not public". */
export class UnsafeTarget extends Error {
  override readonly name = "UnsafeTarget";
}

/** Where a URL leads, once its spelling is out of the way. */
export interface Target {
  readonly url: URL;
  /** A name in lower case, or an address without brackets. */
  readonly host: string;
  readonly isLiteralAddress: boolean;
}

/** An AddressGuard that goes by these options. */
export function createAddressGuard({
  allow,
  resolve = resolveBySystem,
  resolveTimeoutMs = 5_000,
}: GuardOptions): AddressGuard {
  return {
    async check(url, param) {
      try {
        await admittedAddresses(readTarget(url), { allow, resolve: withTimeout(resolve, resolveTimeoutMs) });
      } catch (cause) {
        if (!(cause instanceof UnsafeTarget)) throw cause;
        throw new Fault("unsafe_url", `The address in ${param} ${cause.message}.`, { param, cause });
      }
    },
  };
}

/**
 * Reads a URL. Only what everybody reads alike is taken: `http://` or `https://`, then a host, no credentials, no spaces
 * or control characters; how the host is spelled (`127.1`, `0x7f000001`, full-width digits) is settled by URL.
 * @throws UnsafeTarget for anything else, for port 0 and beyond LIMITS.webhookUrlCharacters.
 */
export function readTarget(text: string): Target {
  if (text.length > LIMITS.webhookUrlCharacters) {
    throw new UnsafeTarget(`is longer than ${LIMITS.webhookUrlCharacters} characters`);
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined) throw new UnsafeTarget("does not begin with http:// or https:// and a host");
  if (authority.includes("@")) throw new UnsafeTarget("holds credentials; leave out what stands before the @");
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
 * All addresses that `target` leads to, at least one, each of which may be connected to.
 * @throws UnsafeTarget when there is none, or a single one may not be: which of the two is not told, for it would say
 *   which names exist inside the operator's network.
 */
export async function admittedAddresses(
  { host, isLiteralAddress }: Target,
  { allow, resolve }: Required<Admission>,
): Promise<readonly string[]> {
  const isAdmitted = (address: string) => isGloballyRoutable(address) || allow.allowsAddress(address);
  if (isLiteralAddress) {
    if (!isAdmitted(host)) throw new UnsafeTarget("is not public");
    return [host];
  }
  const unsafe = (cause?: unknown) => new UnsafeTarget("does not resolve to public addresses only", { cause });
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
      const timer = setTimeout(() => reject(new Error(`no addresses within ${timeoutMs} ms`)), timeoutMs);
      resolve(host)
        .then(settle, reject)
        .finally(() => clearTimeout(timer));
    });
}
