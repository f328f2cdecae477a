// The graph of imports between files, in TypeScript and in Rust, and its cycles.

import { dirname, join } from "node:path";
import { importsOf, productionLines, type SourceFile } from "./sources.ts";

/** Which nodes (paths) each node depends on. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** Imports among these TypeScript files, type-only and dynamic ones included. */
export function typescriptGraph(files: readonly SourceFile[]): Graph {
  const known = new Set(files.map(({ path }) => path));
  return new Map(
    files.map((file) => [
      file.path,
      new Set(importsOf(file).flatMap(({ path }) => (path !== null && known.has(path) ? [path] : []))),
    ]),
  );
}

/**
 * Dependencies among the files of Rust crates, without their unit tests. The use of a name that a `mod.rs` only
 * re-exports counts as a use of the file that defines the name.
 */
export function rustGraph(files: readonly SourceFile[]): Graph {
  const roots = files.filter(({ path }) => path.endsWith("src/lib.rs")).map(({ path }) => dirname(path));
  const crates = roots.map((root) => new RustCrate(root, files));
  return new Map(crates.flatMap((crate) => crate.edges()));
}

/** The graph whose nodes are the groups of nodes. Dependencies within a group are left out. */
export function grouped(graph: Graph, groupOf: (node: string) => string): Graph {
  const groups = new Map<string, Set<string>>();
  for (const [from, targets] of graph) {
    const group = groupOf(from);
    const merged = groups.get(group) ?? new Set<string>();
    groups.set(group, merged);
    for (const to of targets) if (groupOf(to) !== group) merged.add(groupOf(to));
  }
  return groups;
}

/** For each node that is in a cycle, one shortest cycle through the node, as `a → b → a`. Each cycle is listed once. */
export function cyclesIn(graph: Graph): readonly string[] {
  const cycles = new Map<string, string>();
  for (const start of [...graph.keys()].sort()) {
    const cycle = shortestCycle(graph, start);
    if (cycle === null) continue;
    const key = [...cycle].sort().join(" ");
    if (!cycles.has(key)) cycles.set(key, [...cycle, start].join(" → "));
  }
  return [...cycles.values()];
}

function shortestCycle(graph: Graph, start: string): readonly string[] | null {
  let paths: readonly (readonly string[])[] = [[start]];
  const reached = new Set<string>();
  while (paths.length > 0) {
    const longer: (readonly string[])[] = [];
    for (const path of paths) {
      for (const next of graph.get(path.at(-1) ?? "") ?? []) {
        if (next === start) return path;
        if (reached.has(next)) continue;
        reached.add(next);
        longer.push([...path, next]);
      }
    }
    paths = longer;
  }
  return null;
}

class RustCrate {
  /** Files by module path, such as `text::index` for `…/text/index.rs`. The path of the crate's root is empty. */
  readonly #files = new Map<string, SourceFile>();

  constructor(root: string, files: readonly SourceFile[]) {
    for (const file of files) {
      if (!file.path.startsWith(`${root}/`)) continue;
      const module = file.path.slice(root.length + 1).replace(/(^|\/)(mod|lib)?\.rs$|\.rs$/, "");
      this.#files.set(module.replaceAll("/", "::"), file);
    }
  }

  edges(): readonly (readonly [string, ReadonlySet<string>])[] {
    return [...this.#files].map(([module, file]) => {
      const targets = this.#usedPaths(module, file).flatMap((path) => this.#fileOf(path)?.path ?? []);
      return [file.path, new Set(targets.filter((path) => path !== file.path))] as const;
    });
  }

  // The absolute paths, without `crate`, that a file uses. Re-exports (`pub use`) do not count as uses, because a
  // module only re-exports names of the modules below it.
  #usedPaths(module: string, file: SourceFile): string[] {
    const code = productionLines(file).join("\n");
    const paths: string[] = [];
    const statements = /(pub(?:\([\w\s:]+\))?\s+)?\buse\s+([^;]+);/g;
    for (const [, isPublic, tree = ""] of code.matchAll(statements)) {
      if (isPublic !== undefined) continue;
      paths.push(...expandUseTree(tree.replace(/\s+/g, " ").trim()));
    }
    const inline = code.replace(statements, "").matchAll(/\b(?:crate|super|self)(?:::\w+)+/g);
    for (const [path] of inline) paths.push(path);
    return paths.flatMap((path) => absolutePath(path, module, this.#files) ?? []);
  }

  #fileOf(path: string, depth = 0): SourceFile | null {
    const parts = path.split("::").filter((part) => part !== "");
    for (let length = parts.length; length >= 0; length--) {
      const module = parts.slice(0, length).join("::");
      const file = this.#files.get(module);
      if (file === undefined) continue;
      const name = parts[length];
      if (name === undefined || depth > 5) return file;
      // if this module only re-exports the name, the file that defines the name is looked up
      const reexport = this.#reexports(module, file).find((used) => used.split("::").at(-1) === name);
      return reexport === undefined ? file : this.#fileOf(reexport, depth + 1);
    }
    return null;
  }

  #reexports(module: string, file: SourceFile): string[] {
    const code = productionLines(file).join("\n");
    return [...code.matchAll(/pub(?:\([\w\s:]+\))?\s+use\s+([^;]+);/g)]
      .flatMap(([, tree = ""]) => expandUseTree(tree.replace(/\s+/g, " ").trim()))
      .flatMap((path) => absolutePath(path, module, this.#files) ?? []);
  }
}

// Expands a use tree: `a::{b, c::{d, self}}` gives `a::b`, `a::c::d` and `a::c`.
function expandUseTree(tree: string): string[] {
  const open = tree.indexOf("{");
  if (open < 0) return [tree.replace(/\s+as\s+\w+$/, "").trim()];
  const prefix = tree.slice(0, open);
  const inner = tree.slice(open + 1, tree.lastIndexOf("}"));
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const character of inner) {
    if (character === "," && depth === 0) {
      parts.push(part);
      part = "";
      continue;
    }
    if (character === "{") depth++;
    if (character === "}") depth--;
    part += character;
  }
  parts.push(part);
  return parts
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .flatMap((text) => (text === "self" ? [prefix.replace(/::$/, "")] : expandUseTree(prefix + text)));
}

// Makes a path absolute. Returns null for paths of other crates. A path that begins with a module below the file's own
// module is relative.
function absolutePath(path: string, module: string, files: ReadonlyMap<string, SourceFile>): string | null {
  const [head = "", ...rest] = path.split("::");
  const own = module === "" ? [] : module.split("::");
  if (head === "crate") return rest.join("::");
  if (head === "self") return [...own, ...rest].join("::");
  if (head === "super") {
    let [up, left] = [own.slice(0, -1), rest];
    while (left[0] === "super") [up, left] = [up.slice(0, -1), left.slice(1)];
    return [...up, ...left].join("::");
  }
  const below = [...own, head].join("::");
  return files.has(below) ? [below, ...rest].join("::") : null;
}

/** The group of a Rust file in the import rules: its crate and first module, such as `native/src/text`. */
export function rustModuleOf(path: string): string {
  const [crate = "", inner = ""] = path.split("/src/");
  return join(crate, "src", inner.split("/")[0]?.replace(/\.rs$/, "") ?? "");
}
