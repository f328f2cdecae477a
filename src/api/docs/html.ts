// A template tag for HTML that escapes every value, unless the value is itself the result of a template.

/** A value inside a template: text is escaped, `Html` is not, the items of an array are concatenated, null is empty. */
export type HtmlValue = string | number | Html | null | readonly HtmlValue[];

/** A piece of HTML that needs no escaping. */
export class Html {
  constructor(readonly text: string) {}
}

/** The template tag: html`<p>${text}</p>`. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = "";
  for (const [at, piece] of strings.entries()) text += piece + written(values[at] ?? null);
  return new Html(text);
}

/** Renders text with code in backticks. */
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
