// Code with colours: comments, strings, keys of JSON, numbers and constants.

/** Longest code that is tinted, in characters; a longer one stays plain, so that the page stays fast. */
const TINTED_MAX = 60_000;
const TOKEN =
  /((?<![^\s])(?:#|\/\/)[^\n]*)|("(?:[^"\\\n]|\\.)*")(\s*:)?|('(?:[^'"\\\n]|\\.)*')|(?<![\w./:-])(-?\d[\d.]*|true|false|null)\b/g;

/** The code. */
export function TintedCode({ code }: { readonly code: string }) {
  if (code.length > TINTED_MAX) return <code>{code}</code>;
  const pieces: preact.ComponentChild[] = [];
  let from = 0;
  for (const match of code.matchAll(TOKEN)) {
    const [whole, comment, text, colon, quoted] = match;
    const token = text ?? whole;
    const kind = comment ? "comment" : text ? (colon ? "key" : "text") : quoted ? "text" : "number";
    pieces.push(
      code.slice(from, match.index),
      <span key={match.index} class={`code-${kind}`}>
        {token}
      </span>,
    );
    from = match.index + token.length;
  }
  return (
    <code>
      {pieces}
      {code.slice(from)}
    </code>
  );
}
