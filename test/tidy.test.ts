// House rules of the repository that a machine can check. Each message says how to fix the problem. Rules of the
// formatter, linter and compiler (biome.json, tsconfig.json) are not repeated here.

import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { unusedInRust, unusedInTypescript } from "./support/declarations.ts";
import { cyclesIn, grouped, rustGraph, rustModuleOf, typescriptGraph } from "./support/import-graph.ts";
import {
  codeLines,
  importsOf,
  lineAt,
  productionLines,
  ROOT,
  type SourceFile,
  sourceFile,
  sourceFiles,
} from "./support/sources.ts";

const BROWSER = "src/console/browser/";
const src = sourceFiles("src", ".ts").filter(({ path }) => !path.startsWith(BROWSER));
const tests = sourceFiles("test", ".ts");
const benches = sourceFiles("bench", ".ts");
const scripts = sourceFiles("scripts", ".ts");
const rust = sourceFiles("native", ".rs");
const nativeScripts = sourceFiles("native", ".ts");
/** The handwritten part of the clients; sdk/generate.ts writes the folders named core. */
const clients = sourceFiles("sdk", ".ts").filter(({ path }) => !path.includes("/core/"));
/** The console's code for browsers: it runs elsewhere, and only its page loads it. */
const browser = [...sourceFiles(BROWSER, ".ts"), ...sourceFiles(BROWSER, ".tsx")];
const pages = sourceFiles(".", ".md");
/** Line width of the formatters (biome.json, native/rustfmt.toml). */
const COLUMNS_MAX = 120;
/** Size up to which a page is read in one sitting; docs/where-to-change.md has more of the map. */
const PAGE_BYTES_MAX = { "ARCHITECTURE.md": 15_000, "README.md": 9_216 };
/** Written by `native/types.ts`. */
const GENERATED = "src/adapters/native/addon-types.ts";

/**
 * Modules of src/ that each module may import, besides itself, `domain` and `kit`. A module is a folder of src/, a
 * folder of src/adapters/, or a file directly in src/; `adapters` stands for all adapters. ARCHITECTURE.md describes
 * the modules.
 */
const MODULE_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  // a checkout lists the licences of its parts itself
  "main.ts": ["cli", "binary"],
  // image-decoders.ts of documents/ changes a module that the program carries
  binary: ["cli", "console", "guide", "mcp", "adapters/downloads", "adapters/native", "documents"],
  cli: ["config.ts", "compose", "mcp", "children", "backup", "importers", "metrics.ts"],
  backup: [],
  // the list of files in a ZIP archive
  importers: ["documents"],
  "config.ts": ["settings"],
  // each setting is parsed by the module that it belongs to
  settings: ["account", "api", "mcp", "webhooks", "adapters/inference", "adapters/outbound"],
  compose: [
    "config.ts",
    "api",
    "mcp",
    "models",
    "calibration",
    "compat",
    "console",
    "guide",
    "services",
    "account",
    "ingest",
    "relations",
    "erasure",
    "webhooks",
    "adapters",
    "stores",
    "children",
    "ports",
    "tokenizers",
    "metrics.ts",
  ],
  mcp: ["api", "account", "services"],
  compat: ["api"],
  api: ["services", "answer", "account", "ports", "metrics.ts"],
  // the console's browser code imports types from api/schema; no server code imports the browser code
  console: [],
  guide: [],
  services: ["retrieval", "answer", "account", "erasure", "models", "ports"],
  models: ["ports"],
  calibration: ["retrieval", "ports"],
  erasure: ["ports"],
  answer: ["retrieval", "account", "ports", "words"],
  retrieval: ["ports", "words"],
  account: ["ports"],
  ingest: ["account", "erasure", "ports"],
  relations: ["answer", "ports", "retrieval", "words"],
  webhooks: ["ports"],
  documents: ["children", "ocr", "ports", "words"],
  ocr: [],
  preparation: ["children", "ports", "tokenizers", "words"],
  stores: ["ports"],
  "adapters/embedded": ["adapters/native", "stores", "ports"],
  "adapters/inference": ["adapters/native", "children", "ocr", "ports", "tokenizers"],
  "adapters/native": ["ports"],
  "adapters/llm": ["adapters/outbound", "ports", "metrics.ts"],
  "adapters/outbound": ["ports"],
  "adapters/remote-models": ["ports", "metrics.ts"],
  "adapters/uploads": ["ports"],
  "adapters/downloads": ["documents"],
  "adapters/installation": ["adapters/inference", "adapters/downloads", "documents", "ports", "tokenizers"],
  "adapters/ocr": ["adapters/inference", "children", "documents", "ocr", "ports"],
  "adapters/documents": ["children", "documents", "ports"],
  "adapters/preparation": ["children", "preparation", "ports", "words"],
  children: ["adapters", "documents", "preparation"],
  ports: [],
  tokenizers: [],
  words: [],
  "metrics.ts": [],
  domain: [],
  kit: [],
};

/** Packages and runtime modules that only one file or folder may import. */
const PACKAGE_OWNERS: readonly (readonly [specifier: RegExp, owner: string, fix: string])[] = [
  [/^bun:sqlite$/, "src/stores/sqlite/", "use what database.ts exports"],
  [/^@duckdb\//, "src/adapters/embedded/duckdb/", "go through the Archive"],
  [/^onnxruntime-/, "src/adapters/inference/onnxruntime-", "ask a lane (adapters/inference/lanes.ts)"],
  [/\.node$/, "src/adapters/native/addon.ts", "use what addon.ts exports"],
  [/^elysia$/, "src/api/", "keep HTTP in api/"],
  [/^@modelcontextprotocol\//, "src/mcp/", "keep MCP in mcp/"],
  [/^@fastify\/busboy$/, "src/api/multipart.ts", "read forms through multipart.ts"],
  [/^unpdf/, "src/documents/pdf/pdfjs", "go through openPdf"],
  [/^utif2$/, "src/documents/pictures/tiff.ts", "go through openTiff"],
  [/^(postal-mime|@kenjiuno\/msgreader)$/, "src/documents/containers/", "go through readMail and readMsg"],
  [/^yaml$/, "src/documents/yaml/", "go through yamlText"],
  [/^htmlparser2$/, "src/documents/", "keep it in documents/"],
  [/^ignore$/, "src/cli/folder/walk.ts", "use filesIn"],
  [/^numfmt$/, "src/documents/office/xlsx-numbers.ts", "use what xlsx-numbers.ts exports"],
  [/^tar-stream$/, "src/adapters/installation/unpack.ts", "use unpackArchive"],
  [/^@huggingface\/tokenizers$/, "src/tokenizers/hub.ts", "use loadTokenizer"],
  [/^pino$/, "src/kit/log.ts", "take a Log as parameter"],
];

/** Most statements of the stores that one database may have in its own folder. */
const STATEMENTS_MAX = 30;
/** Files in the folders of the databases that are not stores of record: files, connections, texts, nodes, copies. */
const STORED_OTHERWISE =
  /\/(migration|open|connections|client|closing|layout|page-|wal|checkpoints|restoring|copies\/|coordination|shared-|texts|text-|publication)|\/database\.ts$/;

interface ForbiddenPattern {
  readonly pattern: RegExp;
  readonly files: readonly SourceFile[];
  /** Paths, or beginnings of paths, where the pattern is allowed. */
  readonly allowed: readonly string[];
  readonly fix: string;
}

/** The entry of `mneme bench`, and the only file outside src/ that a file of src/ imports. */
const BENCH_COMMAND = "bench/command/command.ts";
const ENTRIES = [
  ...["main.ts", "binary/entry.ts", "binary/build.ts", "binary/onnxruntime-binding.ts"],
  ...["binary/mcpb.ts", "binary/mcpb-entry.ts"],
].map((name) => `src/${name}`);
/** What the program consists of: src/, and the part of bench/ that `mneme bench` runs. */
const program = reachedFrom(ENTRIES);

const typescript = [...src, ...browser, ...tests, ...benches, ...nativeScripts, ...clients, ...scripts];
const FORBIDDEN_PATTERNS: readonly ForbiddenPattern[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    files: typescript,
    allowed: ["src/kit/clock.ts", "sdk/typescript/src/webhook.ts", `${BROWSER}core/clock.ts`],
    fix: "take a Clock (kit/clock.ts) as a parameter; use performance.now() to measure durations",
  },
  {
    pattern: /\bconsole\.\w+\(/,
    files: [...src, ...browser],
    allowed: [],
    fix: "log with kit/log.ts; commands write to process.stdout",
  },
  {
    pattern: /instanceof Error \? (\w+)\.message : (String\()?\1\b/,
    files: [...src, ...benches, ...scripts],
    allowed: ["src/kit/error-message.ts"],
    fix: "use errorMessage (kit/error-message.ts)",
  },
  {
    pattern: /1 \/ \(1 \+ Math\.exp\(/,
    files: [...src, ...benches],
    allowed: ["src/kit/logistic.ts"],
    fix: "use probabilityOf (kit/logistic.ts)",
  },
  {
    pattern: /\bSQL\b.* from "bun"|\bBun\.SQL\b/,
    files: src,
    allowed: ["src/stores/postgres/client.ts"],
    fix: "run statements on a Session (stores/session.ts)",
  },
  {
    pattern: /\bMath\.random\(/,
    files: typescript,
    allowed: [],
    fix: "crypto.getRandomValues in src, a seeded generator in tests and benches",
  },
  {
    pattern: /\bprocess\.exit\(/,
    files: src,
    allowed: ["src/main.ts", "src/binary/", "src/cli/", "src/children/"],
    fix: "throw an error; only entry points end the process",
  },
  {
    pattern: /\bBun\.sleep\(|\bsetTimeout\(\s*(resolve|done)\b/,
    files: tests,
    allowed: ["test/support/until.ts"],
    fix: "wait for a condition with until() (test/support/until.ts)",
  },
  {
    pattern: /^ *\}, [\d_]{4,}\);|(?<!context\.)\bsetDefaultTimeout\(/,
    files: tests,
    allowed: [],
    fix: "leave the time limit to test/run.ts, so that no test depends on how busy the machine is",
  },
  {
    pattern: /\bcatch\s*(\(\w*\)\s*)?\{\s*\}|\.catch\(\(\w*\)\s*=>\s*(\{\s*\}|undefined|null)\)/,
    files: typescript,
    allowed: [],
    fix: "handle the error, or return a value and explain in a comment why continuing is right",
  },
];

/** Public names that no code of src/ or native/ uses, each with the reason why it exists. */
const USED_FROM_OUTSIDE: Readonly<Record<string, string>> = {
  initOrt: "onnxruntime-node calls it in the installed program (src/binary/build.ts)",
  settingsMarkdown: "test/cli/config.test.ts generates docs/configuration.md with it",
  "SlidingWindow.keysHeld": "tests observe the bound on memory with it",
};

describe("house rules", () => {
  test("modules import only the modules that MODULE_IMPORTS allows", () => {
    const problems = src.flatMap((file) =>
      importsOf(file).flatMap(({ line, path, isDynamic }) => {
        if (path === null || !path.startsWith("src/")) return [];
        const [from, to] = [moduleOf(file.path), moduleOf(path)];
        if (from === to || (to === "domain" && from !== "kit") || to === "kit") return [];
        // the entry point of child processes loads the code of each kind of child; no other file of children/ may
        const isChildEntry = file.path === "src/children/entry.ts" && isDynamic;
        const allowed = from === "children" && !isChildEntry ? [] : (MODULE_IMPORTS[from] ?? []);
        return allowed.includes(to) || allowed.includes(to.split("/")[0] ?? "")
          ? []
          : [`${file.path}:${line}: ${from} must not import ${path}; move the code, or pass it in from src/compose`];
      }),
    );
    expect(problems).toEqual([]);
  });

  test("src knows bench at the command alone, and the program has no code of tests", () => {
    const outside = src.flatMap((file) =>
      importsOf(file).flatMap(({ line, path }) =>
        path === null || !/^(bench|test)\//.test(path) || (file.path === "src/cli/run.ts" && path === BENCH_COMMAND)
          ? []
          : [`${file.path}:${line}: must not import ${path}; move the code to src/`],
      ),
    );
    const foreign = [...program].filter((path) => path.startsWith("test/"));
    expect([
      ...outside,
      ...foreign.map((path) => `${path} is in the program; move what mneme bench needs to bench/`),
    ]).toEqual([]);
  });

  test("every module is listed in MODULE_IMPORTS", () => {
    const unknown = new Set(
      src.map(({ path }) => moduleOf(path)).filter((module) => !Object.hasOwn(MODULE_IMPORTS, module)),
    );
    expect(
      [...unknown].map((module) => `src/${module}: list its allowed imports in MODULE_IMPORTS (test/tidy.test.ts)`),
    ).toEqual([]);
  });

  test("each package in PACKAGE_OWNERS is imported only by its owner", () => {
    const problems = src.flatMap((file) =>
      importsOf(file).flatMap(({ line, specifier }) =>
        // binary/ puts native packages into the program
        PACKAGE_OWNERS.filter(
          ([pattern, owner]) =>
            pattern.test(specifier) && moduleOf(file.path) !== "binary" && !file.path.startsWith(owner),
        ).map(([, owner, fix]) => `${file.path}:${line}: only ${owner} may import ${specifier}; ${fix}`),
      ),
    );
    expect(problems).toEqual([]);
  });

  test("relative imports name the file with its extension", () => {
    const problems = typescript.flatMap((file) =>
      importsOf(file)
        .filter(({ path }) => path !== null && !/\.(tsx?|js|json|jsonl|txt|tsv|css)$/.test(path))
        .map(({ line, specifier }) => `${file.path}:${line}: add the file extension to ${specifier}`),
    );
    expect(problems).toEqual([]);
  });

  for (const { pattern, files, allowed, fix } of FORBIDDEN_PATTERNS) {
    test(`code does not contain ${pattern.source}`, () => {
      const problems = files
        .filter(({ path }) => !allowed.some((place) => path.startsWith(place)))
        .flatMap((file) =>
          codeLines(file).flatMap((line, at) => (pattern.test(line) ? [`${file.path}:${at + 1}: ${fix}`] : [])),
        );
      expect(problems).toEqual([]);
    });
  }

  test("no comment disables a check or postpones work", () => {
    const pattern = new RegExp(
      ["@ts-" + "ignore", "@ts-" + "nocheck", "\\bTO" + "DO\\b", "\\bFIX" + "ME\\b"].join("|"),
    );
    const problems = [...typescript, ...rust].flatMap((file) =>
      file.lines.flatMap((line, at) =>
        pattern.test(line) ? [`${file.path}:${at + 1}: fix it now, or create an issue`] : [],
      ),
    );
    expect(problems).toEqual([]);
  });

  test("the sentences of invariants do not say that it is a bug in Mneme: `invariant` adds that", () => {
    const pattern = /\binvariant\([^;]*?["`][^"`;]*; this is a bug/g;
    const problems = src.flatMap((file) =>
      [...file.text.matchAll(pattern)].map(({ index }) => `${file.path}:${lineAt(file, index)}: end with the fact`),
    );
    expect(problems).toEqual([]);
  });

  test("every file begins with a comment about its purpose", () => {
    const problems = [...typescript, ...rust]
      .filter(({ lines }) => !/^(\/\/|#!)/.test(lines[0] ?? ""))
      .map(
        ({ path }) =>
          `${path}: begin with two or three comment lines: what the file does, what it leaves to which other file`,
      );
    expect(problems).toEqual([]);
  });

  test("every export has a docstring", () => {
    const declaration =
      /^export (default |declare |abstract |async )*(function|class|interface|type(?! [*{])|const|let|enum)\b/;
    const problems = [...src, ...browser, ...benches, ...clients].flatMap((file) =>
      file.lines.flatMap((line, at) => {
        const previous = file.lines[at - 1]?.trimEnd() ?? "";
        const isDocumented = previous.endsWith("*/");
        return declaration.test(line) && !isDocumented
          ? [`${file.path}:${at + 1}: add a docstring above ${line.slice(0, 60)}`]
          : [];
      }),
    );
    expect(problems).toEqual([]);
  });

  test("every file is reachable from an entry point", () => {
    const dead = src
      .filter(({ path }) => !program.has(path) && !path.endsWith(".d.ts"))
      .map(({ path }) => `${path}: no file imports it; remove it`);
    const shown = reachedFrom([`${BROWSER}main.tsx`]);
    const hidden = browser
      .filter(({ path }) => !shown.has(path) && !path.endsWith(".d.ts"))
      .map(({ path }) => `${path}: the page does not load it; remove it`);
    const started = [...tests, ...benches].filter(
      ({ path }) => !/\/(support|lib|command|contract|in-memory)\//.test(path),
    );
    const reached = reachedFrom([...ENTRIES, ...scripts.map(({ path }) => path), ...started.map(({ path }) => path)]);
    const unused = [...tests, ...benches]
      .filter(({ path }) => !reached.has(path))
      .map(({ path }) => `${path}: no test or bench uses it; remove it`);
    expect([...dead, ...hidden, ...unused]).toEqual([]);
  });

  test("test/durations.json has every file of tests, so that the slowest start first", () => {
    const { files } = JSON.parse(readFileSync(join(ROOT, "test/durations.json"), "utf8")) as { readonly files: object };
    const paths = tests.map(({ path }) => path).filter((path) => path.endsWith(".test.ts"));
    const missing = paths.filter((path) => !Object.hasOwn(files, path));
    const gone = Object.keys(files).filter((path) => !paths.includes(path));
    expect([
      ...missing.map((path) => `${path}: run MNEME_TEST_DURATIONS=1 npx -y bun run test ${path}`),
      ...gone.map((path) => `${path} does not exist; remove its line`),
    ]).toEqual([]);
  });

  test("every public item has a caller", () => {
    const shipped = benches.filter(({ path }) => program.has(path));
    const unused = [
      ...unusedInTypescript(src, [...nativeScripts, ...shipped]),
      ...unusedInTypescript(benches, src),
      ...unusedInRust(rust.filter(isProduction), [...src, ...shipped]),
    ];
    const problems = unused
      .filter(({ name }) => !Object.hasOwn(USED_FROM_OUTSIDE, name))
      .map(({ path, line, name }) => `${path}:${line}: nothing but tests uses ${name}; remove it`);
    expect(problems).toEqual([]);
    const names = new Set(unused.map(({ name }) => name));
    const outdated = Object.keys(USED_FROM_OUTSIDE).filter((name) => !names.has(name));
    expect(outdated.map((name) => `${name} has a caller; remove it from USED_FROM_OUTSIDE`)).toEqual([]);
  });

  test("a store runs the same statements on both databases, except for few", () => {
    const [sqlite, postgres] = ["sqlite", "postgres"].map((database) =>
      src.filter(({ path }) => path.startsWith(`src/stores/${database}/`) && !STORED_OTHERWISE.test(path)),
    );
    const ofSqlite = new Set(sqlite?.flatMap(statementsOf));
    const ofPostgres = new Set(postgres?.flatMap(statementsOf));
    const same = [...ofSqlite].filter((statement) => ofPostgres.has(statement));
    expect(same.map((statement) => `write it once, in src/stores/: ${statement}`)).toEqual([]);
    expect(ofSqlite.size).toBeGreaterThan(0);
    expect([ofSqlite.size <= STATEMENTS_MAX, ofPostgres.size <= STATEMENTS_MAX]).toEqual([true, true]);
  });

  test("there are no import cycles", () => {
    const uses = rustGraph(rust);
    const cycles = [
      typescriptGraph([...src, ...benches]),
      typescriptGraph(browser),
      typescriptGraph(clients),
      uses,
      grouped(uses, rustModuleOf),
    ].flatMap(cyclesIn);
    expect(cycles.map((cycle) => `${cycle}: move the shared code into a file of its own`)).toEqual([]);
  });

  test.each(Object.entries(PAGE_BYTES_MAX))("%s stays short", (name, bytesMax) => {
    const page = pages.find(({ path }) => path === name);
    expect(Buffer.byteLength(page?.text ?? "")).toBeWithin(1, bytesMax + 1);
  });

  test("comments and pages keep to the formatter's line width", () => {
    // rows of tables in comments may be longer than the limit
    const isComment = (line: string) => /^\s*(\/\/|\/\*|\*)/.test(line) && !/^\s*(\/\/[/!]?|\*) *\|/.test(line);
    const isAny = () => true;
    const problems = [
      ...[...typescript, ...rust]
        .filter(({ path }) => path !== GENERATED)
        .map(({ path, lines }) => ({ path, lines, isBound: isComment })),
      ...pages.map((page) => ({ path: page.path, lines: proseLines(page), isBound: isAny })),
    ].flatMap(({ path, lines, isBound }) =>
      lines.flatMap((line, at) =>
        line.length > COLUMNS_MAX && isBound(line)
          ? [`${path}:${at + 1}: ${line.length} columns; wrap it at ${COLUMNS_MAX}`]
          : [],
      ),
    );
    expect(problems).toEqual([]);
  });

  // a guard against files that nobody reads to the end, not a length to aim for
  test("no source file is too long", () => {
    const problems = [
      ...[...src, ...clients]
        .filter(({ path, lines }) => path !== GENERATED && lines.length > 800)
        .map(({ path, lines }) => [path, lines.length]),
      ...rust.filter(({ lines }) => lines.length > 1_200).map(({ path, lines }) => [path, lines.length]),
    ].map(([path, length]) => `${path}: ${length} lines; it probably has several subjects: give each a file`);
    expect(problems).toEqual([]);
  });
});

describe("Rust rules", () => {
  const code = rust.filter(isProduction).map((file) => ({
    path: file.path,
    lines: productionLines(file),
  }));
  const find = (pattern: RegExp, fix: string, allowed = "") =>
    code
      .filter(({ path }) => allowed === "" || !path.startsWith(allowed))
      .flatMap(({ path, lines }) =>
        lines.flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}: ${fix}`] : [])),
      );

  test("failures are handled or documented as invariants", () => {
    expect(find(/\.unwrap\(\)/, "return an error, or use expect() with the invariant as a sentence")).toEqual([]);
  });

  test("only one module uses Node-API", () => {
    expect(find(/\bnapi\b/, "move it to native/src/bindings", "native/src/bindings/")).toEqual([]);
  });
});

describe("the checks themselves", () => {
  const file = (path: string, text: string): SourceFile => ({ path, text, lines: text.split("\n") });

  test("find a cycle of TypeScript files", () => {
    const files = [
      file("src/a.ts", 'import type { B } from "./b.ts";'),
      file("src/b.ts", 'export { a } from "./c.ts";'),
      file("src/c.ts", 'const a = await import("./a.ts");'),
      file("src/d.ts", 'import "./a.ts";'),
    ];
    expect(cyclesIn(typescriptGraph(files))).toEqual(["src/a.ts → src/b.ts → src/c.ts → src/a.ts"]);
  });

  test("find a cycle of Rust modules, also through a re-export, and none in a facade", () => {
    const files = [
      file("native/src/lib.rs", "mod a;\nmod b;"),
      file("native/src/a.rs", "use crate::b::{Deep, other::Thing};"),
      file("native/src/b/mod.rs", "mod deep;\npub(crate) use deep::Deep;"),
      file("native/src/b/deep.rs", "fn f() { super::super::a::g() }\n#[cfg(test)]\nmod tests {\n  use super::*;\n}"),
    ];
    expect(cyclesIn(rustGraph(files))).toEqual(["native/src/a.rs → native/src/b/deep.rs → native/src/a.rs"]);
    const modules = grouped(rustGraph(files), rustModuleOf);
    expect(cyclesIn(modules)).toEqual(["native/src/a → native/src/b → native/src/a"]);
  });

  test("find unused exports and methods, however often they call themselves", () => {
    const files = [
      file("src/a.ts", "export function used() {}\nexport function unused(): void {\n  unused();\n}"),
      file(
        "src/b.ts",
        "export class B {\n  called() {}\n  idle() {\n    this.inner.idle();\n  }\n}\nused();\nnew B().called();",
      ),
    ];
    expect(unusedInTypescript(files).map(({ name, line }) => [name, line])).toEqual([
      ["unused", 2],
      ["B.idle", 3],
    ]);
  });

  test("find unused items of Rust, and exported functions that TypeScript does not call", () => {
    const files = [
      file("native/src/a.rs", "pub fn used() {}\npub struct Unused;\nimpl Unused {}\npub fn only_tested() {}"),
      file(
        "native/src/b.rs",
        "#[napi]\npub fn make_it() { used() }\n#[napi]\npub fn forgotten() {}\n#[cfg(test)]\nmod tests {\n  only_tested();\n}",
      ),
    ];
    const callers = [file("src/a.ts", "addon.makeIt();")];
    expect(unusedInRust(files, callers).map(({ name }) => name)).toEqual(["Unused", "only_tested", "forgotten"]);
  });
});

describe("pages", () => {
  test("links and paths refer to existing files and headings", () => {
    const problems = pages.flatMap((page) => [...deadLinks(page), ...deadPaths(page)]);
    expect(problems).toEqual([]);
  });

  test("every section of docs/measurements.md names what it explains in the code", () => {
    const [, ...sections] = sourceFile("docs/measurements.md").text.split(/^#{2,3} /m);
    const problems = sections.flatMap((section) => {
      const [title = "", ...rest] = section.trim().split("\n");
      const body = rest.join("\n").trim();
      // a heading of others, and the page's own introduction
      if (body === "" || title === "How to read this page") return [];
      const explained = /^Explains ([\s\S]*?)\.\n\n/.exec(body)?.[1]?.replace(/\s+/g, " ");
      if (explained === undefined) return [`${title}: begin with "Explains \`NAME\` in \`FILE\`."`];
      return explained.split("; ").flatMap((part) => {
        const [names = "", path = ""] = part.split(" in `");
        const file = path.replace(/`$/, "");
        if (!existsSync(join(ROOT, file))) return [`${title}: ${file} does not exist`];
        const { text } = sourceFile(file);
        return [...names.matchAll(/`(\w+)`/g)].flatMap(([, name = ""]) =>
          new RegExp(`\\b${name}\\b`).test(text)
            ? []
            : [`${title}: ${file} has no ${name}; name its successor, or remove the section`],
        );
      });
    });
    expect(problems).toEqual([]);
  });
});

describe("what is published", () => {
  test("no file names a private host or folder", () => {
    // split up, so that this file passes its own test
    const places = [
      [".lib", "rary"],
      ["/work", "/"],
      ["spec/api-", "decisions.md"],
    ].map((pieces) => pieces.join(""));
    const privateHost = /https?:\/\/(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|[a-z0-9.-]+\.(internal|lan|corp)\b)/;
    const problems = sourceFiles(".").flatMap((file) =>
      file.lines.flatMap((line, at) =>
        places.some((place) => line.includes(place)) || (privateHost.test(line) && !file.path.startsWith("test/"))
          ? [`${file.path}:${at + 1}: remove the private name: ${line.trim().slice(0, 80)}`]
          : [],
      ),
    );
    expect(problems).toEqual([]);
  });

  test("no dependency compiles or downloads anything when it is installed", () => {
    // Without this list, Bun runs the scripts of packages that it knows: one compiled SQLite for over a minute.
    expect(JSON.parse(sourceFile("package.json").text).trustedDependencies).toEqual([]);
  });

  test("lock files refer only to public registries", () => {
    const registries = {
      "bun.lock": /https?:\/\/(?!registry\.npmjs\.org)/,
      "docs/site/bun.lock": /https?:\/\/(?!registry\.npmjs\.org)/,
      "native/Cargo.lock": /registry\+(?!https:\/\/github\.com\/rust-lang\/crates\.io-index)/,
    };
    const problems = Object.entries(registries).flatMap(([path, foreign]) =>
      existsSync(join(ROOT, path)) && foreign.test(sourceFile(path).text)
        ? [`${path}: create the lock file with the public registry`]
        : [],
    );
    expect(problems).toEqual([]);
  });
});

// The TypeScript files that some files import, directly or not, and those files themselves.
function reachedFrom(entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const visit = (path: string) => {
    if (reached.has(path) || !/\.tsx?$/.test(path) || !existsSync(join(ROOT, path))) return;
    reached.add(path);
    for (const { path: next } of importsOf(sourceFile(path))) if (next !== null) visit(next);
  };
  entries.forEach(visit);
  return reached;
}

// The statements of SQL in a file, without differences in white space.
function statementsOf(file: SourceFile): readonly string[] {
  const sql = /(["`])\s*((?:SELECT|INSERT|UPDATE|DELETE|WITH)\b(?:(?!\1)[\s\S])*)\1/g;
  return [...codeLines(file).join("\n").matchAll(sql)].map(([, , statement = ""]) => statement.replace(/\s+/g, " "));
}

function isProduction({ path }: SourceFile): boolean {
  return !/\/(tests?|testing)\b/.test(path);
}

// `src/a/b.ts` is in module `a`, `src/main.ts` in `main.ts`, `src/adapters/a/b.ts` in `adapters/a`.
function moduleOf(path: string): string {
  const [, module = "", adapter = ""] = path.split("/");
  return module === "adapters" ? `adapters/${adapter}` : module;
}

// Returns the lines of a page. Lines that cannot be wrapped are replaced by empty ones: tables, code, and web addresses
// that fill a line.
function proseLines(page: SourceFile): readonly string[] {
  let isCode = false;
  return page.lines.map((line) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    return isCode || /^\s*\|/.test(line) || /^\S*https?:\S+$/.test(line.trim()) ? "" : line;
  });
}

function deadLinks(page: SourceFile): string[] {
  return [...page.text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap((match) => {
    const target = match[1] ?? "";
    if (/^(https?:|mailto:)/.test(target)) return [];
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? page.path : normalize(join(dirname(page.path), file));
    const where = `${page.path}:${lineAt(page, match.index)}`;
    if (!existsSync(join(ROOT, path))) return [`${where}: ${target} does not exist; fix the link`];
    if (anchor === undefined || !path.endsWith(".md")) return [];
    return anchorsOf(sourceFile(path)).includes(anchor)
      ? []
      : [`${where}: ${path} has no heading #${anchor}; fix the link`];
  });
}

// Finds paths in backticks that do not exist, if they begin with a folder of the repository. Patterns and placeholders
// are skipped.
function deadPaths(page: SourceFile): string[] {
  return [...page.text.matchAll(/`((?:src|test|native|bench|data\/models|\.ci)\/[\w./-]*)`/g)].flatMap((match) => {
    const path = match[1] ?? "";
    return existsSync(join(ROOT, path))
      ? []
      : [`${page.path}:${lineAt(page, match.index)}: ${path} does not exist; name its replacement`];
  });
}

function anchorsOf(page: SourceFile): string[] {
  return page.lines
    .filter((line) => /^#+ /.test(line))
    .map((line) =>
      line
        .replace(/^#+ /, "")
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s-]/gu, "")
        .trim()
        .replace(/\s/g, "-"),
    );
}
