// Builds the guide (`bun run docs`): Markdown pages of the repository become dist/docs, a folder of files that any web
// server can publish, below any path. Eleventy renders the pages; nothing is fetched.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Eleventy from "@11ty/eleventy";
import { PAGES, ROOT } from "./contents.ts";
import { framed } from "./frame.ts";
import { type PageParts, preparePage } from "./render.ts";

const BROWSER = join(import.meta.dir, "browser");

/**
 * Builds the site into a folder, which is emptied before. Returns the files by address.
 * @throws Error if the target of a link in a page does not exist
 */
export async function buildGuide(output: string): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  const style = readFileSync(join(BROWSER, "guide.css"), "utf8");
  const { outputs } = await Bun.build({ entrypoints: [join(BROWSER, "search.ts")], format: "iife", minify: true });
  const script = (await outputs[0]?.text()) ?? "";
  const icon = readFileSync(join(BROWSER, "icon.svg"), "utf8");
  const loaded = { style: hashedName("guide.css", style), script: hashedName("search.js", script), icon: "icon.svg" };
  files.set(loaded.style, style).set(loaded.script, script).set(loaded.icon, icon);

  const byUrl = new Map(PAGES.map((page) => [`/${page.address.replace(/(^|\/)index\.html$/, "$1")}`, page]));
  const parts = new Map<string, PageParts>();
  const eleventy = new Eleventy(BROWSER, output, {
    quietMode: true,
    configPath: null,
    config: (config) => {
      for (const { source, address } of PAGES) {
        const text = readFileSync(join(ROOT, source), "utf8");
        // "md" alone: braces in the pages are text, not a language of templates
        config.addTemplate(`${address}.md`, text, { permalink: address, templateEngineOverride: "md" });
      }
      config.amendLibrary("md", (markdown) =>
        markdown.core.ruler.push("guide", (state) => {
          const { url } = state.env.page;
          const page = byUrl.get(url);
          if (page === undefined) throw new Error(`${url} is no page of contents.ts`);
          parts.set(url, preparePage(page, state));
        }),
      );
    },
  });
  for (const { url, content } of await eleventy.toJSON()) {
    const [page, has] = [byUrl.get(url), parts.get(url)];
    if (page === undefined || has === undefined) throw new Error(`${url} was not rendered`);
    files.set(page.address, framed(page, content, has, loaded));
    for (const [address, source] of has.copies) files.set(address, readFileSync(join(ROOT, source), "utf8"));
  }
  const found = PAGES.flatMap(({ address }) => [...parts].filter(([url]) => byUrl.get(url)?.address === address));
  files.set("search.json", JSON.stringify(found.flatMap(([, { entries }]) => entries)));

  rmSync(output, { recursive: true, force: true });
  for (const [address, content] of files) {
    mkdirSync(dirname(join(output, address)), { recursive: true });
    writeFileSync(join(output, address), content);
  }
  return files;
}

function hashedName(name: string, content: string): string {
  return name.replace(".", `-${Bun.hash(content).toString(36)}.`);
}

if (import.meta.main) {
  const files = await buildGuide(join(ROOT, "dist/docs"));
  const bytes = [...files.values()].reduce((sum, content) => sum + Buffer.byteLength(content), 0);
  process.stdout.write(`dist/docs: ${files.size} files, ${(bytes / 1e6).toFixed(1)} MB\n`);
}
