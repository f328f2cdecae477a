// Writes the TypeScript types of the native core, `src/adapters/native/addon-types.ts`: `bun native/types.ts`.
// The Rust compiler describes the exported items while `native/build.ts` builds; this file turns that into interfaces.

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nativeTypesPath } from "../src/adapters/native/library.ts";

const ROOT = join(import.meta.dir, "..");
const TARGET = join(ROOT, "src/adapters/native/addon-types.ts");

/** One exported item, as napi-derive describes it. */
interface Definition {
  readonly kind: "interface" | "struct" | "impl" | "fn";
  readonly name: string;
  readonly js_doc: string;
  readonly def: string;
}

/** A field, method or function: its docstring, which may be empty, and its signature. */
interface Member {
  readonly doc: string;
  readonly signature: string;
}

/** Returns the text of `addon-types.ts`. `descriptions` has the items of one build, one JSON object per line. */
export function addonTypes(descriptions: string): string {
  const definitions = descriptions
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Definition => JSON.parse(line))
    .sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
  const interfaces: string[] = [];
  const addon: Member[] = [];
  for (const { kind, name, js_doc: doc, def } of definitions) {
    if (kind === "interface") {
      const fields = members(def).map((field) => ({ ...field, signature: `readonly ${field.signature}` }));
      interfaces.push(interfaceText(name, doc, fields));
    } else if (kind === "struct") {
      const all = definitions.filter((other) => other.kind === "impl" && other.name === name);
      const { instance, ofClass } = classMembers(name, all.map((block) => block.def).join("\n"));
      interfaces.push(interfaceText(name, doc, instance));
      if (ofClass.length > 0) addon.push({ doc, signature: `readonly ${name}: { ${texts(ofClass)} }` });
    } else if (kind === "fn") {
      addon.push({ doc, signature: def.replace(/^function /, "") });
    }
  }
  const unformatted = [
    "// Types of the native core. Generated from `native/src/bindings/` by `bun native/types.ts`: do not edit.\n",
    interfaceText("NativeAddon", "/** What the native core exports. */\n", addon),
    ...interfaces,
  ].join("\n");
  return formatted(unformatted);
}

/**
 * Divides the members of a class: methods and getters of its objects, and constructor and static methods of the class.
 */
function classMembers(name: string, definition: string): { instance: Member[]; ofClass: Member[] } {
  const instance: Member[] = [];
  const ofClass: Member[] = [];
  for (const { doc, signature } of members(definition)) {
    if (signature.startsWith("constructor(")) {
      ofClass.push({ doc, signature: `new ${signature.slice("constructor".length)}: ${name}` });
    } else if (signature.startsWith("static ")) ofClass.push({ doc, signature: signature.slice("static ".length) });
    else if (signature.startsWith("get ")) {
      instance.push({ doc, signature: `readonly ${signature.slice("get ".length).replace("()", "")}` });
    } else instance.push({ doc, signature });
  }
  return { instance, ofClass };
}

/** Splits a definition into members. Each member is one line that follows the lines of its docstring. */
function members(definition: string): Member[] {
  const found: Member[] = [];
  let doc = "";
  for (const line of definition.split("\n").map((text) => text.trim())) {
    if (line === "") continue;
    if (line.startsWith("/**") || line.startsWith("*")) {
      doc += line.startsWith("*") ? ` ${line}\n` : `${line}\n`;
      continue;
    }
    found.push({ doc, signature: line });
    doc = "";
  }
  return found;
}

function interfaceText(name: string, doc: string, body: readonly Member[]): string {
  return `${doc}export interface ${name} { ${texts(body)} }\n`;
}

function texts(body: readonly Member[]): string {
  return body.map(({ doc, signature }) => `\n${doc}${readonlyArrays(signature)};`).join("");
}

/**
 * Makes array types readonly, because neither side changes an array of the other. Turns `Promise<undefined>` into
 * `Promise<void>`.
 */
function readonlyArrays(signature: string): string {
  const arrays = signature.replaceAll("Promise<undefined>", "Promise<void>");
  const innermost = /Array<([^<>]+)>/;
  let text = arrays;
  for (let match = innermost.exec(text); match !== null; match = innermost.exec(text)) {
    const element = match[1] ?? "";
    if (/\w$/.test(text.slice(0, match.index)))
      throw new Error(`an array type that this file does not know: ${signature}`);
    const array = element.includes(" ") ? `readonly (${element})[]` : `readonly ${element}[]`;
    text = text.slice(0, match.index) + array + text.slice(match.index + match[0].length);
  }
  return text;
}

function formatted(text: string): string {
  const biome = join(ROOT, "node_modules/.bin/biome");
  const run = spawnSync(biome, ["format", `--stdin-file-path=${TARGET}`], { cwd: ROOT, input: text, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`biome cannot format the types:\n${run.stderr}\n${text}`);
  return run.stdout;
}

if (import.meta.main) {
  writeFileSync(TARGET, addonTypes(readFileSync(nativeTypesPath(), "utf8")));
  console.error(`wrote ${TARGET}`);
}
