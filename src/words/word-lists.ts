// Parses the word lists of `data/words`. Format: a line that begins with `#` is a comment, a line `[name]` begins a
// section, empty lines are skipped, and all other lines contain words separated by single spaces.

/**
 * Makes a value per language from a list whose sections are named by one or several languages and a kind, such as
 * `[de asks]` and `[es pt asks]`. Languages that are named together share their value.
 * @param make makes the value; it gets a function that returns the words of a kind, which are none if the list has none
 */
export function byLanguage<Made>(
  text: string,
  make: (wordsOf: (kind: string) => readonly string[]) => Made,
): ReadonlyMap<string, Made> {
  const sections = parseWordList(text);
  const groups = new Set([...sections.keys()].map((name) => name.slice(0, name.lastIndexOf(" "))));
  return new Map(
    [...groups].flatMap((group) => {
      const made = make((kind) => sections.get(`${group} ${kind}`) ?? []);
      return group.split(" ").map((language) => [language, made] as const);
    }),
  );
}

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
