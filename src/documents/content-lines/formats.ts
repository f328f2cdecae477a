// Calendars (iCalendar) and address cards (vCard). read-calendar.ts and read-cards.ts extract the text.

import type { FileFormat } from "../format.ts";
import { isOtherMarkup, readTextDocument } from "../text/text-file.ts";

/** Calendars. */
export const ICS: FileFormat = {
  name: "ICS",
  mediaType: "text/calendar",
  extensions: ["ics", "ical", "ifb"],
  recognise({ text, extension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (/^BEGIN:VCALENDAR\s/i.test(text)) return "content";
    return this.extensions.includes(extension) ? "name" : null;
  },
  async read({ bytes }) {
    const { calendarText } = await import("./read-calendar.ts");
    return readTextDocument(bytes, calendarText);
  },
};

/** Address cards. */
export const VCF: FileFormat = {
  name: "VCF",
  mediaType: "text/vcard",
  otherMediaTypes: ["text/x-vcard", "text/directory"],
  extensions: ["vcf", "vcard"],
  recognise({ text, extension }) {
    if (text === null || isOtherMarkup(text)) return null;
    if (/^BEGIN:VCARD\s/i.test(text)) return "content";
    return this.extensions.includes(extension) ? "name" : null;
  },
  async read({ bytes }) {
    const { cardsText } = await import("./read-cards.ts");
    return readTextDocument(bytes, cardsText);
  },
};
