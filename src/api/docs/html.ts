// Writes HTML in which every value is escaped: what is put into a template is text, unless it was made by a template.

/** A value inside a template: a text is escaped, `Html` is not, of an array all items stand side by side, null is nothing. */
export type HtmlValue = string | number | Html | null | readonly HtmlValue[];

/** A finished piece of HTML. */
export class Html {
  constructor(readonly text: string) {}
}

/** The template tag: html`<p>${text}</p>`. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = "";
  for (const [at, piece] of strings.entries()) text += piece + written(values[at] ?? null);
  return new Html(text);
}

/** A sentence with code in backticks. */
export function prose(text: string): Html {
  const pieces = text.split("`");
  return html`${pieces.map((piece, at) => (at % 2 === 0 ? piece : html`<code>${piece}</code>`))}`;
}

function written(value: HtmlValue): string {
  if (value === null) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(written).join("");
  return String(value).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
