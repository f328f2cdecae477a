// The parts of the program that others made: npm packages, Rust crates, Bun and the models, with versions and licences.
// They are read from what is installed in this checkout by the lock files.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isRecord, type JsonRecord } from "../kit/record.ts";

const ROOT = join(import.meta.dir, "../..");
/** Names of files with licences and notices. */
const LICENCE_FILES = /^(licen[cs]es?|copying|notice|unlicense|third.?party.?notices?)([-_.].*)?$/i;
/** Maximum size of the output of `cargo metadata`, which has a few MB. */
const METADATA_BYTES_MAX = 256 * 1024 * 1024;
/** Target whose crates are listed. */
const RUST_TARGET = "x86_64-unknown-linux-gnu";

/** A part of the program. */
export interface Part {
  readonly kind: "package" | "crate" | "runtime" | "model" | "data";
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly licence: string;
  /** Address of the part in a package registry (Package URL), or null if it is in none. */
  readonly purl: string | null;
  /** Texts of licences and notices that come with the part. */
  readonly texts: readonly string[];
}

/**
 * All parts, in ascending order of kind and name.
 * @throws Error if the packages are not installed, or cargo cannot list the crates
 */
export async function partsOfProgram(): Promise<readonly Part[]> {
  const parts = [...packages(), ...crates(), ...models(), ...data(), bun(), ...linked()];
  const keyOf = ({ kind, name, version }: Part) => `${kind} ${name} ${version}`;
  return parts.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

/** The npm packages that package.json names as dependencies, their dependencies, and so on. */
function packages(): readonly Part[] {
  const found = new Map<string, Part>();
  const visit = (name: string, from: string, isOptional: boolean) => {
    const folder = packageFolder(name, from);
    if (folder === null) {
      if (isOptional) return; // for another platform
      throw new Error(`the package ${name} is not installed: npx -y bun run setup`);
    }
    if (found.has(folder)) return;
    const manifest = readJson(join(folder, "package.json"));
    const version = String(manifest.version);
    const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
    found.set(folder, { kind: "package", name, version, licence: licenceOf(manifest), purl, texts: textsIn(folder) });
    visitAll(manifest, folder);
  };
  const visitAll = (manifest: JsonRecord, folder: string) => {
    for (const field of ["dependencies", "optionalDependencies"]) {
      const names = manifest[field];
      for (const name of Object.keys(isRecord(names) ? names : {})) visit(name, folder, field !== "dependencies");
    }
  };
  visitAll(readJson(join(ROOT, "package.json")), ROOT);
  return [...found.values()];
}

/** Folder of an installed package as Node finds it: in the nearest `node_modules` above. */
function packageFolder(name: string, from: string): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if (existsSync(join(candidate, "package.json"))) return candidate;
    if (folder === ROOT || folder === dirname(folder)) return null;
  }
}

function licenceOf({ license }: JsonRecord): string {
  if (typeof license === "string") return license;
  return isRecord(license) && typeof license.type === "string" ? license.type : "see its licence text";
}

/** The Rust crates that are compiled into the native core. */
function crates(): readonly Part[] {
  const { status, stdout, stderr } = spawnSync(
    "cargo",
    ["metadata", "--format-version", "1", "--locked", "--filter-platform", RUST_TARGET],
    { cwd: join(ROOT, "native"), encoding: "utf8", maxBuffer: METADATA_BYTES_MAX },
  );
  if (status !== 0) throw new Error(`cargo metadata failed: ${stderr}`);
  const metadata = JSON.parse(stdout) as CargoMetadata;
  const byId = new Map(metadata.packages.map((each) => [each.id, each]));
  const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
  const linked = new Set<string>();
  const visit = (id: string) => {
    if (linked.has(id)) return;
    linked.add(id);
    const needed = nodes.get(id)?.deps.filter(({ dep_kinds }) => dep_kinds.some(({ kind }) => kind === null)) ?? [];
    for (const { pkg } of needed) visit(pkg);
  };
  for (const { id, name } of metadata.packages) if (name === "mneme-native") visit(id);
  return [...linked].flatMap((id) => {
    const crate = byId.get(id);
    if (crate === undefined || crate.source === null) return []; // a crate of this checkout
    const { name, version, license } = crate;
    const texts = textsIn(dirname(crate.manifest_path));
    const licence = license ?? "see its licence text";
    return [{ kind: "crate" as const, name, version, licence, purl: `pkg:cargo/${name}@${version}`, texts }];
  });
}

interface CargoMetadata {
  readonly packages: readonly {
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly license: string | null;
    readonly manifest_path: string;
    readonly source: string | null;
  }[];
  readonly resolve: {
    readonly nodes: readonly {
      readonly id: string;
      readonly deps: readonly {
        readonly pkg: string;
        readonly dep_kinds: readonly { readonly kind: string | null }[];
      }[];
    }[];
  };
}

/** The models in data/models/, with their cards. */
function models(): readonly Part[] {
  const folder = join(ROOT, "data/models");
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, "model.json")))
    .map((name) => {
      const manifest = readJson(join(folder, name, "model.json"));
      const card = readFileSync(join(folder, name, "MODEL_CARD.md"), "utf8");
      const version = String(manifest.sha256).slice(0, 12);
      return { kind: "model", name, version, licence: String(manifest.licence), purl: null, texts: [card] };
    });
}

/** Data that others made, in data/, which the program contains. */
function data(): readonly Part[] {
  return [
    { name: "judged", version: "claims and abstracts of SciFact", licence: "CC-BY-4.0 AND ODC-By-1.0" },
    { name: "cmaps", version: "Adobe character maps", licence: "BSD-3-Clause" },
    { name: "pdf-image-decoders", version: "pdf.js decoders", licence: "Apache-2.0 AND BSD-2-Clause" },
  ].map((part) => ({ kind: "data", ...part, purl: null, texts: textsIn(join(ROOT, "data", part.name)) }));
}

/** The runtime. Its npm package has no licence text. */
function bun(): Part {
  const notice =
    "Bun is under the MIT licence, Copyright (c) Jarred Sumner. It links JavaScriptCore and WebKit (LGPL-2.1), BoringSSL " +
    "and others; https://bun.com/docs/project/licensing lists them and says how to relink.";
  return {
    kind: "runtime",
    name: "bun",
    version: Bun.version,
    licence: "MIT AND LGPL-2.1-only",
    purl: `pkg:npm/bun@${Bun.version}`,
    texts: [notice],
  };
}

/** What the linker adds to the native core. */
function linked(): readonly Part[] {
  const { stdout } = spawnSync("rustc", ["--version"], { encoding: "utf8" });
  const rustc = /\d+\.\d+\.\d+/.exec(stdout ?? "")?.[0];
  if (rustc === undefined) throw new Error("rustc, which the native core was compiled with, was not found");
  const noticeOfRust =
    "Rust's standard library is under MIT or Apache-2.0, Copyright (c) The Rust Project Contributors. It contains " +
    "parts of LLVM's compiler-rt (Apache-2.0 with LLVM exceptions) and of others: https://www.rust-lang.org/policies/licenses";
  const noticeOfUnwinder =
    "The core of a release that Zig linked contains LLVM's libunwind, which is under Apache-2.0 with LLVM exceptions.";
  return [
    { name: "rust-std", version: rustc, licence: "MIT OR Apache-2.0", texts: [noticeOfRust] },
    { name: "libunwind", version: "of Zig", licence: "Apache-2.0 WITH LLVM-exception", texts: [noticeOfUnwinder] },
  ].map((part) => ({ kind: "runtime", purl: null, ...part }));
}

function textsIn(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && LICENCE_FILES.test(entry.name))
    .map(({ name }) => name)
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"));
}

function readJson(path: string): JsonRecord {
  const value: unknown = JSON.parse(readFileSync(path, "utf8"));
  if (!isRecord(value)) throw new Error(`${path} is not a JSON object`);
  return value;
}
