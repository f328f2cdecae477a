// Checks that a text is well-formed XML, as far as charts need it.

/** Problems of an SVG document: unclosed or crossing elements, unescaped characters, figures that are no numbers. */
export function svgProblems(svg: string): readonly string[] {
  const problems: string[] = [];
  const open: string[] = [];
  const tag = /<(\/?)([a-z]+)((?:\s+[a-zA-Z\d:-]+="[^"<]*")*)\s*(\/?)>/gy;
  for (let at = 0; at < svg.length; ) {
    const next = svg.indexOf("<", at);
    const between = svg.slice(at, next === -1 ? svg.length : next);
    if (/&(?!#\d+;)|>/.test(between)) problems.push(`unescaped text: ${between.slice(0, 60)}`);
    if (next === -1) break;
    tag.lastIndex = next;
    const [whole, isEnd, name = "", attributes = "", isEmpty] = tag.exec(svg) ?? [];
    if (whole === undefined) return [...problems, `no tag: ${svg.slice(next, next + 60)}`];
    if (/NaN|Infinity|undefined|null/.test(attributes)) problems.push(`not a number: ${whole}`);
    if (isEnd === "/") {
      if (open.pop() !== name) problems.push(`crossing elements at ${whole}`);
    } else if (isEmpty !== "/") open.push(name);
    at = next + whole.length;
  }
  return open.length === 0 ? problems : [...problems, `unclosed: ${open.join(", ")}`];
}
