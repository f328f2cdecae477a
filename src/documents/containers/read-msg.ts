// Reads a message of Outlook (MSG): headers and body as text, attachments as parts. The library parses the file;
// message.ts writes the text.

import MsgReader, { type FieldsData } from "@kenjiuno/msgreader";
import { ReadFailure } from "../../ports/document-reader.ts";
import type { ReadDocument } from "../document.ts";
import { decoded, encodingOf } from "../encoding/encoding.ts";
import { CompoundFile } from "../legacy-office/compound-file.ts";
import { addAttachments, type MessageAttachment, messageText } from "./message.ts";
import { ContainerRefusal, Parts } from "./parts.ts";

const DAMAGED = "The file is damaged: it is no message of Outlook.";

/** Reads a message. */
export async function readMsg(bytes: Uint8Array, parts: Parts = new Parts()): Promise<ReadDocument | ReadFailure> {
  try {
    // the library follows a chain that leads back to itself until the memory is full
    new CompoundFile(bytes).checkEnds();
    const reader = new MsgReader(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const message = reader.getFileData();
    if (message.error !== undefined || message.dataType !== "msg")
      return new ReadFailure("unreadable_document", DAMAGED);
    await addAttachments(
      (message.attachments ?? []).map((attachment) => attachmentOf(reader, attachment)),
      parts,
    );
    return messageText(
      {
        from: personOf(message.senderName, message.senderSmtpAddress ?? message.senderEmail),
        to: peopleOf(message, "to"),
        cc: peopleOf(message, "cc"),
        date: message.clientSubmitTime ?? message.messageDeliveryTime ?? message.creationTime ?? "",
        subject: message.subject ?? "",
        text: message.body ?? "",
        html: message.bodyHtml ?? pageOf(message.html),
      },
      parts,
    );
  } catch (error) {
    if (error instanceof ContainerRefusal) return error;
    return new ReadFailure("unreadable_document", DAMAGED, { cause: error });
  }
}

function attachmentOf(reader: MsgReader, attachment: FieldsData): MessageAttachment {
  const { fileName, content } = reader.getAttachment(attachment);
  const isMessage = attachment.innerMsgContent === true;
  const name = isMessage ? `${(attachment.name ?? fileName ?? "message").replace(/\.msg$/i, "")}.msg` : fileName;
  return {
    filename: name || null,
    mediaType: attachment.attachMimeTag ?? null,
    bytes: content,
    isInline: attachment.pidContentId !== undefined && attachment.attachmentHidden === true,
  };
}

function peopleOf({ recipients = [] }: FieldsData, type: "to" | "cc"): string {
  return recipients
    .filter((recipient) => (recipient.recipType ?? "to") === type)
    .map(({ name, smtpAddress, email }) => personOf(name, smtpAddress ?? email))
    .join(", ");
}

/** A person by name and address. Addresses of Exchange say nothing to people. */
function personOf(name = "", address = ""): string {
  const shown = address.startsWith("/") ? "" : address;
  if (name === "" || name === shown) return shown;
  return shown === "" ? name : `${name} <${shown}>`;
}

function pageOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return "";
  const encoding = encodingOf(bytes, true);
  return encoding === null ? "" : [...decoded(bytes, encoding)].join("");
}
