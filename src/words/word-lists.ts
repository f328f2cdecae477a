// Parses the word lists of `data/words`. Format: a line that begins with `#` is a comment, a line `[name]` begins a
// section, and all other lines contain words separated by white space.

/** The sections of a word list, in the order of the file. */
export function parseWordList(text: string): ReadonlyMap<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  let section: string[] | null = null;
  for (const line of text.split("\n")) {
    const name = /^\[(.+)\]$/.exec(line)?.[1];
    if (name !== undefined) {
      section = [];
      sections.set(name, section);
    } else if (!line.startsWith("#") && line !== "") {
      section?.push(...line.split(" "));
    }
  }
  return sections;
}
