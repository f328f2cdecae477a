// Reads address cards (vCard 2.1, 3.0 and 4.0): each person or organisation as a section.

import { onOneLine, readable } from "../text-writer.ts";
import { type Component, componentsOf, type Property, partsOf, propertyOfName, textOf } from "./content-lines.ts";
import { brokenWarning } from "./read-calendar.ts";

/** Labels of the properties that are read, in the order in which they are written. */
const LABELS: readonly (readonly [name: string, label: string])[] = [
  ["N", "Name"],
  ["NICKNAME", "Nickname"],
  ["ORG", "Organization"],
  ["TITLE", "Title"],
  ["ROLE", "Role"],
  ["TEL", "Phone"],
  ["EMAIL", "Email"],
  ["ADR", "Address"],
  ["URL", "URL"],
  ["IMPP", "Messenger"],
  ["X-SOCIALPROFILE", "Profile"],
  ["BDAY", "Birthday"],
  ["X-ANNIVERSARY", "Anniversary"],
  ["ANNIVERSARY", "Anniversary"],
  ["X-ABDATE", "Date"],
  ["GENDER", "Gender"],
  ["LANG", "Language"],
  ["TZ", "Time zone"],
  ["GEO", "Position"],
  ["RELATED", "Related"],
  ["X-ABRELATEDNAMES", "Related"],
  ["MEMBER", "Member"],
  ["CATEGORIES", "Categories"],
  ["NOTE", "Note"],
];
/** Types of a property that say nothing about its use. */
const PLAIN_TYPES = new Set(["internet", "pref", "voice", "x-internet", "quoted-printable", "charset", "text"]);

/** The text of a file with cards. */
export function cardsText(file: string) {
  const { components, brokenLines } = componentsOf(file);
  const cards = components.filter(({ name }) => name === "VCARD");
  const pieces = cards.flatMap((card, at) => {
    const section = sectionOf(card);
    return section === null ? [] : [`${at === 0 ? "" : "\n\n"}${section}`];
  });
  const isUnread = pieces.length === 0 && components.length === 0;
  const [only] = cards;
  const title = cards.length === 1 && only !== undefined ? nameOf(only) || null : null;
  return { pieces: isUnread ? [file] : pieces, title, warnings: brokenWarning(brokenLines) };
}

function sectionOf(card: Component): string | null {
  const name = nameOf(card);
  const labels = labelsByGroup(card);
  const lines: string[] = [];
  for (const [property, label] of LABELS) {
    for (const each of card.properties.filter((candidate) => candidate.name === property)) {
      const value = shownValue(each);
      if (value === "" || (property === "N" && value === name)) continue;
      const kind = labels.get(each.group) ?? typeOf(each);
      lines.push(`- ${label}${kind === "" || each.name === "N" ? "" : ` (${kind})`}: ${value}`);
    }
  }
  if (name === "" && lines.length === 0) return null;
  return [`## ${name || "Contact"}`, "", ...lines].join("\n").trim();
}

function nameOf(card: Component): string {
  const full = onOneLine(textOf(propertyOfName(card, "FN")));
  if (full !== "") return full;
  const name = propertyOfName(card, "N");
  if (name !== null && shownValue(name) !== "") return shownValue(name);
  const organization = propertyOfName(card, "ORG");
  return organization === null ? "" : shownValue(organization);
}

function shownValue(property: Property): string {
  switch (property.name) {
    case "N": {
      // the order of RFC 6350, 6.2.2
      const [family = "", given = "", further = "", before = "", behind = ""] = partsOf(property);
      return onOneLine([before, given, further, family, behind].filter((part) => part !== "").join(" "));
    }
    case "ADR":
    case "ORG":
    case "GENDER":
      return onOneLine(
        partsOf(property)
          .filter((part) => part !== "")
          .join(", "),
      );
    case "BDAY":
    case "ANNIVERSARY":
      return dayOf(textOf(property));
    case "NOTE":
      return readable(textOf(property)).replaceAll("\n", "\n  ");
    default:
      return onOneLine(textOf(property).replace(/^(?:tel|mailto|x-apple|xmpp|skype):/i, ""));
  }
}

/** `19040506` as `1904-05-06`, `--0506` as `05-06`; others unchanged. */
function dayOf(value: string): string {
  const [, year, month, day] = /^(\d{4}|--)-?(\d{2})-?(\d{2})(?:T.*)?$/.exec(value) ?? [];
  if (month === undefined) return onOneLine(value);
  return year === "--" ? `${month}-${day}` : `${year}-${month}-${day}`;
}

function typeOf({ parameters }: Property): string {
  const types = [...new Set((parameters.get("TYPE") ?? []).map((type) => type.toLowerCase()))];
  return types.filter((type) => !PLAIN_TYPES.has(type)).join(", ");
}

/** Labels that a person gave to groups of properties: `item1.X-ABLABEL:Sister`. */
function labelsByGroup({ properties }: Component): ReadonlyMap<string, string> {
  const labels = properties.filter(({ name, group }) => name === "X-ABLABEL" && group !== "");
  return new Map(labels.map((label) => [label.group, onOneLine(textOf(label)).replace(/^_\$!<(.*)>!\$_$/, "$1")]));
}
