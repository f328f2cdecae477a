// Which files are source code, by the extensions of their names.

/** Languages and formats by extension. Their files are plain texts whose lines are not prose. */
const LANGUAGES = {
  python: "py pyi pyw",
  javascript: "js mjs cjs jsx ts mts cts tsx vue svelte",
  go: "go",
  rust: "rs",
  java: "java kt kts scala groovy gradle cs swift dart",
  c: "c h cc cpp cxx hpp hh hxx m mm ino cu",
  php: "php",
  ruby: "rb rake gemspec",
  shell: "sh bash zsh fish ps1 psm1 bat cmd",
  sql: "sql",
  lua: "lua",
  perl: "pl pm",
  r: "r",
  julia: "jl",
  elixir: "ex exs erl",
  haskell: "hs elm ml mli fs fsx",
  lisp: "clj cljs lisp el scm rkt",
  zig: "zig nim",
  basic: "vb vbs bas pas",
  schema: "proto graphql gql thrift tf hcl prisma",
  style: "css scss sass less",
  settings: "toml ini cfg conf properties env editorconfig dockerfile makefile mk cmake",
} as const;

/** A language, or a family of languages whose definitions are written alike. */
export type CodeLanguage = keyof typeof LANGUAGES;

const BY_EXTENSION: ReadonlyMap<string, CodeLanguage> = new Map(
  Object.entries(LANGUAGES).flatMap(([language, extensions]) =>
    extensions.split(" ").map((extension) => [extension, language as CodeLanguage] as const),
  ),
);
/** Extensions of source code, in lower case and without the dot. */
export const CODE_EXTENSIONS: readonly string[] = [...BY_EXTENSION.keys()];

/** The language of a file with source code; null if its name is not that of one. */
export function codeLanguageOf(filename: string): CodeLanguage | null {
  const last = filename.toLowerCase().split(".").at(-1) ?? "";
  return BY_EXTENSION.get(last) ?? null;
}
