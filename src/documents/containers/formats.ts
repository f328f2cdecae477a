// Files that contain files: ZIP archives, messages (EML, MSG) and mailboxes (MBOX). The files of this folder read them.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup } from "../text/text-file.ts";

/** Extensions of ZIP archives that are programs or documents of formats that Mneme does not read. */
const OTHER_ARCHIVES =
  /^(?:jar|war|ear|apk|aab|ipa|xpi|crx|vsix|nupkg|whl|odg|odf|odb|xlsb|xlsm|docm|pptm|pages|numbers|key|sketch|3mf|kmz|cbz|egg|aar|appx|msix|mcpb)$/;
const HEADER = /^(?:[!-9;-~]{1,64}:[ \t]?[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*\r?\n)/;
const MAIL_FIELDS =
  /^(?:From|To|Cc|Subject|Date|Message-ID|MIME-Version|Received|Return-Path|Delivered-To|Content-Type):/i;

/** ZIP archives of files. */
export const ZIP: FileFormat = {
  name: "ZIP",
  mediaType: "application/zip",
  otherMediaTypes: ["application/x-zip-compressed"],
  extensions: ["zip"],
  recognise({ container, extension, packageType }) {
    if (container?.kind !== "zip" || OTHER_ARCHIVES.test(extension) || packageType !== null) return null;
    const { entryNames, isDamaged } = container;
    // a document or program whose format Mneme does not read
    if (entryNames.includes("[Content_Types].xml") || entryNames.includes("META-INF/MANIFEST.MF")) return null;
    if (!isDamaged) return "content";
    return extension === "zip" ? "name" : null;
  },
  async read({ bytes }, _onPages, parts) {
    return (await import("./read-zip.ts")).readZip(bytes, parts);
  },
};

/** Messages of electronic mail (RFC 5322). */
export const EML: FileFormat = {
  name: "EML",
  mediaType: "message/rfc822",
  extensions: ["eml"],
  recognise({ text, extension, hasKnownExtension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (extension === "eml") return "name";
    return !hasKnownExtension && isMessage(text) ? "guess" : null;
  },
  async read({ bytes }, _onPages, parts) {
    return (await import("./read-mail.ts")).readMail(bytes, parts);
  },
};

/** Messages of Outlook. */
export const MSG: FileFormat = {
  name: "MSG",
  mediaType: "application/vnd.ms-outlook",
  extensions: ["msg"],
  isOle: true,
  recognise: ({ container, extension }) => {
    if (container?.kind !== "ole") return null;
    if (container.holds === "msg") return "content";
    return container.holds === null && extension === "msg" ? "name" : null;
  },
  async read({ bytes }, _onPages, parts) {
    return (await import("./read-msg.ts")).readMsg(bytes, parts);
  },
};

/**
 * Matches the first line of a mailbox and the name of the first field. Slow on long texts, so only
 * `MBOX_START_UNITS_MAX` UTF-16 code units are tested.
 */
const MBOX_START = /^From \S{1,200} [^\r\n]{0,100}\d{4}[^\r\n]{0,40}\r?\n[!-9;-~]{1,64}:/;
const MBOX_START_UNITS_MAX = 1_000;

/** Mailboxes (RFC 4155). */
export const MBOX: FileFormat = {
  name: "MBOX",
  mediaType: "application/mbox",
  extensions: ["mbox", "mbx"],
  recognise({ text, extension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (MBOX_START.test(text.slice(0, MBOX_START_UNITS_MAX))) return "content";
    return this.extensions.includes(extension) ? "name" : null;
  },
  async read({ bytes }, _onPages, parts) {
    return (await import("./read-mbox.ts")).readMbox(bytes, parts);
  },
};

/** Whether a text begins with the fields of a message: three or more that messages have. */
function isMessage(text: string): boolean {
  let rest = text;
  let fields = 0;
  for (let count = 0; count < 60; count++) {
    const [header] = HEADER.exec(rest.slice(0, 4_096)) ?? [];
    if (header === undefined) return fields >= 3 && /^\r?\n/.test(rest);
    if (MAIL_FIELDS.test(header)) fields += 1;
    rest = rest.slice(header.length);
  }
  return fields >= 3;
}
