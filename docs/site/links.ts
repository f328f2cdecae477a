// Where a link of a Markdown page leads in the site: to another page, to a copy of a file, or to nowhere.

import { existsSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { type GuidePage, PAGES, ROOT } from "./contents.ts";

const bySource = new Map(PAGES.map((page) => [page.source, page]));

/** Name of the folder with copies of files that pages link to. */
const FILES = "files";
/** Name of the folder with pictures. */
const PICTURES = "pictures";

/** What a link becomes. */
export interface SiteLink {
  /** Address relative to the page; null if the site has nothing for the link. */
  readonly href: string | null;
  /** File of the repository to copy into the site, and its address there. */
  readonly copy?: { readonly source: string; readonly address: string };
}

/**
 * The link of a page in the site. Links to files that are no pages get a copy of the file.
 * @throws Error if the file does not exist
 */
export function siteLink(from: GuidePage, target: string): SiteLink {
  if (/^[a-z]+:|^#/i.test(target)) return { href: target };
  const [path = "", anchor] = target.split("#");
  const source = posix.normalize(posix.join(dirname(from.source), path)).replace(/\/$/, "");
  const page = bySource.get(source) ?? bySource.get(`${source}/README.md`);
  const suffix = anchor === undefined ? "" : `#${anchor}`;
  if (page !== undefined) return { href: relative(from, page.address) + suffix };
  const file = join(ROOT, source);
  if (!existsSync(file)) throw new Error(`${from.source}: ${target} does not exist`);
  if (statSync(file).isDirectory()) return { href: null };
  const address = source.endsWith(".svg")
    ? `${PICTURES}/${posix.basename(source)}`
    : `${FILES}/${source.replaceAll("/", "-")}${/\.json$/.test(source) ? "" : ".txt"}`;
  return { href: relative(from, address), copy: { source, address } };
}

/** The address of something in the site, relative to a page, so that the site works below any path. */
export function relative(from: GuidePage, address: string): string {
  return posix.relative(posix.dirname(from.address), address);
}
