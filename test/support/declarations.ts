// Finds public declarations of TypeScript and Rust files that no other code uses. Compares names only, without types:
// if several declarations have the same name and one of them is used, all count as used. Uses inside declarations of
// the same name do not count. A chain of methods with the same name that only delegate to each other is therefore
// unused if nothing else calls it.

import { codeLines, productionLines, type SourceFile } from "./sources.ts";

/** A public item and where it is declared. */
export interface Declaration {
  readonly path: string;
  /** Line number, from 1. */
  readonly line: number;
  readonly name: string;
}

interface Code {
  readonly path: string;
  readonly lines: readonly string[];
}

const WORD = /[\w$]+/g;
// use of a member: its name after a dot, or in an object pattern
const MEMBER_USE = /\.\s*#?([\w$]+)|[{,]\s*([\w$]+)\s*(?=[,}=])/g;
const EXPORT =
  /^export (?:default |abstract |async |declare )*(?:function\*?|class|interface|type|const|let|enum) ([\w$]+)/;
const OWNER = /^(?:export )?(?:abstract )?(?:class|interface) ([\w$]+)/;
// declaration of a member: a public method or getter of a class; a method, or a field with a function type, of an
// interface
const MEMBER =
  /^ {2}(?!private |protected |return |if |for |while |switch )(?:(?:static |async |override |get |readonly |public )*\*?([\w$]+)\??(?:<[^>]*>)?\(|(?:readonly )?([\w$]+)\??: \()/;
const RUST_ITEM =
  /^\s*(pub(?:\([\w\s:]+\))? )?(?:const |async |unsafe |extern "C" )*(?:fn|struct|enum|trait|type|const|static) (?:mut )?(\w+)/;

/**
 * Exported names, and public methods and getters of exported classes and interfaces, that neither `files` nor `callers`
 * use.
 */
export function unusedInTypescript(
  files: readonly SourceFile[],
  callers: readonly SourceFile[] = [],
): readonly Declaration[] {
  const code = files.map((file) => ({ path: file.path, lines: codeLines(file) }));
  const uses = [...code, ...callers.map((file) => ({ path: file.path, lines: codeLines(file) }))];
  const names = new UseCounts(uses, WORD, (line) => EXPORT.exec(line)?.[1]);
  const members = new UseCounts(uses, MEMBER_USE, memberOf);
  return code.flatMap(({ path, lines }) => {
    const unused: Declaration[] = [];
    let owner: string | null = null;
    for (const [at, line] of lines.entries()) {
      const exported = EXPORT.exec(line)?.[1];
      if (exported !== undefined && !names.isUsed(exported)) unused.push({ path, line: at + 1, name: exported });
      if (/^\S/.test(line)) owner = line.startsWith("export ") ? (OWNER.exec(line)?.[1] ?? null) : null;
      const member = owner === null ? undefined : memberOf(line);
      if (member !== undefined && !members.isUsed(member)) {
        unused.push({ path, line: at + 1, name: `${owner}.${member}` });
      }
    }
    return unused;
  });
}

/**
 * Items marked `pub` in Rust files that no other code of these files uses. Functions exported with `#[napi]` count as
 * used if TypeScript uses their name in camel case.
 */
export function unusedInRust(files: readonly SourceFile[], typescript: readonly SourceFile[]): readonly Declaration[] {
  const code = files.map((file) => ({ path: file.path, lines: productionLines(file) }));
  // the first line of an `impl` does not count as a use of the type that it names
  const bodies = code.map(({ path, lines }) => ({
    path,
    lines: lines.map((line) => (/^impl\b/.test(line) ? "" : line)),
  }));
  const names = new UseCounts(bodies, WORD, (line) => RUST_ITEM.exec(line)?.[2]);
  const scripts = typescript.map((file) => ({ path: file.path, lines: codeLines(file) }));
  const calls = new UseCounts(scripts, MEMBER_USE, memberOf);
  const isCalled = (name: string) => name === "new" || calls.isUsed(camelCase(name));
  const items = code.flatMap(({ path, lines }) =>
    lines.flatMap((line, at) => {
      const [, isPublic, name] = RUST_ITEM.exec(line) ?? [];
      const attributes = attributesOf(lines, at);
      if (isPublic === undefined || name === undefined || attributes.includes("#[cfg(test)]")) return [];
      const isExported = /\bfn\b/.test(line) && attributes.some((attribute) => attribute.startsWith("#[napi"));
      return [{ path, line: at + 1, name, isExported }];
    }),
  );
  // exported functions delegate to functions of the same name, which are used if the exported function is
  const called = new Set(items.filter(({ isExported, name }) => isExported && isCalled(name)).map(({ name }) => name));
  return items
    .filter(({ name, isExported }) => !called.has(name) && (isExported || !names.isUsed(name)))
    .map(({ path, line, name }) => ({ path, line, name }));
}

/** Counts how often each name is used outside of declarations with that name. */
class UseCounts {
  readonly #counts = new Map<string, number>();

  constructor(files: readonly Code[], uses: RegExp, declaredBy: (line: string) => string | undefined) {
    for (const { lines } of files) {
      const open: { readonly name: string; readonly end: number }[] = [];
      for (const [at, line] of lines.entries()) {
        while ((open.at(-1)?.end ?? Number.POSITIVE_INFINITY) <= at) open.pop();
        const declared = declaredBy(line);
        if (declared !== undefined) open.push({ name: declared, end: endOf(lines, at) });
        for (const [whole, first, second] of `${line}\n`.matchAll(uses)) {
          const name = first ?? second ?? whole;
          if (!open.some((declaration) => declaration.name === name)) this.#counts.set(name, this.#countOf(name) + 1);
        }
      }
    }
  }

  isUsed(name: string): boolean {
    return this.#countOf(name) > 0;
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}

function memberOf(line: string): string | undefined {
  const match = MEMBER.exec(line);
  const name = match?.[1] ?? match?.[2];
  return name === "constructor" ? undefined : name;
}

// The attributes directly above an item.
function attributesOf(lines: readonly string[], at: number): readonly string[] {
  const attributes: string[] = [];
  for (let above = at - 1; above >= 0; above--) {
    const line = lines[above]?.trim() ?? "";
    if (line.startsWith("#[")) attributes.push(line);
    else if (line !== "") break;
  }
  return attributes;
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

// Index of the line after the last line of a declaration. Indentation shows where the declaration ends.
function endOf(lines: readonly string[], start: number): number {
  const indent = indentOf(lines[start] ?? "");
  for (let at = start; at < lines.length; at++) {
    const line = (lines[at] ?? "").trimEnd();
    if (line === "") continue;
    if (at > start && indentOf(line) < indent) return at;
    const isAtDepth = at === start || (indentOf(line) === indent && /^\s*[\])}]/.test(line));
    if (isAtDepth && /[;}]$/.test(line)) return at + 1;
  }
  return lines.length;
}

function indentOf(line: string): number {
  return /^\s*/.exec(line)?.[0].length ?? 0;
}
