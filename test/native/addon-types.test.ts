// Tests that the committed TypeScript types of the native core are up to date with its Rust sources.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { addonTypes } from "../../native/types.ts";
import { nativeTypesPath } from "../../src/adapters/native/library.ts";
import { ROOT } from "../support/sources.ts";

test("addon-types.ts is what native/types.ts generates for these sources", () => {
  const committed = readFileSync(join(ROOT, "src/adapters/native/addon-types.ts"), "utf8");
  expect(committed).toBe(addonTypes(readFileSync(nativeTypesPath(), "utf8")));
});

test("a member of each kind is turned into its TypeScript form", () => {
  const item = (kind: string, name: string, def: string) =>
    JSON.stringify({ kind, name, js_doc: `/** ${name}. */\n`, def });
  const types = addonTypes(
    [
      item("struct", "Box", ""),
      item("impl", "Box", "/** Empty. */\nconstructor()\nstatic open(path: string): Box"),
      item("impl", "Box", "/**\n * Two\n * lines.\n */\n get size(): number\n names(): Array<string | null>"),
      item("fn", "fill", "function fill(lists: Array<Array<string>>): Promise<undefined>"),
      item("interface", "Hit", "key: bigint"),
    ].join("\n"),
  );
  expect(types.split("\n").slice(2)).toEqual([
    "/** What the native core exports. */",
    "export interface NativeAddon {",
    "  /** Box. */",
    "  readonly Box: {",
    "    /** Empty. */",
    "    new (): Box;",
    "    open(path: string): Box;",
    "  };",
    "  /** fill. */",
    "  fill(lists: readonly (readonly string[])[]): Promise<void>;",
    "}",
    "",
    "/** Box. */",
    "export interface Box {",
    "  /**",
    "   * Two",
    "   * lines.",
    "   */",
    "  readonly size: number;",
    "  names(): readonly (string | null)[];",
    "}",
    "",
    "/** Hit. */",
    "export interface Hit {",
    "  readonly key: bigint;",
    "}",
    "",
  ]);
});
