// What the tests of the clients on a real server share: a webhook receiver, the code of a README, and which operations
// were called.

import { DECLARED_OPERATIONS } from "../support/declared-operations.ts";
import type { RunningServer } from "../support/server.ts";

/** A server that keeps the last webhook message. */
export interface ReceivingServer {
  /** Address for a webhook. `/received` behind it answers with the body and the headers of the last message. */
  readonly url: string;
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
      last = { body: await request.text(), headers: Object.fromEntries(request.headers) };
      return new Response(null, { status: 204 });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/hook`, stop: () => server.stop(true) };
}

/** The blocks of code of one language, as one program. */
export function readmeCode(markdown: string, language: string): string {
  const blocks = [...markdown.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))];
  if (blocks.length === 0) throw new Error(`no code in ${language}`);
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
