// Reads a message of electronic mail: its headers and body as text, its attachments as parts. The library parses MIME;
// message.ts writes the text.

import PostalMime, { type Address, type Attachment, type Email } from "postal-mime";
import { ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";
import { addAttachments, type MessageAttachment, messageText } from "./message.ts";
import { ContainerRefusal, Parts } from "./parts.ts";

/** Reads a message. Its memory is a small multiple of its size. */
export async function readMail(bytes: Uint8Array, parts: Parts = new Parts()): Promise<ReadDocument | ReadFailure> {
  try {
    const mail = await PostalMime.parse(bytes, { forceRfc822Attachments: true });
    if (mail.headers.length === 0 && mail.attachments.length === 0) {
      return new ReadFailure("unreadable_document", "The file is damaged: it is no message.");
    }
    await addAttachments(mail.attachments.map(attachmentOf), parts);
    return messageText(
      {
        from: mail.from === undefined ? "" : written([mail.from]),
        to: written(mail.to ?? []),
        cc: written(mail.cc ?? []),
        date: mail.headers.find(({ key }) => key === "date")?.value.trim() ?? "",
        subject: mail.subject ?? "",
        text: mail.text ?? "",
        html: mail.html ?? "",
      },
      parts,
    );
  } catch (error) {
    if (error instanceof ContainerRefusal) return error;
    return new ReadFailure("unreadable_document", "The file is damaged: it is no message.", { cause: error });
  }
}

/** Subject and sender of a message, for lists. */
export async function mailSummary(bytes: Uint8Array): Promise<{ readonly subject: string; readonly from: string }> {
  const head = Buffer.from(bytes.subarray(0, Math.min(bytes.byteLength, 64 * 1024)));
  const blank = /\r?\n\r?\n/.exec(head.toString("latin1"))?.index ?? head.byteLength;
  try {
    const mail: Email = await PostalMime.parse(head.subarray(0, blank));
    return { subject: mail.subject ?? "", from: mail.from === undefined ? "" : written([mail.from]) };
  } catch {
    return { subject: "", from: "" }; // damaged: reading the message reports it
  }
}

function attachmentOf({ filename, mimeType, content, related, disposition }: Attachment): MessageAttachment {
  const bytes = typeof content === "string" ? Buffer.from(content) : new Uint8Array(content as ArrayBuffer);
  return { filename, mediaType: mimeType, bytes, isInline: related === true && disposition !== "attachment" };
}

function written(addresses: readonly Address[]): string {
  return addresses
    .map(({ name, address, group }) => {
      if (group !== undefined) return `${name}: ${written(group)}`;
      return name === "" || name === address ? address : `${name} <${address}>`;
    })
    .join(", ");
}
