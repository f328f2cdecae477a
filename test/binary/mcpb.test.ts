// The .mcpb bundle: its manifest has the form that desktop clients require, and its program connects a real client with
// a server, under Node if there is one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import Ajv from "ajv";
import { unzipSync } from "fflate";
import { buildMcpb, mcpbManifest } from "../../src/binary/mcpb.ts";
import { connectStdio, listen } from "../support/mcp.ts";
import { startService, TEST_KEY, type TestService } from "../support/service.ts";

// The required fields and the names of version 0.3 of the format (MANIFEST.md of modelcontextprotocol/mcpb).
const TEXT = { type: "string", minLength: 1 };
const MANIFEST_SCHEMA = {
  type: "object",
  additionalProperties: false,
  required: ["manifest_version", "name", "version", "description", "author", "server"],
  properties: {
    manifest_version: { const: "0.3" },
    name: { type: "string", pattern: "^[a-z0-9-]+$" },
    display_name: TEXT,
    version: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+" },
    description: TEXT,
    author: { type: "object", required: ["name"], properties: { name: TEXT } },
    license: TEXT,
    keywords: { type: "array", items: TEXT },
    server: {
      type: "object",
      additionalProperties: false,
      required: ["type", "entry_point", "mcp_config"],
      properties: {
        type: { enum: ["node", "python", "binary"] },
        entry_point: TEXT,
        mcp_config: {
          type: "object",
          additionalProperties: false,
          required: ["command"],
          properties: {
            command: TEXT,
            args: { type: "array", items: TEXT },
            env: { type: "object", additionalProperties: TEXT },
          },
        },
      },
    },
    tools: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["name"],
        properties: { name: TEXT, description: TEXT },
      },
    },
    compatibility: {
      type: "object",
      properties: {
        platforms: { type: "array", items: { enum: ["darwin", "linux", "win32"] } },
        runtimes: { type: "object", additionalProperties: TEXT },
      },
    },
    user_config: {
      type: "object",
      additionalProperties: {
        type: "object",
        required: ["type", "title", "description"],
        properties: { type: { enum: ["string", "number", "boolean", "directory", "file"] } },
      },
    },
  },
};

let folder: string;
let files: Readonly<Record<string, Uint8Array>>;
let mneme: TestService;
let server: ReturnType<typeof listen>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mneme-mcpb-"));
  const path = join(folder, "mneme.mcpb");
  await buildMcpb(path);
  files = unzipSync(readFileSync(path));
  mneme = await startService();
  server = listen(mneme);
});
afterAll(async () => {
  await server.stop();
  await mneme.stop();
  rmSync(folder, { recursive: true, force: true });
});

const manifestIn = () => JSON.parse(Buffer.from(files["manifest.json"] ?? []).toString("utf8"));

test("the manifest is valid and names files and settings that exist", () => {
  const manifest = manifestIn();
  expect(manifest).toEqual(mcpbManifest());
  const validate = new Ajv({ allErrors: true }).compile(MANIFEST_SCHEMA);
  validate(manifest);
  expect(validate.errors ?? []).toEqual([]);
  expect(Object.keys(files).sort()).toEqual(["LICENSE", "manifest.json", manifest.server.entry_point].sort());
  const text = JSON.stringify(manifest.server.mcp_config);
  for (const [, name] of text.matchAll(/\$\{user_config\.(\w+)\}/g))
    expect(manifest.user_config).toHaveProperty(name ?? "");
  expect(manifest.user_config.api_key.sensitive).toBe(true);
  expect(manifest.tools).toHaveLength(8);
});

test("the same sources give the same bytes", async () => {
  const again = join(folder, "again.mcpb");
  await buildMcpb(again);
  expect(readFileSync(again).equals(readFileSync(join(folder, "mneme.mcpb")))).toBe(true);
});

test("the program connects a client with a server", async () => {
  const root = join(folder, "unpacked");
  for (const [path, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), bytes);
  }
  const entry = join(root, manifestIn().server.entry_point);
  const start = (env: Record<string, string>) => ({
    command: Bun.which("node") ?? process.execPath,
    args: [entry],
    env: { PATH: process.env.PATH ?? "", ...env },
    cwd: root,
  });
  const peer = await connectStdio(
    "2025-11-25",
    start({ MNEME_URL: `${server.url}/`, MNEME_API_KEY: TEST_KEY }),
    () => undefined,
  );
  const { memory_id } = await peer.done("add_memory", { content: "Stored from a desktop." });
  expect((await peer.done("list_memories")).memories[0].memory_id).toBe(memory_id);
  await peer.close();

  let errors = "";
  const collect = (text: string) => {
    errors += text;
  };
  await expect(connectStdio("2025-11-25", start({ MNEME_URL: "nonsense" }), collect)).rejects.toThrow();
  expect(errors).toContain("enter the address of the server");
});
