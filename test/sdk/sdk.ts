// What the tests of the clients on a real server share: a webhook receiver that also serves a page, the code of a page
// of documentation, and which operations were called.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";
import type { RunningServer } from "../support/server.ts";
import { ROOT } from "../support/sources.ts";

/** A server that keeps the last webhook message, and has a page at `/handbook`. */
export interface ReceivingServer {
  /** Address for a webhook. `/received` behind it answers with the body and the headers of the last message. */
  readonly url: string;
  /** The address without a path. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** Starts a receiver on a free port of the loopback address. */
export function startReceiver(): ReceivingServer {
  let last = {};
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      if (request.url.endsWith("/received")) return Response.json(last);
      if (request.url.endsWith("/handbook"))
        return new Response(HANDBOOK, { headers: { "content-type": "text/html" } });
      last = { body: await request.text(), headers: Object.fromEntries(request.headers) };
      return new Response(null, { status: 204 });
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return { url: `${origin}/hook`, origin, stop: () => server.stop(true) };
}

const HANDBOOK = "<!doctype html><title>The handbook</title><h1>The handbook</h1><p>The lamp is lit at dusk.</p>";
/** Host in the documentation whose pages the receiver serves. */
const DOCUMENTED_ORIGIN = "https://example.com";

/**
 * The blocks of code of one language in a page of documentation, as one program. It reads the receiver's pages.
 * @param page path in the repository
 */
export function documentedCode(page: string, language: string, { origin }: ReceivingServer): string {
  const markdown = readFileSync(join(ROOT, page), "utf8").replaceAll(DOCUMENTED_ORIGIN, origin);
  const blocks = [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))];
  if (blocks.length === 0) throw new Error(`${page} has no code in ${language}`);
  return blocks.map(([, code]) => code).join("\n");
}

/** Second forms of other operations, for callers without this client. */
const ALIASES: readonly string[] = ["searchMemoriesByUrl", "getModelByParts"];

/** The operations that a server has answered, and those that it has not. */
export async function operationsCalled({ url }: RunningServer) {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const called = new Set(
    [...metrics.matchAll(/mneme_http_requests_total\{operation="(\w+)"/g)].map(([, name]) => name),
  );
  const names = DECLARED_OPERATIONS.map(({ name }) => name).filter((name) => !ALIASES.includes(name));
  return { called: [...called], missing: names.filter((name) => !called.has(name)) };
}
