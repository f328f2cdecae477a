// The program in the .mcpb bundle: passes the calls of a desktop client on to a server. Runs on Node, too, because
// desktop clients bring it. mcpb.ts builds the bundle; the client sets the variables from what its user entered.

import { serveOverStdio } from "../mcp/stdio.ts";

const url = URL.parse(process.env.MNEME_URL ?? "");
const key = process.env.MNEME_API_KEY ?? "";
if (url === null || !/^https?:$/.test(url.protocol) || key === "") {
  process.stderr.write("mneme: enter the address of the server, such as http://127.0.0.1:8383, and an API key.\n");
  process.exit(1);
}
const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop.abort());
const base = url.href.replace(/\/+$/, "").replace(/\/(mcp|v1)$/, "");
await serveOverStdio({ url: base, key, send: (request) => fetch(request) }, stop.signal);
process.exit(0);
