// The HTML format. read-html.ts extracts the text.

import { decoded, encodingNamed, encodingOf } from "../encoding/encoding.ts";
import type { FileFormat } from "../format.ts";
import { isOtherMarkup, notText, RECOGNITION_UNITS } from "../text/text-file.ts";

/**
 * Number of bytes at the beginning of a page that are searched for the name of its encoding. HTML 13.2.3.2 requires
 * 1,024, but some pages name their encoding later.
 */
const CHARSET_WITHIN_BYTES = 4_096;

/** HTML and XHTML pages. */
export const HTML: FileFormat = {
  name: "HTML",
  mediaType: "text/html",
  extensions: ["html", "htm", "xhtml"],
  recognise({ text, extension }) {
    if (text === null) return null;
    if (beginsAsPage(text.slice(0, RECOGNITION_UNITS))) return "content";
    return this.extensions.includes(extension) && !isOtherMarkup(text) ? "name" : null;
  },
  async read({ bytes, pictures }) {
    const label = encodingOfPage(bytes);
    if (label === null) return notText();
    return (await import("./read-html.ts")).readHtml(decoded(bytes, label), undefined, pictures);
  },
  async openPictures(bytes) {
    const label = encodingOfPage(bytes);
    if (label === null) throw notText();
    return (await import("./pictures.ts")).openPagePictures(decoded(bytes, label));
  },
};

/** null if the bytes are not a text. */
function encodingOfPage(bytes: Uint8Array): string | null {
  const encoding = encodingOf(bytes, true);
  if (encoding === null) return null;
  // the encoding that a page names is more reliable than a detected one
  return encoding.startsWith("utf-") ? encoding : (namedEncoding(bytes) ?? encoding);
}

const PAGE_TAG = /^<(?:!doctype\s+html|html|head|body|title|meta)\b/i;

// Comments are skipped by a loop, because a regular expression for all of them would backtrack: thousands of comments
// would take minutes.
function beginsAsPage(beginning: string): boolean {
  let rest = beginning.replace(/^<\?xml[^>]*>/i, "").trimStart();
  while (rest.startsWith("<!--")) {
    const end = rest.indexOf("-->");
    if (end === -1) return false;
    rest = rest.slice(end + "-->".length).trimStart();
  }
  return PAGE_TAG.test(rest);
}

/** The encoding that a page names in a `meta` element; null if the page names none or an unknown one. */
function namedEncoding(bytes: Uint8Array): string | null {
  const head = new TextDecoder("latin1").decode(bytes.subarray(0, CHARSET_WITHIN_BYTES));
  const label = /<meta\b[^>]{0,512}?\bcharset\s*=\s*["']?([\w.:-]{1,32})/i.exec(head)?.[1];
  return label === undefined ? null : encodingNamed(label);
}
