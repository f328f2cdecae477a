// What holds a prompt's parts apart, and how text that others wrote is kept from looking like it. Marks are not random:
// what could be read as one is rewritten in every text, so that a stored text can neither close its element nor open
// another one.

import { withoutCitations } from "./citation-marks.ts";

/** What the parts of a prompt stand in. */
export type Mark = "sources" | "document" | "source" | "question" | "instructions" | "conversation" | "turn";

/** `<mark name="value">`; attributes without a value are left out. Values are made harmless here. */
export function opening(mark: Mark, attributes: Readonly<Record<string, string | number | null>> = {}): string {
  const pairs = Object.entries(attributes).flatMap(([name, value]) =>
    value === null || value === "" ? [] : [` ${name}="${typeof value === "number" ? value : attributeText(value)}"`],
  );
  return `<${mark}${pairs.join("")}>`;
}

/** `</mark>` */
export function closing(mark: Mark): string {
  return `</${mark}>`;
}

/** An element of its own lines; `text` must be harmless. */
export function element(mark: Mark, text: string, attributes: Parameters<typeof opening>[1] = {}): string {
  return `${opening(mark, attributes)}\n${text}\n${closing(mark)}`;
}

/** Characters of an attribute's value at most. */
const ATTRIBUTE_CHARACTERS_MAX = 160;

/**
 * A text as it may stand inside an element: readable, and nothing in it reads as a mark of the prompt, of a chat
 * template or of a citation; those have round brackets: `(/source)`, `(|im_start|)`, `(INST)`, `(Human):`, `(3)`. What
 * cannot be seen is gone: control characters but `\n` and `\t`, what turns the direction of writing, characters of no
 * width (but for joiners in scripts and emoji that need them), tags and selectors of Unicode. Linear.
 */
export function harmless(text: string): string {
  const plain = withoutTemplates(visible(text));
  return withoutCitations(ANGLE_HINT.test(plain) ? withoutTags(plain) : plain);
}

/**
 * The text without characters that cannot be seen, but for `\n`, `\t` and joiners. Of each character alone, so that
 * parts add up.
 */
export function withoutUnseen(text: string): string {
  return SEEN_ONLY.test(text) ? text : text.replace(UNSEEN, (found) => (KEPT.has(found) ? found : ""));
}

/**
 * A text on one line, as the value of an attribute: harmless, without quotation marks and angle brackets, cut with `…`.
 */
function attributeText(text: string): string {
  const line = harmless(text)
    .replace(/\s+/g, " ")
    .trim()
    .replace(/["“”„]/g, "'")
    .replace(/[<＜]/g, "‹")
    .replace(/[>＞]/g, "›");
  const characters = line.length <= ATTRIBUTE_CHARACTERS_MAX ? [] : [...line];
  if (characters.length <= ATTRIBUTE_CHARACTERS_MAX) return line;
  return `${characters.slice(0, ATTRIBUTE_CHARACTERS_MAX).join("").trimEnd()}…`;
}

// ---- what cannot be seen

const LINE_BREAK = /\r\n?|[\v\f\u0085\u2028\u2029]/g;
const BLANK_LINES = /\n(?:[ \t]*\n){2,}/g;
/** Most texts of English: none of what follows is to be looked for. */
const SEEN_ONLY = /^[\n\t\x20-\x7e]*$/;
const UNSEEN = /[\p{Cc}\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]/gu;
/** Of those: joiners, which are looked at apart, and the selectors of emoji. */
const KEPT: ReadonlySet<string> = new Set(["\n", "\t", "\u200c", "\u200d", "\ufe0e", "\ufe0f"]);
/** Joiners that nothing before them needs: Persian, Indic scripts and emoji do. */
const IDLE_JOINER =
  /(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|\p{Mn}|\p{Mc}|\p{scx=Arabic}|\p{scx=Syriac}|\p{scx=Mongolian})(?:\u200c|\u200d)+/gu;

function visible(text: string): string {
  const seen = withoutUnseen(text.toWellFormed().replace(LINE_BREAK, "\n")).replace(BLANK_LINES, "\n\n");
  return /\u200c|\u200d/.test(seen) ? seen.replace(IDLE_JOINER, "") : seen;
}

// ---- what looks like a mark

const ANGLE_OPENING = "(?:[<＜﹤‹〈〈⟨˂ᐸ❮❬]|&[lL][tT];|&#0*60;|&#[xX]0*3[cC];)";
const ANGLE_CLOSING = "(?:[>＞﹥›〉〉⟩˃ᐳ❯❭]|&[gG][tT];|&#0*62;|&#[xX]0*3[eE];)";
/** A text without any of these has no opening. */
const ANGLE_HINT = /[<＜﹤‹〈〈⟨˂ᐸ❮❬&]/;
/**
 * `<`, what may stand before a name (in a lookahead, so that it is read once), the name, and what follows as far as
 * `>`.
 */
const TAG_LIKE = new RegExp(
  `(${ANGLE_OPENING}{1,8})(?=([\\s/／⁄∕\\\\!?|｜]*))\\2([\\p{L}\\p{M}\\p{N}_▁-]{1,40})` +
    `([^<＜﹤‹〈〈⟨˂ᐸ❮❬>＞﹥›〉〉⟩˃ᐳ❯❭&\\n]{0,160}${ANGLE_CLOSING}+)?`,
  "gu",
);
const ANGLE_OPENINGS = new RegExp(ANGLE_OPENING, "gu");
const ANGLE_CLOSINGS = new RegExp(ANGLE_CLOSING, "gu");
/** Names of elements: ours, those of chat templates, and those that models were trained to take for more than text. */
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
/** A name at the beginning of a line, before a colon. */
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

/** Letters of other scripts that look like Latin ones, where NFKC does not make them so, each with that one. */
const LOOKALIKES = new Map(
  "аa сc еe оo рp хx уy іi јj ѕs ԁd һh кk мm тt вb нh оo ոn υu οo αa νv ιi κk ρp τt εe χx ԛq ԝw ɡg ıi"
    .split(" ")
    .map(([letter = "", latin = ""]) => [letter, latin]),
);

// Case, width, accents, underscores and alphabets do not make another name of it.
function folded(name: string): string {
  const lower = name.toLowerCase();
  if (/^[a-z]+$/.test(lower)) return lower;
  const bare = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[\p{M}_▁-]/gu, "");
  return [...bare].map((letter) => LOOKALIKES.get(letter) ?? letter).join("");
}
