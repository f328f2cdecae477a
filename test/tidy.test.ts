// House rules of the repository that a machine can check. Each message says how to fix the problem. Rules of the
// formatter, linter and compiler (biome.json, tsconfig.json) are not repeated here.

import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
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

const src = sourceFiles("src", ".ts");
const tests = sourceFiles("test", ".ts");
const benches = sourceFiles("bench", ".ts");
const rust = sourceFiles("native", ".rs");
const nativeScripts = sourceFiles("native", ".ts");
const pages = sourceFiles(".", ".md");

/**
 * Modules of src/ that each module may import, besides itself, `domain` and `kit`. A module is a folder of src/, a
 * folder of src/adapters/, or a file directly in src/; `adapters` stands for all adapters. ARCHITECTURE.md describes
 * the modules.
 */
const MODULE_IMPORTS: Readonly<Record<string, readonly string[]>> = {
  "main.ts": ["cli"],
  binary: ["cli", "console", "adapters/native"],
  cli: ["config.ts", "compose", "local-accounts.ts", "children"],
  // each setting is parsed by the module that it belongs to
  "config.ts": ["account", "api", "webhooks", "adapters/inference", "adapters/outbound"],
  compose: [
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
  "local-accounts.ts": ["adapters/embedded", "api", "webhooks", "ports"],
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

/** Packages and runtime modules that only one file or folder may import. */
const PACKAGE_OWNERS: readonly (readonly [specifier: RegExp, owner: string, fix: string])[] = [
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

interface ForbiddenPattern {
  readonly pattern: RegExp;
  readonly files: readonly SourceFile[];
  /** Paths, or beginnings of paths, where the pattern is allowed. */
  readonly allowed: readonly string[];
  readonly fix: string;
}

const typescript = [...src, ...tests, ...benches, ...nativeScripts];
const FORBIDDEN_PATTERNS: readonly ForbiddenPattern[] = [
  {
    pattern: /\bDate\.now\(|\bnew Date\(\)/,
    files: typescript,
    allowed: ["src/kit/clock.ts"],
    fix: "take a Clock (kit/clock.ts) as a parameter; use performance.now() to measure durations",
  },
  {
    pattern: /\bconsole\.\w+\(/,
    files: src,
    allowed: [],
    fix: "log with kit/log.ts; commands write to process.stdout",
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
    pattern: /\bcatch\s*(\(\w*\)\s*)?\{\s*\}|\.catch\(\(\w*\)\s*=>\s*(\{\s*\}|undefined|null)\)/,
    files: typescript,
    allowed: [],
    fix: "handle the error, or return a value and explain in a comment why continuing is right",
  },
];

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
        // binary/ puts native packages into the single binary
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
        .filter(({ path }) => path !== null && !/\.(ts|json|txt)$/.test(path))
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
    const declaration = /^export (default |declare |abstract |async )*(function|class|interface|type|const|let|enum)\b/;
    const problems = src.flatMap((file) =>
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
      .map(({ path }) => `${path}: no file imports it; remove it`);
    const started = [...tests, ...benches].filter(({ path }) => !/\/(support|lib|contract)\//.test(path));
    for (const { path } of started) visit(path);
    const unused = [...tests, ...benches]
      .filter(({ path }) => !reached.has(path))
      .map(({ path }) => `${path}: no test or bench uses it; remove it`);
    expect([...dead, ...unused]).toEqual([]);
  });

  test("no source file is too long", () => {
    const problems = [
      ...src.filter(({ lines }) => lines.length > 500).map(({ path, lines }) => [path, lines.length]),
      ...rust.filter(({ lines }) => lines.length > 900).map(({ path, lines }) => [path, lines.length]),
    ].map(([path, length]) => `${path}: ${length} lines; split it by responsibility`);
    expect(problems).toEqual([]);
  });
});

describe("Rust rules", () => {
  const code = rust
    .filter(({ path }) => !/\/(tests?|testing)\b/.test(path))
    .map((file) => ({
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

  test("modules import each other without cycles", () => {
    for (const root of ["native/src/", "native/encoder/src/"]) {
      const files = code
        .filter(({ path }) => path.startsWith(root))
        .map((file) => ({ ...file, path: file.path.slice(root.length) }));
      const imports = rustImports(files);
      expect(cycleIn(imports)).toEqual([]);
      const folders = new Map<string, Set<string>>();
      for (const [module, targets] of imports) {
        const folder = folderOf(module);
        const others = [...targets].map(folderOf).filter((other) => other !== folder);
        folders.set(folder, new Set([...(folders.get(folder) ?? []), ...others]));
      }
      expect(cycleIn(folders)).toEqual([]);
    }
  });
});

describe("pages", () => {
  test("links and paths refer to existing files and headings", () => {
    const problems = pages.flatMap((page) => [...deadLinks(page), ...deadPaths(page)]);
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

  test("lock files refer only to public registries", () => {
    const registries = {
      "bun.lock": /https?:\/\/(?!registry\.npmjs\.org)/,
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

// `src/a/b.ts` is in module `a`, `src/main.ts` in `main.ts`, `src/adapters/a/b.ts` in `adapters/a`.
function moduleOf(path: string): string {
  const [, module = "", adapter = ""] = path.split("/");
  return module === "adapters" ? `adapters/${adapter}` : module;
}

// The modules that each module names by `crate::`, by file.
function rustImports(files: readonly { path: string; lines: readonly string[] }[]): Map<string, Set<string>> {
  const nameOf = (path: string) => path.replace(/(\/mod)?\.rs$/, "").replaceAll("/", "::");
  const modules = new Set(files.map(({ path }) => nameOf(path)));
  const moduleAt = (path: readonly string[]) =>
    path.map((_, at) => path.slice(0, path.length - at).join("::")).find((name) => modules.has(name));
  return new Map(
    files.map(({ path, lines }) => {
      const found = [...lines.join("\n").matchAll(/\bcrate::((?:\w+::)*)(?:\{([^}]*)\}|(\w+))/g)].flatMap(
        ([, before = "", group, single = ""]) =>
          (group ?? single).split(",").map((item) => moduleAt([...before.split("::").slice(0, -1), item.trim()])),
      );
      const targets = found.filter((name) => name !== undefined && name !== nameOf(path));
      return [nameOf(path), new Set(targets as string[])];
    }),
  );
}

const folderOf = (module: string) => module.split("::")[0] ?? "";

// The names along one cycle; none if there is no cycle.
function cycleIn(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const done = new Set<string>();
  const visit = (name: string, trail: readonly string[]): string[] => {
    if (trail.includes(name)) return [...trail.slice(trail.indexOf(name)), name];
    if (done.has(name)) return [];
    for (const next of imports.get(name) ?? []) {
      const cycle = visit(next, [...trail, name]);
      if (cycle.length > 0) return cycle;
    }
    done.add(name);
    return [];
  };
  for (const name of imports.keys()) {
    const cycle = visit(name, []);
    if (cycle.length > 0) return cycle;
  }
  return [];
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

// Missing paths among the texts in backticks that begin with a folder of the repository. Patterns and placeholders are
// skipped.
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
