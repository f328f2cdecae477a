// Overhead of MCP: latency of search_memories at /mcp, in both revisions of the protocol, over that of the same search
// over HTTP. The requests of the variants alternate, so that all meet the same machine. `bun bench/mcp.ts --help` lists
// the flags.

import { alignRows } from "../src/cli/terminal.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { until } from "../test/support/until.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";

const HELP = `bun bench/mcp.ts [flags]

Measures the latency of a search over HTTP and over MCP, one request at a time, in turn. Prints a table.

  --memories N   number of memories (default: 1000)
  --requests N   number of requests of each variant (default: 400)
  --limit N      results per search (default: 10)
  --mode NAME    retrieval mode (default: fast, in which the overhead weighs most)
  --record       write bench/results/mcp.json`;

/** Requests of each variant before the measurement, so that the JIT compiler has optimised the code. */
const WARM_UP = 100;
const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface Search {
  readonly query: string;
  readonly limit: number;
  readonly mode: string;
}

interface Variant {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: (search: Search) => unknown;
}

function toolCall(search: Search, meta: object): unknown {
  const params = { name: "search_memories", arguments: { ...search, max_tokens: 100_000 }, ...meta };
  return { jsonrpc: "2.0", id: 1, method: "tools/call", params };
}

const VARIANTS: readonly Variant[] = [
  { name: "HTTP", path: "/v1/memories/search", headers: {}, body: (search) => search },
  {
    name: `MCP ${REVISION}`,
    path: "/mcp",
    headers: { "mcp-protocol-version": REVISION, "mcp-method": "tools/call", "mcp-name": "search_memories" },
    body: (search) => toolCall(search, { _meta: META }),
  },
  { name: "MCP 2025-11-25", path: "/mcp", headers: {}, body: (search) => toolCall(search, {}) },
];

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    ...{ "--help": "switch", "--memories": "value", "--requests": "value", "--limit": "value" },
    ...{ "--mode": "value", "--record": "switch" },
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const memories = Number(flags.get("--memories") ?? 1_000);
  const requests = Number(flags.get("--requests") ?? 400);
  const limit = Number(flags.get("--limit") ?? 10);
  const mode = flags.get("--mode") ?? "fast";

  await using mneme = await startServer();
  await store(mneme, memories);
  const times = new Map(VARIANTS.map(({ name }) => [name, [] as number[]]));
  for (let at = -WARM_UP; at < requests; at++) {
    const search = { query: `kettle number ${(at + WARM_UP) % memories} on a mountain`, limit, mode };
    // the variant that comes first finds colder caches, so each is first in turn
    for (let turn = 0; turn < VARIANTS.length; turn++) {
      const variant = VARIANTS[(at + WARM_UP + turn) % VARIANTS.length] as Variant;
      const ms = await measure(mneme, variant, search);
      if (at >= 0) times.get(variant.name)?.push(ms);
    }
  }
  const rows = rowsOf(times, { memories, requests, limit, mode });
  const [first] = rows;
  if (first === undefined) return;
  process.stdout.write(
    `${alignRows([Object.keys(first), ...rows.map((row) => Object.values(row).map(String))], true).join("\n")}\n`,
  );
  if (flags.has("--record")) writeRows("mcp", rows);
}

function rowsOf(times: ReadonlyMap<string, readonly number[]>, shape: Row): readonly Row[] {
  const p50 = (name: string) => percentile(0.5, times.get(name) ?? []);
  return VARIANTS.map(({ name }) => ({
    variant: name,
    ...shape,
    p50Ms: Number(p50(name).toFixed(2)),
    p95Ms: Number(percentile(0.95, times.get(name) ?? []).toFixed(2)),
    overheadMs: Number((p50(name) - p50("HTTP")).toFixed(2)),
  }));
}

/** Milliseconds until the whole answer has arrived. */
async function measure({ url, key }: RunningServer, variant: Variant, search: Search): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${url}${variant.path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...variant.headers,
    },
    body: JSON.stringify(variant.body(search)),
  });
  const text = await response.text();
  const ms = performance.now() - startedAt;
  if (response.status !== 200 || !text.includes("memory_id")) throw new Error(`${variant.name}: ${text.slice(0, 200)}`);
  return ms;
}

async function store(mneme: RunningServer, count: number): Promise<void> {
  for (let first = 0; first < count; first += 100) {
    const memories = Array.from({ length: Math.min(100, count - first) }, (_, at) => ({
      content: `Kettle ${first + at} boils at a hundred degrees, and a little below on a mountain.`,
    }));
    await mneme.call("POST", "/v1/memories/batch", { memories });
  }
  await until(
    "all memories to be completed",
    async () => {
      const { body } = await mneme.call("GET", "/v1/memories?status=processing&limit=1");
      return (body as { readonly data: readonly unknown[] }).data.length === 0;
    },
    300_000,
  );
}

await main();
