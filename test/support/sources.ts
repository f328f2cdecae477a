// Reads the project's source files for the tests of house rules: lines, imports, code without comments. Skips build
// outputs and data.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** The repository's root. */
export const ROOT = join(import.meta.dir, "../..");

/** A text file of the project. */
export interface SourceFile {
  /** Path from the repository's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
}

/** An import or re-export: static or dynamic, of values or types. */
export interface Import {
  /** Line number, from 1. */
  readonly line: number;
  /** The specifier as it is in the source. */
  readonly specifier: string;
  /** Path of the imported file from the repository's root; null for packages. */
  readonly path: string | null;
  /** Whether the import is dynamic: `import("…")`. */
  readonly isDynamic: boolean;
}

const LEFT_OUT = new Set(["node_modules", "target", "dist", ".git", "store", "scratch"]);
const BINARY = /\.(onnx|gz|png|jpe?g|ico|woff2?|node|so|pdf|docx|xlsx|pptx|zip)$/;

/** The text files below a folder, or the file itself, sorted by path. */
export function sourceFiles(under: string, extension = ""): readonly SourceFile[] {
  const files: SourceFile[] = [];
  const walk = (folder: string) => {
    for (const entry of readdirSync(join(ROOT, folder), { withFileTypes: true })) {
      const path = normalize(join(folder, entry.name));
      if (LEFT_OUT.has(entry.name)) continue;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile() && path.endsWith(extension) && !BINARY.test(path)) files.push(sourceFile(path));
    }
  };
  if (existsSync(join(ROOT, under))) walk(under);
  return files.sort((left, right) => (left.path < right.path ? -1 : 1));
}

/** One file by its path from the root. */
export function sourceFile(path: string): SourceFile {
  const text = readFileSync(join(ROOT, path), "utf8");
  return { path, text, lines: text.split("\n") };
}

/** Imports and re-exports of a TypeScript file. Comments that look like imports count as well. */
export function importsOf(file: SourceFile): readonly Import[] {
  const imports: Import[] = [];
  const pattern = /(?:\bfrom\s*|^import\s*|(\bimport\s*\(\s*))["']([^"'\n]+)["']/gm;
  for (const match of file.text.matchAll(pattern)) {
    const specifier = match[2] ?? "";
    imports.push({
      line: lineAt(file, match.index),
      specifier,
      path: specifier.startsWith(".") ? normalize(join(dirname(file.path), specifier)) : null,
      isDynamic: match[1] !== undefined,
    });
  }
  return imports;
}

/** Line (from 1) of a position in a file's text. */
export function lineAt(file: SourceFile, position: number): number {
  return file.text.slice(0, position).split("\n").length;
}

/** The lines of a file with comments and string contents blanked, so that text in them is not mistaken for code. */
export function codeLines(file: SourceFile): readonly string[] {
  const blank = (text: string) => text.replace(/[^\n]/g, " ");
  // strings come first in the pattern, because `//` inside a string does not start a comment
  const pattern = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g;
  return file.text.replace(pattern, blank).split("\n");
}

/** The code lines of a Rust file without its unit tests, which are at the end of the file. */
export function productionLines(file: SourceFile): readonly string[] {
  const tests = file.lines.findIndex(
    (line, at) => line === "#[cfg(test)]" && /^mod \w+ \{/.test(file.lines[at + 1] ?? ""),
  );
  return codeLines(file).slice(0, tests >>> 0);
}
