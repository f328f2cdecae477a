// Reads source code: the text as it is, and where functions, classes and other definitions begin. They are found by the
// forms of their first lines, without a grammar (docs/decisions/088-more-formats.md).

import type { CodeLanguage } from "../../domain/source-code.ts";
import type { PlaceMark } from "../document.ts";

/** Maximum length of a line that may begin a definition, in UTF-16 code units. Longer ones are generated. */
const LINE_UNITS_MAX = 400;
/** Maximum number of definitions of a file. */
const DEFINITIONS_MAX = 50_000;
/** Maximum length of the qualified name of a definition, in UTF-16 code units. Longer ones are cut. */
const SYMBOL_UNITS_MAX = 120;

const MODIFIERS =
  "(?:(?:export|default|declare|abstract|public|private|protected|internal|static|final|sealed|partial|override|virtual|async|open|data|inline|suspend|unsafe|extern|const|readonly|synchronized|native|pub(?:\\([^)]{1,40}\\))?|@\\w+)\\s+)*";
const NAME = "([\\p{L}_$][\\p{L}\\p{N}_$]*)";
/** Words that begin a statement or a call. A line that begins with one is no definition. */
const STATEMENTS =
  /^(?:if|for|while|switch|catch|return|else|do|try|with|throw|new|await|yield|case|using|lock|foreach|typeof|sizeof|delete|in|of|not|and|or|elif|when|unless|until|match|super|this|function|print|assert)$/;

const CLASSES = pattern(
  `${MODIFIERS}(?:class|interface|enum|struct|record|object|trait|protocol|extension|namespace|module|union)\\s+${NAME}`,
);
/** `int add(int a, int b) {`, and the same with the brace on the next line. */
const TYPED_FUNCTION = pattern(
  `${MODIFIERS}(?:[\\p{L}_][\\p{L}\\p{N}_<>,.?:\\[\\]*& ]{0,120}?[\\s*&])?(~?[\\p{L}_$][\\p{L}\\p{N}_$]*(?:::~?[\\p{L}_][\\p{L}\\p{N}_]*)*)\\s*\\([^;={}]{0,300}(?:\\)[^;={}]{0,120}(?:\\{.*)?|,)$`,
);

/** `async load(path) {` in a class or an object. */
const JAVASCRIPT_METHOD = pattern(
  `${MODIFIERS}(?:(?:get|set)\\s+)?\\*?(#?[\\p{L}_$][\\p{L}\\p{N}_$]*)\\s*(?:<.{0,80}>)?\\([^;]{0,300}\\)\\s*(?::[^{;]{1,200})?\\{$`,
);

/** Patterns whose first group is the name of a definition. */
const DEFINITIONS: Readonly<Record<CodeLanguage, readonly RegExp[]>> = {
  python: [pattern(`(?:async\\s+)?def\\s+${NAME}`), pattern(`class\\s+${NAME}`)],
  javascript: [
    pattern(`${MODIFIERS}function\\s*\\*?\\s*${NAME}`),
    CLASSES,
    pattern(`${MODIFIERS}type\\s+${NAME}\\s*(?:<.{0,120}>)?\\s*=`),
    pattern(
      `(?:export\\s+)?(?:const|let|var)\\s+${NAME}\\s*(?::.{0,200})?=\\s*(?:async\\s*)?(?:function\\b|\\(.{0,300}(?:=>|,$|\\($)|\\($|[\\w$]+\\s*=>)`,
    ),
    JAVASCRIPT_METHOD,
  ],
  go: [
    pattern(`func\\s+(?:\\([^)]{0,120}\\)\\s*)?${NAME}`),
    pattern(`type\\s+${NAME}\\s+(?:struct|interface|func|map|=|\\w)`),
  ],
  rust: [
    pattern(`${MODIFIERS}(?:fn|struct|enum|trait|mod|type|union)\\s+${NAME}`),
    pattern(`(?:unsafe\\s+)?impl(?:<.{0,120}>)?\\s+(?:[\\p{L}\\p{N}_:<>, ]{1,120}\\s+for\\s+)?${NAME}`),
    pattern(`macro_rules!\\s+${NAME}`),
  ],
  java: [
    CLASSES,
    pattern(`${MODIFIERS}(?:fun|func|def|init|typealias)\\s+(?:<.{0,80}>\\s*)?(?:[\\p{L}\\p{N}_<>]{1,60}\\.)?${NAME}`),
    TYPED_FUNCTION,
  ],
  c: [
    CLASSES,
    pattern(`#define\\s+${NAME}\\(`),
    pattern(`typedef\\s.{0,120}\\b${NAME};$`),
    pattern(`@(?:interface|implementation|protocol)\\s+${NAME}`),
    pattern(`[-+]\\s*\\([^)]{1,80}\\)\\s*${NAME}`),
    TYPED_FUNCTION,
  ],
  php: [CLASSES, pattern(`${MODIFIERS}function\\s+&?${NAME}`)],
  ruby: [
    pattern(`def\\s+((?:self\\.)?[\\p{L}_][\\p{L}\\p{N}_]*[?!=]?)`),
    pattern(`(?:class|module)\\s+([\\p{Lu}][\\p{L}\\p{N}_:]*)`),
  ],
  shell: [
    pattern(`(?:function\\s+)?([\\p{L}_][\\p{L}\\p{N}_:-]*)\\s*\\(\\)\\s*\\{?`),
    pattern("function\\s+([\\p{L}_][\\p{L}\\p{N}_:-]*)"),
    pattern(":([\\p{L}_][\\p{L}\\p{N}_]*)$"),
  ],
  sql: [
    pattern(
      '(?:create|alter)\\s+(?:or\\s+replace\\s+)?(?:temp(?:orary)?\\s+|unique\\s+|materialized\\s+|unlogged\\s+)*(?:table|view|function|procedure|trigger|index|type|schema|sequence|database|policy|role)\\s+(?:if\\s+not\\s+exists\\s+)?([\\p{L}_"`\\[][\\p{L}\\p{N}_."`\\[\\]$]*)',
    ),
  ],
  lua: [
    pattern("(?:local\\s+)?function\\s+([\\p{L}_][\\p{L}\\p{N}_.:]*)"),
    pattern("(?:local\\s+)?([\\p{L}_][\\p{L}\\p{N}_.]*)\\s*=\\s*function\\b"),
  ],
  perl: [pattern(`sub\\s+${NAME}`), pattern("package\\s+([\\p{L}_][\\p{L}\\p{N}_:]*)")],
  r: [pattern("([\\p{L}_.][\\p{L}\\p{N}_.]*)\\s*(?:<-|=)\\s*function\\b")],
  julia: [
    pattern("(?:function|macro)\\s+([\\p{L}_][\\p{L}\\p{N}_.!]*)"),
    pattern(`(?:mutable\\s+)?(?:struct|module|abstract\\s+type)\\s+${NAME}`),
  ],
  elixir: [
    pattern("(?:defp?|defmacrop?|defmodule|defprotocol|defimpl)\\s+([\\p{L}_][\\p{L}\\p{N}_.?!]*)"),
    pattern("([\\p{Ll}][\\p{L}\\p{N}_]*)\\(.{0,200}\\)\\s*(?:when\\b.{0,200})?->$"),
  ],
  haskell: [
    pattern("([\\p{Ll}_][\\p{L}\\p{N}_']*)\\s*::"),
    pattern(`(?:data|newtype|type|class|instance|module|let rec|let)\\s+(?:rec\\s+)?${NAME}`),
  ],
  lisp: [
    pattern("\\((?:defn-?|defun|defmacro|defmethod|defclass|defstruct|def|define|ns)\\s+\\(?([^\\s()\\[\\]]{1,80})"),
  ],
  zig: [
    pattern(`${MODIFIERS}(?:fn|proc|func|iterator|template|macro|method)\\s+${NAME}`),
    pattern(`${MODIFIERS}const\\s+${NAME}\\s*=\\s*(?:packed\\s+|extern\\s+)?(?:struct|enum|union)`),
  ],
  basic: [
    pattern(
      `(?:(?:public|private|friend|protected|shared|static)\\s+)*(?:sub|function|procedure|class|module|structure|property|type)\\s+(?:get\\s+|let\\s+|set\\s+)?${NAME}`,
    ),
  ],
  schema: [
    pattern(
      `(?:message|service|rpc|enum|type|input|interface|union|scalar|struct|exception|model|fragment|query|mutation|extend\\s+type)\\s+${NAME}`,
    ),
    pattern('(?:resource|data)\\s+"[^"]{1,80}"\\s+"([^"]{1,80})"'),
    pattern('(?:variable|output|module|provider)\\s+"([^"]{1,80})"'),
  ],
  style: [pattern("@(?:mixin|function|keyframes)\\s+([\\p{L}_-][\\p{L}\\p{N}_-]*)")],
  settings: [pattern("\\[+([^\\[\\]]{1,120})\\]+\\s*$"), pattern("([\\p{L}_.%][\\p{L}\\p{N}_./%-]*)\\s*:(?![=:])")],
};

function pattern(source: string): RegExp {
  return new RegExp(`^${source}`, "iu");
}

/** A definition that lines may belong to. */
interface OpenDefinition {
  readonly symbol: string;
  readonly indent: number;
}

/**
 * The text of a source file, and a mark for each definition: at the comment or annotation above it, else at its first
 * line. The text after the end of a definition belongs to the definition around it. Takes linear time.
 */
export function codeText(
  text: string,
  language: CodeLanguage,
): { readonly pieces: readonly string[]; readonly marks: readonly PlaceMark[] } {
  const marks: PlaceMark[] = [];
  const open: OpenDefinition[] = [];
  /** Where the comments and annotations directly above the current line begin. */
  let leadAt: number | null = null;
  /** Quotation mark of the docstring that the current line is in; null outside of docstrings. */
  let openQuote: string | null = null;
  for (let at = 0; at < text.length && marks.length < DEFINITIONS_MAX; ) {
    const feed = text.indexOf("\n", at);
    const end = feed === -1 ? text.length : feed;
    const start = at;
    at = end + 1;
    const line = text.slice(start, Math.min(end, start + LINE_UNITS_MAX)).trimEnd();
    const trimmed = line.trimStart();
    if (trimmed === "") {
      leadAt = null;
      continue;
    }
    const isInDocstring = openQuote !== null;
    openQuote = docstringMark(trimmed, openQuote, language);
    if (isInDocstring) continue;
    if (isLead(trimmed)) {
      leadAt ??= start;
      continue;
    }
    const indent = line.length - trimmed.length;
    const isClosing = /^(?:[)\]}]|end\b|\{$)/.test(trimmed);
    const symbol = end - start > LINE_UNITS_MAX ? null : symbolOf(trimmed, language, indent);
    const outer = open.findLast((definition) => definition.indent < indent) ?? null;
    const wasWithin = open.length;
    if (!isClosing) while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
    if (symbol !== null) {
      const qualified = (outer === null ? symbol : `${outer.symbol}.${symbol}`).slice(0, SYMBOL_UNITS_MAX);
      open.push({ symbol: qualified, indent });
      marks.push({ at: leadAt ?? start, symbol: qualified });
    } else if (open.length < wasWithin) {
      const around = open.at(-1)?.symbol;
      marks.push({ at: leadAt ?? start, ...(around !== undefined && { symbol: around }) });
    }
    leadAt = null;
  }
  return { pieces: [text], marks };
}

/** Whether a line is a comment, annotation or attribute, which belongs to what follows. */
function isLead(line: string): boolean {
  return /^(?:\/\/|\/\*|\*(?:\s|\/|\*|$)|#(?!define\b|include\b|if|endif|else|pragma\b)|--|;;|@\w|\[\w.*\]$|<!--|%{2}|"{3}|'{3})/.test(
    line,
  );
}

/**
 * The quotation mark of the docstring that is still open after this line; null if none is. No line inside a docstring
 * is a definition.
 */
function docstringMark(line: string, open: string | null, language: CodeLanguage): string | null {
  if (language !== "python") return null;
  const mark = open ?? /"""|'''/.exec(line)?.[0] ?? null;
  if (mark === null) return null;
  const count = line.split(mark).length - 1;
  return count % 2 === 1 ? (open === null ? mark : null) : open;
}

function symbolOf(line: string, language: CodeLanguage, indent: number): string | null {
  for (const definition of DEFINITIONS[language]) {
    const name = definition
      .exec(line)?.[1]
      ?.replace(/["`[\]]/g, "")
      .trim();
    if (name === undefined || name === "" || STATEMENTS.test(name)) continue;
    const isMethod = definition === TYPED_FUNCTION || definition === JAVASCRIPT_METHOD;
    // a call looks like a method, but begins with the word of a statement or is indented deeper than members of a class
    if (isMethod && (STATEMENTS.test(/^[\p{L}_$]+/u.exec(line)?.[0] ?? "") || indent > 16)) continue;
    if (definition === TYPED_FUNCTION && language === "c" && indent > 4) continue;
    return name;
  }
  return null;
}
