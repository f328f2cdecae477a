// The search of the guide, in the browser: loads the texts of all pages when someone begins to search, and finds the
// sections with the typed words. Without scripts, the field stays hidden and the rest of the page works.

import MiniSearch from "minisearch";

/** As in render.ts. */
interface Entry {
  readonly id: number;
  readonly page: string;
  readonly heading: string;
  readonly address: string;
  readonly text: string;
}

const RESULTS_MAX = 8;
/** Length of the excerpt below a result, in UTF-16 code units. */
const EXCERPT_UNITS = 140;

const root = document.body.dataset.root ?? ".";
const field = document.getElementById("search") as HTMLInputElement;
const found = document.getElementById("found") as HTMLElement;
field.hidden = false;

let loading: Promise<{ index: MiniSearch<Entry>; entries: readonly Entry[] }> | null = null;

function load() {
  loading ??= fetch(`${root}/search.json`)
    .then(async (response) => {
      if (!response.ok) throw new Error(`search.json: ${response.status}`);
      const entries = ((await response.json()) as Omit<Entry, "id">[]).map((entry, id) => ({ ...entry, id }));
      const index = new MiniSearch<Entry>({
        fields: ["heading", "page", "text"],
        searchOptions: {
          boost: { heading: 4, page: 2 },
          prefix: true,
          fuzzy: (term) => (term.length > 5 ? 0.15 : false),
          combineWith: "AND",
          // decisions and the changelog answer fewer questions than the other pages
          boostDocument: (id) =>
            /^(decisions|benchmarks|reference\/changelog)/.test(entries[id]?.address ?? "") ? 0.4 : 1,
        },
      });
      index.addAll(entries);
      return { index, entries };
    })
    .catch((error: unknown) => {
      loading = null;
      throw error;
    });
  return loading;
}

async function show(): Promise<void> {
  const words = field.value.trim();
  if (words === "") {
    found.hidden = true;
    return;
  }
  let nodes: Node[];
  try {
    const { index, entries } = await load();
    if (field.value.trim() !== words) return;
    const results = index.search(words).slice(0, RESULTS_MAX);
    nodes = results.flatMap(({ id }) => {
      const entry = entries[id];
      return entry === undefined ? [] : [resultOf(entry, words)];
    });
    if (nodes.length === 0) nodes = [paragraph(`Nothing found for “${words}”.`)];
  } catch {
    nodes = [paragraph("The search could not be loaded. Type again to retry.")];
  }
  found.replaceChildren(...nodes);
  found.hidden = false;
}

function resultOf(entry: Entry, words: string): HTMLElement {
  const link = document.createElement("a");
  link.href = `${root}/${entry.address}`;
  const title = document.createElement("strong");
  title.textContent = entry.heading === entry.page ? entry.page : `${entry.page} › ${entry.heading}`;
  const first = entry.text.toLowerCase().indexOf(words.toLowerCase().split(/\s+/)[0] ?? "");
  const start = Math.max(0, first - EXCERPT_UNITS / 3);
  const excerpt = document.createElement("span");
  excerpt.textContent = `${start > 0 ? "…" : ""}${entry.text.slice(start, start + EXCERPT_UNITS)}`;
  link.append(title, excerpt);
  return link;
}

function paragraph(text: string): HTMLElement {
  const element = document.createElement("p");
  element.textContent = text;
  return element;
}

field.addEventListener("focus", () => void load().catch(() => undefined));
field.addEventListener("input", () => void show());
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  } else if (event.key === "Escape") {
    found.hidden = true;
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !found.hidden) {
    const links = [...found.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    (links[at] ?? field).focus();
  } else if (event.key === "Enter" && event.target === field) {
    found.querySelector("a")?.click();
  }
});
document.addEventListener("click", (event) => {
  if (!(event.target instanceof Node && field.parentElement?.contains(event.target))) found.hidden = true;
});

// the list of pages is open where there is room for it
const menu = document.querySelector<HTMLDetailsElement>("details.menu");
const wide = matchMedia("(min-width: 60rem)");
const adapt = () => menu?.toggleAttribute("open", wide.matches);
wide.addEventListener("change", adapt);
adapt();
menu?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
