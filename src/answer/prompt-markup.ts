// The elements that separate the parts of a prompt, and the neutralisation of untrusted text, which defends against
// prompt injection. Element names are fixed; any text that looks like one is rewritten, so that a stored text can
// neither close its element nor open another one.

import { withoutCitations } from "./citation-marks.ts";

/** Names of the elements of a prompt. */
export type PromptElement = "sources" | "document" | "source" | "question" | "instructions" | "conversation" | "turn";

/** `<name attribute="value">`. Attributes without a value are left out. This function neutralises the values. */
export function opening(
  name: PromptElement,
  attributes: Readonly<Record<string, string | number | null>> = {},
): string {
  const pairs = Object.entries(attributes).flatMap(([attribute, value]) =>
    value === null || value === ""
      ? []
      : [` ${attribute}="${typeof value === "number" ? value : attributeText(value)}"`],
  );
  return `<${name}${pairs.join("")}>`;
}

/** `</name>` */
export function closing(name: PromptElement): string {
  return `</${name}>`;
}

/** An element with tags on lines of their own. `text` must be neutralised. */
export function element(name: PromptElement, text: string, attributes: Parameters<typeof opening>[1] = {}): string {
  return `${opening(name, attributes)}\n${text}\n${closing(name)}`;
}

/** Maximum length of an attribute value, in Unicode code points. */
const ATTRIBUTE_CHARACTERS_MAX = 160;

/**
 * Neutralises untrusted text, so that it can be put into an element. The text stays readable. Everything that looks
 * like prompt markup, a chat template or a citation is written with round brackets: `(/source)`, `(|im_start|)`,
 * `(INST)`, `(Human):`, `(3)`. Invisible characters are removed: control characters except `\n` and `\t`, direction
 * marks, zero-width characters (except joiners that a script or an emoji needs), Unicode tags, and variation selectors
 * other than those of emoji. Linear in the text.
 */
export function neutralise(text: string): string {
  const plain = withoutTemplates(visibleText(text));
  return withoutCitations(ANGLE_HINT.test(plain) ? withoutTags(plain) : plain);
}

/**
 * The text without invisible characters, except `\n`, `\t`, joiners and emoji selectors. Decides on each character
 * alone, so that a text can be processed in parts.
 */
export function withoutInvisible(text: string): string {
  return VISIBLE_ASCII.test(text) ? text : text.replace(INVISIBLE, (found) => (KEPT.has(found) ? found : ""));
}

/** An attribute value: neutralised, on one line, without quotation marks and angle brackets, shortened with `…`. */
function attributeText(text: string): string {
  const line = neutralise(text)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/["“”„]/g, "'")
    .replace(/[<＜]/g, "‹")
    .replace(/[>＞]/g, "›");
  const characters = line.length <= ATTRIBUTE_CHARACTERS_MAX ? [] : [...line];
  if (characters.length <= ATTRIBUTE_CHARACTERS_MAX) return line;
  return `${characters.slice(0, ATTRIBUTE_CHARACTERS_MAX).join("").trimEnd()}…`;
}

// ---- invisible characters

const LINE_BREAK = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
const BLANK_LINES = /\n(?:[ \t]*\n){2,}/g;
/** A text of printable ASCII, as most English texts are. It does not need the slower patterns. */
const VISIBLE_ASCII = /^[\n\t\x20-\x7e]*$/;
const INVISIBLE = /[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
/**
 * Invisible characters that are kept: line breaks, tabs, emoji selectors, and joiners, which are handled separately.
 */
const KEPT: ReadonlySet<string> = new Set(["\n", "\t", "\u200c", "\u200d", "\ufe0e", "\ufe0f"]);
/** Joiners behind characters that do not need one. Characters of Persian, of Indic scripts and emoji need them. */
const UNNEEDED_JOINER =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|\p{Mn}|\p{Mc}|\p{scx=Arabic}|\p{scx=Syriac}|\p{scx=Mongolian})(?:\u200c|\u200d)+/gu;

function visibleText(text: string): string {
  const kept = withoutInvisible(text.toWellFormed().replace(LINE_BREAK, "\n")).replace(BLANK_LINES, "\n\n");
  return /\u200c|\u200d/.test(kept) ? kept.replace(UNNEEDED_JOINER, "") : kept;
}

// ---- lookalikes of markup

const ANGLE_OPENING = "(?:[<＜﹤‹〈〈⟨˂ᐸ❮❬]|&[lL][tT];|&#0*60;|&#[xX]0*3[cC];)";
const ANGLE_CLOSING = "(?:[>＞﹥›〉〉⟩˃ᐳ❯❭]|&[gG][tT];|&#0*62;|&#[xX]0*3[eE];)";
/** Characters that show whether a text may have an opening angle bracket: each form of the bracket contains one. */
const ANGLE_HINT = /[<＜﹤‹〈〈⟨˂ᐸ❮❬&]/;
/**
 * A tag: `<`, optional characters before the name (in a lookahead, which prevents backtracking), the name, and the rest
 * up to `>`.
 */
const TAG_LIKE = new RegExp(
  `(${ANGLE_OPENING}{1,8})(?=([\\s/／⁄∕\\\\!?|｜]*))\\2([\\p{L}\\p{M}\\p{N}_▁-]{1,40})` +
    `([^<＜﹤‹〈〈⟨˂ᐸ❮❬>＞﹥›〉〉⟩˃ᐳ❯❭&\\n]{0,160}${ANGLE_CLOSING}+)?`,
  "gu",
);
const ANGLE_OPENINGS = new RegExp(ANGLE_OPENING, "gu");
const ANGLE_CLOSINGS = new RegExp(ANGLE_CLOSING, "gu");
/** Names of elements: those of our prompts, those of chat templates, and others with a special meaning for models. */
const ELEMENT_NAMES: ReadonlySet<string> = new Set(
  (
    "sources document documents source question questions instruction instructions conversation turn context rules system user " +
    "assistant human developer tool tools s bos eos pad unk inst sys think thinking reasoning startofturn endofturn " +
    "beginoftext endoftext startheaderid endheaderid eotid imstart imend functioncall functioncalls functionresults invoke " +
    "parameter toolcall toolcalls toolresponse toolresult toolresults answer citation citations prompt systemprompt message " +
    "messages history reminder systemreminder admin policy search searchresults result results"
  ).split(" "),
);
const TEMPLATE_TAG =
  /[[［]([\s/／]*(?:inst|sys|system|system[ _]prompt|system[ _]message|user|assistant|available[ _]tools|tool[ _]calls?|tool[ _]results?)\s*)[\]］]/giu;
/** A speaker's name at the beginning of a line, before a colon. */
const SPEAKER = /^([ \t>*_#-]*)([\p{L}\p{M}]{2,12})(?=[*_ \t]*[:：])/gmu;
const SPEAKERS: ReadonlySet<string> = new Set(["human", "assistant", "system", "user", "developer", "tool"]);
const TEMPLATE_HEADING =
  /^([ \t]*#{1,6}[ \t]*(?:new |system |user )?(?:instructions?|response|input|system|human|assistant|user|prompt)(?:[ \t]*[:：])?)[ \t]*$/gimu;

function withoutTags(text: string): string {
  return text.replace(
    TAG_LIKE,
    (found: string, brackets: string, lead: string, name: string, rest: string | undefined) => {
      if (!/[|｜]/.test(lead) && !ELEMENT_NAMES.has(folded(name))) return found;
      return `${roundBrackets(brackets)}${lead}${name}${rest === undefined ? "" : roundBrackets(rest)}`;
    },
  );
}

function withoutTemplates(text: string): string {
  return text
    .replace(TEMPLATE_TAG, "($1)")
    .replace(SPEAKER, (found: string, lead: string, name: string) =>
      SPEAKERS.has(folded(name)) ? `${lead}(${name})` : found,
    )
    .replace(TEMPLATE_HEADING, "($1)");
}

function roundBrackets(text: string): string {
  return text.replace(ANGLE_OPENINGS, "(").replace(ANGLE_CLOSINGS, ")");
}

/**
 * Letters that look like Latin ones although NFKD does not map them to Latin letters, as pairs of letter and Latin
 * letter.
 */
const LOOKALIKES = new Map(
  "аa сc еe оo рp хx уy іi јj ѕs ԁd һh кk мm тt вb нh оo ոn υu οo αa νv ιi κk ρp τt εe χx ԛq ԝw ɡg ıi"
    .split(" ")
    .map(([letter = "", latin = ""]) => [letter, latin]),
);

// A name without differences in case, width, accents, underscores and lookalike letters.
function folded(name: string): string {
  const lower = name.toLowerCase();
  if (/^[a-z]+$/.test(lower)) return lower;
  const bare = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\p{M}_▁-]/gu, "");
  return [...bare].map((letter) => LOOKALIKES.get(letter) ?? letter).join("");
}
