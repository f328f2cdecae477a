// Builds dist/mneme.mcpb (`bun run build:mcpb`): a bundle with which desktop clients such as Claude Desktop connect to
// a server in one click. It has no models and no stores: a zip archive with a manifest and one JavaScript file for
// Node.

import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { strToU8, type Zippable, zipSync } from "fflate";
import { VERSION } from "../kit/version.ts";
import { toolsOf } from "../mcp/tools.ts";

const ROOT = join(import.meta.dir, "../..");
const OUTPUT = join(ROOT, "dist/mneme.mcpb");
/** Path of the program in the bundle. */
const ENTRY = "server/index.mjs";
/** Time of all files in the archive, so that the same sources give the same bytes. */
const FILE_TIME = new Date("2026-01-01T00:00:00Z");

/** The manifest of the bundle, in version 0.3 of its format. */
export function mcpbManifest(): object {
  const variable = (name: string) => `\${${name}}`;
  return {
    manifest_version: "0.3",
    name: "mneme",
    display_name: "Mneme",
    version: VERSION,
    description: "Long-term memory on a server of your own: store, search, correct and forget.",
    author: { name: "The authors of Mneme" },
    license: "Apache-2.0",
    keywords: ["memory", "search", "knowledge"],
    server: {
      type: "node",
      entry_point: ENTRY,
      mcp_config: {
        command: "node",
        args: [`${variable("__dirname")}/${ENTRY}`],
        env: { MNEME_URL: variable("user_config.url"), MNEME_API_KEY: variable("user_config.api_key") },
      },
    },
    tools: toolsOf(false).map(({ name, description }) => ({ name, description })),
    compatibility: { platforms: ["darwin", "linux", "win32"], runtimes: { node: ">=20.0.0" } },
    user_config: {
      url: {
        type: "string",
        title: "Address of the server",
        description: "Where Mneme runs, such as http://127.0.0.1:8383",
        default: "http://127.0.0.1:8383",
        required: true,
      },
      api_key: {
        type: "string",
        title: "API key",
        description: "A key of the server: ctx_… The tools that are offered depend on its scopes.",
        sensitive: true,
        required: true,
      },
    },
  };
}

/** Builds the bundle and writes it to `output`. @throws Error if the program cannot be bundled */
export async function buildMcpb(output: string): Promise<void> {
  const built = await Bun.build({
    entrypoints: [join(import.meta.dir, "mcpb-entry.ts")],
    target: "node",
    format: "esm",
    minify: true,
  });
  const [program] = built.outputs;
  if (!built.success || program === undefined || built.outputs.length !== 1) {
    throw new Error(`The program of the bundle is not one file: ${built.logs.join("; ")}`);
  }
  const files: Zippable = {
    "manifest.json": strToU8(`${JSON.stringify(mcpbManifest(), null, 2)}\n`),
    [ENTRY]: new Uint8Array(await program.arrayBuffer()),
    LICENSE: new Uint8Array(await Bun.file(join(ROOT, "LICENSE")).arrayBuffer()),
  };
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, zipSync(files, { level: 9, mtime: FILE_TIME }));
}

if (import.meta.main) {
  await buildMcpb(OUTPUT);
  process.stdout.write(`${OUTPUT}: ${Math.round(statSync(OUTPUT).size / 1024)} KiB\n`);
}
