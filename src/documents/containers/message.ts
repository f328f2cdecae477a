// Writes a message as text: header lines with the names of its attachments, an empty line, the body. Also adds the
// attachments to its parts, each under a name of its own. Used by the readers of EML and MSG.

import { shortTitle } from "../../domain/title.ts";
import { ReadFailure } from "../../ports/document-reader.ts";
import { countWere, NO_TEXT, type ReadDocument } from "../document.ts";
import { readHtml } from "../html/read-html.ts";
import { onOneLine, readable } from "../text-writer.ts";
import type { Parts } from "./parts.ts";

/** A message. A field that the message lacks is an empty string. */
export interface Message {
  readonly from: string;
  readonly to: string;
  readonly cc: string;
  readonly date: string;
  readonly subject: string;
  readonly text: string;
  /** The body as HTML. */
  readonly html: string;
}

/** An attachment of a message. */
export interface MessageAttachment {
  /** null if it has no name. */
  readonly filename: string | null;
  readonly mediaType: string | null;
  readonly bytes: Uint8Array;
  /** Whether the body shows it in place. Pictures of this kind are left out. */
  readonly isInline: boolean;
}

/** The plain body of a message is read instead of its HTML if it is more than this many times as long. */
const PLAIN_LONGER_MIN = 2;
/** Extensions for attachments without a name, by media type. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "message/rfc822": "eml",
  "text/calendar": "ics",
  "text/vcard": "vcf",
  "text/html": "html",
  "text/plain": "txt",
  "application/pdf": "pdf",
  "application/zip": "zip",
};

/** The text of a message, with its subject as title. */
export function messageText(message: Message, parts: Parts): ReadDocument | ReadFailure {
  const fields = [
    ["From", message.from],
    ["To", message.to],
    ["Cc", message.cc],
    ["Date", message.date],
    ["Subject", message.subject],
  ] as const;
  const lines = fields.flatMap(([name, value]) => (value.trim() === "" ? [] : [`${name}: ${onOneLine(value)}`]));
  const files = parts.found.map(({ path }) => `Attachment: ${onOneLine(path)}`);
  const text = [[...lines, ...files].join("\n"), bodyOf(message)].filter((part) => part !== "").join("\n\n");
  if (text === "") return new ReadFailure("unreadable_document", NO_TEXT);
  const subject = onOneLine(message.subject);
  return {
    pieces: [text],
    title: subject === "" ? null : shortTitle(subject),
    marks: [],
    warnings: parts.warnings,
  };
}

function bodyOf({ text, html }: Message): string {
  const plain = readable(text);
  if (html.trim() === "") return plain;
  const page = readHtml([html]);
  if (page instanceof ReadFailure) return plain;
  const shown = readable(page.pieces.join(""));
  // only HTML has tables and headings, but a plain body that is much longer has what the HTML lacks
  return plain.length > shown.length * PLAIN_LONGER_MIN ? plain : shown;
}

/** Adds the attachments of a message. @throws ContainerRefusal if there are too many, or one breaks a rule */
export async function addAttachments(attachments: readonly MessageAttachment[], parts: Parts): Promise<void> {
  const paths = new Set<string>();
  let pictures = 0;
  for (const [at, { filename, mediaType, bytes, isInline }] of attachments.entries()) {
    if (isInline && mediaType?.startsWith("image/") === true) {
      pictures += 1;
      continue;
    }
    parts.addPart();
    parts.addBytes(bytes.byteLength);
    const last = (filename ?? "").split(/[/\\]/).at(-1) ?? "";
    const named = last.replace(/\p{Cc}/gu, "").trim();
    const name =
      named === "" || /^\.+$/.test(named) ? `attachment-${at + 1}.${EXTENSIONS[mediaType ?? ""] ?? "bin"}` : named;
    let path = name;
    for (let copy = 2; paths.has(path); copy++) path = `${copy}-${name}`;
    paths.add(path);
    await parts.add(parts.pathOf(path), bytes, { deeper: "left out", declared: mediaType });
  }
  if (pictures > 0) parts.warnings.push(`${countWere(pictures, "picture", "of the body")} not read.`);
}
