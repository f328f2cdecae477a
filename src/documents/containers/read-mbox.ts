// Reads a mailbox (MBOX, RFC 4155): each message is a part, and the text of the mailbox is the list of messages.

import { ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";
import { onOneLine } from "../text-writer.ts";
import { Parts } from "./parts.ts";
import { mailSummary } from "./read-mail.ts";

/** Maximum length of a subject in a path, in characters. */
const SUBJECT_CHARACTERS_MAX = 60;
const FROM = Buffer.from("From ");
const LINE_FEED = 0x0a;

/** Reads a mailbox. */
export async function readMbox(bytes: Uint8Array, parts: Parts = new Parts()): Promise<ReadDocument | ReadFailure> {
  try {
    const messages = [...messagesOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), parts)];
    if (messages.length === 0) return new ReadFailure("unreadable_document", "The file contains no messages.");
    const lines: string[] = [];
    for (const [at, message] of messages.entries()) {
      const { subject, from } = await mailSummary(message);
      const words = onOneLine(subject)
        .replace(/[^\p{L}\p{N} ._-]+/gu, " ")
        .replace(/\s+/g, " ")
        .trim();
      const short = [...words].slice(0, SUBJECT_CHARACTERS_MAX).join("").replace(/^\.+/, "").trim();
      const path = `${String(at + 1).padStart(4, "0")}${short === "" ? "" : ` ${short}`}.eml`;
      parts.addBytes(message.byteLength);
      await parts.add(parts.pathOf(path), message, { deeper: "left out", declared: "message/rfc822" });
      lines.push(`- ${[onOneLine(subject), onOneLine(from)].filter((text) => text !== "").join(" — ") || path}`);
    }
    return { pieces: [lines.join("\n")], title: null, marks: [], warnings: parts.warnings };
  } catch (error) {
    if (error instanceof ReadFailure) return error;
    throw error;
  }
}

/**
 * The messages of a mailbox. The first begins at the file's first line, `From …`; each other one at a line `From …`
 * with four digits (the year) after an empty line.
 */
function* messagesOf(mailbox: Buffer, parts: Parts): Generator<Buffer> {
  let start = mailbox.indexOf(FROM) === 0 ? 0 : -1;
  if (start === -1) return;
  while (start < mailbox.byteLength) {
    const end = nextMessage(mailbox, start + FROM.byteLength);
    const body = mailbox.indexOf(LINE_FEED, start) + 1;
    parts.addPart();
    if (body > 0 && body < end) yield withoutQuotes(mailbox.subarray(body, end));
    start = end;
  }
}

function nextMessage(mailbox: Buffer, from: number): number {
  for (let at = mailbox.indexOf("\nFrom ", from); at !== -1; at = mailbox.indexOf("\nFrom ", at + 1)) {
    const isBehindEmptyLine =
      mailbox[at - 1] === LINE_FEED || (mailbox[at - 1] === 0x0d && mailbox[at - 2] === LINE_FEED);
    const lineEnd = mailbox.indexOf(LINE_FEED, at + 1);
    const line = mailbox.toString("latin1", at + 1, lineEnd === -1 ? mailbox.byteLength : Math.min(lineEnd, at + 300));
    if (isBehindEmptyLine && /^From \S.*\d{4}/.test(line)) return at + 1;
  }
  return mailbox.byteLength;
}

/** A message without the `>` with which the mailbox quotes lines `From `. */
function withoutQuotes(message: Buffer): Buffer {
  if (!message.includes("\n>From ")) return message;
  return Buffer.from(message.toString("latin1").replace(/^>(>*From )/gm, "$1"), "latin1");
}
