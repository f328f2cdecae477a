// XML files. xml-text.ts extracts the text.

import { decoded, encodingNamed, encodingOf } from "../encoding/encoding.ts";
import type { FileFormat } from "../format.ts";
import { notText, RECOGNITION_UNITS, titleOfName } from "../text/text-file.ts";

/** Extensions of XML files that have no format of their own. */
const EXTENSIONS = ["xml", "rss", "atom", "gpx", "kml", "opml", "xsd", "xsl", "xslt", "wsdl", "plist", "tei", "dita"];
/** Number of bytes that may declare the encoding. */
const DECLARATION_BYTES = 256;

/** XML. HTML pages that are XML, too, are HTML; pictures (SVG) have no format. */
export const XML: FileFormat = {
  name: "XML",
  mediaType: "application/xml",
  otherMediaTypes: ["text/xml", "application/rss+xml", "application/atom+xml", "application/gpx+xml"],
  extensions: EXTENSIONS,
  recognise({ text, extension }) {
    if (text === null) return null;
    const beginning = text.slice(0, RECOGNITION_UNITS);
    if (isPicture(beginning)) return null;
    if (/^<\?xml[\s?]/.test(beginning)) return "content";
    return EXTENSIONS.includes(extension) && beginning.startsWith("<") ? "name" : null;
  },
  async read({ bytes, filename }) {
    const encoding = encodingOf(bytes, true);
    if (encoding === null) return notText();
    const head = Buffer.from(bytes.subarray(0, DECLARATION_BYTES)).toString("latin1");
    const label = /^[^<]{0,4}<\?xml[^>]{0,128}?\bencoding\s*=\s*["']([\w.:-]{1,32})/i.exec(head)?.[1];
    const named = label === undefined ? null : encodingNamed(label);
    const { readXmlText } = await import("./xml-text.ts");
    const pieces = decoded(bytes, encoding.startsWith("utf-") ? encoding : (named ?? encoding));
    return readXmlText(pieces, titleOfName(filename));
  },
};

/** Whether the root element is a picture. Comments are skipped by a loop: a pattern for them would backtrack. */
function isPicture(beginning: string): boolean {
  let rest = beginning;
  for (;;) {
    rest = rest.trimStart();
    const closing = rest.startsWith("<!--") ? "-->" : /^<[?!]/.test(rest) ? ">" : null;
    if (closing === null) return /^<(?:[\w.-]+:)?svg[\s>/]/i.test(rest);
    const end = rest.indexOf(closing);
    if (end === -1) return /<svg[\s>]/i.test(rest);
    rest = rest.slice(end + closing.length);
  }
}
