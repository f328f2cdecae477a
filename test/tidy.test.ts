// The house rules that a machine can check; each message names the cure. What formatter, linter and compiler check
// already (biome.json, tsconfig.json) is not repeated here.

import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { codeLines, importsOf, lineAt, ROOT, type SourceFile, sourceFile, sourceFiles } from "./support/sources.ts";

const src = sourceFiles("src", ".ts");
const tests = sourceFiles("test", ".ts");
const benches = sourceFiles("bench", ".ts");
const rust = sourceFiles("native", ".rs");
const nativeScripts = sourceFiles("native", ".ts");
const pages = sourceFiles(".", ".md");

/**
 * Which rooms of src/ a room may import, beside itself, `domain` and `kit`. Files at the top of src/ are rooms of their
 * own, and so is each adapter; `adapters` means all of them.
 * The reasons stand in ARCHITECTURE.md, "Rooms".
 */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
  "main.ts": ["cli"],
  binary: ["cli", "console", "adapters/native"],
  cli: ["config.ts", "compose.ts", "local-accounts.ts", "children"],
  // each setting is parsed by the room that it belongs to
  "config.ts": ["account", "api", "webhooks", "adapters/inference", "adapters/outbound"],
  "compose.ts": [
    "config.ts",
    "api",
    "console",
    "services",
    "account",
    "ingest",
    "webhooks",
    "adapters",
    "children",
    "ports",
  ],
  "local-accounts.ts": ["adapters/embedded", "api", "ports"],
  api: ["services", "answer", "account", "ports"],
  // its browser modules take their types from api/schema; no code of the server imports them
  console: [],
  services: ["retrieval", "answer", "account", "ports"],
  answer: ["retrieval", "account", "ports"],
  retrieval: ["ports"],
  account: ["ports"],
  ingest: ["account", "ports"],
  webhooks: ["ports"],
  documents: ["children", "ports"],
  preparation: ["children", "ports"],
  "adapters/embedded": ["adapters/native", "ports"],
  "adapters/inference": ["adapters/native", "children", "ports"],
  "adapters/native": [],
  "adapters/llm": ["adapters/outbound", "ports"],
  "adapters/outbound": ["ports"],
  "adapters/uploads": ["ports"],
  "adapters/documents": ["children", "documents", "ports"],
  "adapters/preparation": ["children", "preparation", "ports"],
  children: ["adapters", "documents", "preparation"],
  ports: [],
  domain: [],
  kit: [],
};

/** Foreign parts, and the one place that may know each. */
const SEAMS: readonly (readonly [foreign: RegExp, place: string, cure: string])[] = [
  [/^bun:sqlite$/, "src/adapters/embedded/sqlite/database.ts", "use what database.ts exports"],
  [/^@duckdb\//, "src/adapters/embedded/duckdb/", "go through the Archive"],
  [/^onnxruntime-/, "src/adapters/inference/onnxruntime-encoder.ts", "ask a lane (adapters/inference/lanes.ts)"],
  [/\.node$/, "src/adapters/native/addon.ts", "use what addon.ts exports"],
  [/^elysia$/, "src/api/", "keep HTTP in api/"],
  [/^@fastify\/busboy$/, "src/api/multipart.ts", "read forms through multipart.ts"],
  [/^unpdf/, "src/documents/pdf/pdfjs.ts", "go through openPdf"],
  [/^htmlparser2$/, "src/documents/", "keep it in documents/"],
  [/^pino$/, "src/kit/log.ts", "take a Log as parameter"],
];

interface Ban {
  readonly pattern: RegExp;
  readonly files: readonly SourceFile[];
  /** Paths (or beginnings of paths) where it is right. */
  readonly allowed: readonly string[];
  readonly cure: string;
}

const typescript = [...src, ...tests, ...benches, ...nativeScripts];
const BANS: readonly Ban[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    files: typescript,
    allowed: ["src/kit/clock.ts"],
    cure: "take a Clock (kit/clock.ts) as parameter; performance.now() measures durations",
  },
  {
    pattern: /\bconsole\.\w+\(/,
    files: src,
    allowed: [],
    cure: "log through kit/log.ts; commands write to process.stdout",
  },
  {
    pattern: /\bMath\.random\(/,
    files: typescript,
    allowed: [],
    cure: "crypto.getRandomValues in src, a seeded generator in tests and benches",
  },
  {
    pattern: /\bprocess\.exit\(/,
    files: src,
    allowed: ["src/main.ts", "src/binary/", "src/cli/", "src/children/"],
    cure: "throw; only the outermost file ends the process",
  },
  {
    pattern: /\bBun\.sleep\(|\bsetTimeout\(\s*(resolve|done)\b/,
    files: tests,
    allowed: ["test/support/until.ts"],
    cure: "wait for a condition with until() (test/support/until.ts)",
  },
  {
    pattern: /\bcatch\s*(\(\w*\)\s*)?\{\s*\}|\.catch\(\(\w*\)\s*=>\s*(\{\s*\}|undefined|null)\)/,
    files: typescript,
    allowed: [],
    cure: "handle it, or return a value and say in a comment why going on is right",
  },
];

describe("house rules", () => {
  test("imports follow the direction of the rooms", () => {
    const problems = src.flatMap((file) =>
      importsOf(file).flatMap(({ line, path, isDynamic }) => {
        if (path === null || !path.startsWith("src/")) return [];
        const [from, to] = [roomOf(file.path), roomOf(path)];
        if (from === to || (to === "domain" && from !== "kit") || to === "kit") return [];
        // the entry of the child processes loads what its kind of child runs, and nothing else of children/ knows it
        const isChildEntry = file.path === "src/children/entry.ts" && isDynamic;
        const allowed = from === "children" && !isChildEntry ? [] : (ROOMS[from] ?? []);
        return allowed.includes(to) || allowed.includes(to.split("/")[0] ?? "")
          ? []
          : [`${file.path}:${line}: ${from} may not import ${path}; move the code, or pass it in from compose.ts`];
      }),
    );
    expect(problems).toEqual([]);
  });

  test("every room is known", () => {
    const unknown = new Set(src.map(({ path }) => roomOf(path)).filter((room) => !Object.hasOwn(ROOMS, room)));
    expect([...unknown].map((room) => `src/${room}: name what it may import in ROOMS (test/tidy.test.ts)`)).toEqual([]);
  });

  test("each foreign part is known to one place", () => {
    const problems = src.flatMap((file) =>
      importsOf(file).flatMap(({ line, specifier }) =>
        // binary/ puts the foreign parts into the single file
        SEAMS.filter(
          ([foreign, place]) =>
            foreign.test(specifier) && roomOf(file.path) !== "binary" && !file.path.startsWith(place),
        ).map(([, place, cure]) => `${file.path}:${line}: only ${place} imports ${specifier}; ${cure}`),
      ),
    );
    expect(problems).toEqual([]);
  });

  test("relative imports name the file with its extension", () => {
    const problems = typescript.flatMap((file) =>
      importsOf(file)
        .filter(({ path }) => path !== null && !/\.(ts|json)$/.test(path))
        .map(({ line, specifier }) => `${file.path}:${line}: write the extension of ${specifier}`),
    );
    expect(problems).toEqual([]);
  });

  for (const { pattern, files, allowed, cure } of BANS) {
    test(`code does without ${pattern.source}`, () => {
      const problems = files
        .filter(({ path }) => !allowed.some((place) => path.startsWith(place)))
        .flatMap((file) =>
          codeLines(file).flatMap((line, at) => (pattern.test(line) ? [`${file.path}:${at + 1}: ${cure}`] : [])),
        );
      expect(problems).toEqual([]);
    });
  }

  test("no check is switched off and no work is put off in a comment", () => {
    const pattern = new RegExp(
      ["@ts-" + "ignore", "@ts-" + "nocheck", "\\bTO" + "DO\\b", "\\bFIX" + "ME\\b"].join("|"),
    );
    const problems = [...typescript, ...rust].flatMap((file) =>
      file.lines.flatMap((line, at) =>
        pattern.test(line) ? [`${file.path}:${at + 1}: do it now, or write it into an issue`] : [],
      ),
    );
    expect(problems).toEqual([]);
  });

  test("a file opens with what it answers", () => {
    const problems = [...typescript, ...rust]
      .filter(({ lines }) => !/^(\/\/|#!)/.test(lines[0] ?? ""))
      .map(({ path }) => `${path}: begin with two or three comment lines: what it answers, what it leaves to others`);
    expect(problems).toEqual([]);
  });

  test("every export has a docstring", () => {
    const declaration = /^export (default |declare |abstract |async )*(function|class|interface|type|const|let|enum)\b/;
    const problems = src.flatMap((file) =>
      file.lines.flatMap((line, at) => {
        const previous = file.lines[at - 1]?.trimEnd() ?? "";
        const isDocumented = previous.endsWith("*/");
        return declaration.test(line) && !isDocumented
          ? [`${file.path}:${at + 1}: put a docstring above ${line.slice(0, 60)}`]
          : [];
      }),
    );
    expect(problems).toEqual([]);
  });

  test("every file is reachable from an entry point", () => {
    const entries = ["src/main.ts", "src/binary/entry.ts", "src/binary/build.ts", "src/binary/onnxruntime-binding.ts"];
    const reached = new Set<string>();
    const visit = (path: string) => {
      if (reached.has(path) || !path.endsWith(".ts") || !existsSync(join(ROOT, path))) return;
      reached.add(path);
      for (const { path: next } of importsOf(sourceFile(path))) if (next !== null) visit(next);
    };
    entries.forEach(visit);
    const dead = src
      .filter(({ path }) => !reached.has(path))
      .map(({ path }) => `${path}: nothing imports it; remove it`);
    const started = [...tests, ...benches].filter(({ path }) => !/\/(support|lib|contract)\//.test(path));
    for (const { path } of started) visit(path);
    const unused = [...tests, ...benches]
      .filter(({ path }) => !reached.has(path))
      .map(({ path }) => `${path}: no test or bench uses it; remove it`);
    expect([...dead, ...unused]).toEqual([]);
  });

  test("no source file answers too many questions", () => {
    const problems = [
      ...src.filter(({ lines }) => lines.length > 500).map(({ path, lines }) => [path, lines.length]),
      ...rust.filter(({ lines }) => lines.length > 900).map(({ path, lines }) => [path, lines.length]),
    ].map(([path, length]) => `${path}: ${length} lines; split it where it answers two questions`);
    expect(problems).toEqual([]);
  });
});

describe("Rust rules", () => {
  const code = rust
    .filter(({ path }) => !/\/(tests?|testing)\b/.test(path))
    .map((file) => ({
      path: file.path,
      // a file's unit tests stand at its end
      lines: file.lines.slice(0, file.lines.findIndex((line) => line.includes("#[cfg(test)]")) >>> 0),
    }));
  const find = (pattern: RegExp, cure: string, allowed = "") =>
    code
      .filter(({ path }) => allowed === "" || !path.startsWith(allowed))
      .flatMap(({ path, lines }) =>
        lines.flatMap((line, at) => (pattern.test(line.replace(/\/\/.*/, "")) ? [`${path}:${at + 1}: ${cure}`] : [])),
      );

  test("failures are handled or stated as invariants", () => {
    expect(find(/\.unwrap\(\)/, "return an error, or expect() with the invariant as a sentence")).toEqual([]);
  });

  test("one module knows JavaScript", () => {
    expect(
      find(/\bnapi\b/, "move it to native/src/bindings; the core knows no JavaScript", "native/src/bindings/"),
    ).toEqual([]);
  });
});

describe("pages", () => {
  test("links and paths lead somewhere", () => {
    const problems = pages.flatMap((page) => [...deadLinks(page), ...deadPaths(page)]);
    expect(problems).toEqual([]);
  });
});

describe("what is published", () => {
  test("no file names a place that strangers do not have", () => {
    // in pieces, so that this file passes its own test
    const places = [
      [".lib", "rary"],
      ["/work", "/"],
      ["spec/api-", "decisions.md"],
    ].map((pieces) => pieces.join(""));
    const privateHost = /https?:\/\/(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|[a-z0-9.-]+\.(internal|lan|corp)\b)/;
    const problems = sourceFiles(".").flatMap((file) =>
      file.lines.flatMap((line, at) =>
        places.some((place) => line.includes(place)) || (privateHost.test(line) && !file.path.startsWith("test/"))
          ? [`${file.path}:${at + 1}: say it without the place: ${line.trim().slice(0, 80)}`]
          : [],
      ),
    );
    expect(problems).toEqual([]);
  });

  test("lock files name the public registries only", () => {
    const registries = {
      "bun.lock": /https?:\/\/(?!registry\.npmjs\.org)/,
      "native/Cargo.lock": /registry\+(?!https:\/\/github\.com\/rust-lang\/crates\.io-index)/,
    };
    const problems = Object.entries(registries).flatMap(([path, foreign]) =>
      existsSync(join(ROOT, path)) && foreign.test(sourceFile(path).text)
        ? [`${path}: lock it against the public registry`]
        : [],
    );
    expect(problems).toEqual([]);
  });
});

// `src/a/b.ts` is in room `a`, `src/main.ts` in `main.ts`, `src/adapters/a/b.ts` in `adapters/a`.
function roomOf(path: string): string {
  const [, room = "", adapter = ""] = path.split("/");
  return room === "adapters" ? `adapters/${adapter}` : room;
}

function deadLinks(page: SourceFile): string[] {
  return [...page.text.matchAll(/\]\(([^)\s]+)\)/g)].flatMap((match) => {
    const target = match[1] ?? "";
    if (/^(https?:|mailto:)/.test(target)) return [];
    const [file = "", anchor] = target.split("#");
    const path = file === "" ? page.path : normalize(join(dirname(page.path), file));
    const where = `${page.path}:${lineAt(page, match.index)}`;
    if (!existsSync(join(ROOT, path))) return [`${where}: ${target} is not there; mend the link`];
    if (anchor === undefined || !path.endsWith(".md")) return [];
    return anchorsOf(sourceFile(path)).includes(anchor)
      ? []
      : [`${where}: ${path} has no heading #${anchor}; mend the link`];
  });
}

// Paths in backticks that begin with one of our folders; patterns and placeholders are left alone.
function deadPaths(page: SourceFile): string[] {
  return [...page.text.matchAll(/`((?:src|test|native|bench|data\/models|\.ci)\/[\w./-]*)`/g)].flatMap((match) => {
    const path = match[1] ?? "";
    return existsSync(join(ROOT, path))
      ? []
      : [`${page.path}:${lineAt(page, match.index)}: ${path} is not there; name what took its place`];
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
