// Maps a record of another product to a memory field by field, and notes which fields came along and which have no
// place, so that an import can report both.

import { createHash } from "node:crypto";
import { LIMITS } from "../domain/limits.ts";
import { isRecord, type JsonRecord } from "../kit/record.ts";
import { unixMilliseconds } from "../kit/unix-time.ts";
import type { Found, ImportedMemory } from "./imported.ts";

/** Maximum number of values in a record's metadata. 10 KB of JSON cannot hold more, at two bytes for each. */
const METADATA_VALUES_MAX = 5_200;

/** A record while it is mapped. */
export class Mapping {
  readonly #record: JsonRecord;
  readonly #place: string;
  readonly #memory: Record<string, unknown> = {};
  readonly #metadata: Record<string, unknown> = {};
  readonly #mapped: string[] = [];
  readonly #unplaced: string[] = [];
  readonly #read = new Set<string>();
  readonly #replaces: string[] = [];
  #replaced: Pick<ImportedMemory, "replacedAs" | "replacedWhy"> = {};

  /** @param place of the record in the export */
  constructor(record: JsonRecord, place: string) {
    this.#record = record;
    this.#place = place;
  }

  /** Says that this record replaced those with this mark. @param mark null: none */
  replaces(mark: string | null): void {
    if (mark !== null) this.#replaces.push(mark);
  }

  /**
   * Says that this record was replaced by the one that replaces this mark.
   * @param mark null: nobody knows by which one
   * @param why why it is left out without that one
   */
  replacedAs(mark: string | null, why: string): void {
    this.#replaced = { replacedAs: mark, replacedWhy: why };
  }

  /** The value of a field, for decisions; the field does not count as mapped. */
  peek(field: string): unknown {
    return Object.hasOwn(this.#record, field) ? this.#record[field] : undefined;
  }

  /** Whether a field was mapped, kept or ignored. */
  isRead(field: string): boolean {
    return this.#read.has(field);
  }

  /** Sets a field of the memory. @param from field of the source, for the report */
  set(target: string, value: unknown, from: string): void {
    this.#read.add(from);
    if (isEmpty(value)) return;
    this.#memory[target] = value;
    this.#mapped.push(`${from} → ${target}`);
  }

  /** Maps the first of some text fields that has a text. Returns it; null if there is none. */
  text(target: string, ...fields: readonly string[]): string | null {
    const field = this.#setFirst(target, fields, (value) => (isText(value) ? storable(value) : null));
    return field === null ? null : String(this.peek(field));
  }

  /** Maps the first of some fields that is an id of the caller's, which may be a number. */
  id(target: string, ...fields: readonly string[]): void {
    this.#setFirst(target, fields, idOf);
  }

  /** Maps the first of some fields that is a time. */
  time(target: string, ...fields: readonly string[]): void {
    this.#setFirst(target, fields, isoTimeIn);
  }

  /** Maps the first of some fields that has a text as the title, cut to the longest one that is stored. */
  title(...fields: readonly string[]): void {
    this.#setFirst("title", fields, (value) => (isText(value) ? fittingTitle(value) : null));
  }

  /** Maps tags: a list of texts, or texts separated by commas. Those beyond the limit have no place. */
  tags(...fields: readonly string[]): void {
    const field = this.#setFirst("tags", fields, (value) => {
      const tags = tagsOf(value);
      return tags.length === 0 ? null : tags.slice(0, LIMITS.tagsPerMemory);
    });
    if (field === null || tagsOf(this.peek(field)).length <= LIMITS.tagsPerMemory) return;
    this.unplaced(`${field} after the first ${LIMITS.tagsPerMemory}`);
  }

  /** Sets a field of the memory from the first field that `convert` accepts. Returns that field's name, or null. */
  #setFirst(target: string, fields: readonly string[], convert: (value: unknown) => unknown): string | null {
    for (const field of fields) {
      const value = convert(this.peek(field));
      if (value === null) continue;
      this.set(target, value, field);
      return field;
    }
    return null;
  }

  /** Takes over the members of an object as the memory's metadata. */
  metadata(field: string): void {
    const value = this.peek(field);
    this.#read.add(field);
    if (!isRecord(value)) {
      if (!isEmpty(value)) this.unplaced(field);
      return;
    }
    for (const [name, member] of Object.entries(value)) this.member(name, member, `${field}.${name}`);
    if (Object.keys(value).length > 0) this.#mapped.push(`${field} → metadata`);
  }

  /**
   * Sets one member of the metadata. Underscores at the beginning of its name are removed, because the API refuses
   * them. A member whose name is then empty or taken, or whose value cannot be stored, has no place.
   */
  member(name: string, value: unknown, from: string): void {
    this.#read.add(from);
    if (isEmpty(value)) return;
    const allowed = name.replace(/^_+/, "");
    if (allowed === "" || Object.hasOwn(this.#metadata, allowed) || !isStorable(value)) {
      this.unplaced(from);
      return;
    }
    this.#metadata[allowed] = value;
    if (!from.includes(".")) this.#mapped.push(`${from} → metadata.${allowed}`);
  }

  /**
   * Keeps fields in the member `name` of the metadata: what the product knows of the record and a memory has no field
   * for, such as its model. Fields that are already mapped are left out.
   */
  keep(name: string, ...fields: readonly string[]): void {
    const before = this.#metadata[name];
    const kept: Record<string, unknown> = isRecord(before) ? { ...before } : {};
    for (const field of fields) {
      const value = this.peek(field);
      if (isEmpty(value) || this.#mapped.some((mapped) => mapped.startsWith(`${field} → `))) continue;
      this.#read.add(field);
      if (!isStorable(value)) {
        this.unplaced(field);
        continue;
      }
      kept[field] = value;
      this.#mapped.push(`${field} → metadata.${name}.${field}`);
    }
    if (Object.keys(kept).length > 0) this.#metadata[name] = kept;
  }

  /**
   * Marks fields as read that carry nothing to import: repetitions of other fields, or states of the source product.
   */
  ignore(...fields: readonly string[]): void {
    for (const field of fields) this.#read.add(field);
  }

  /** Notes that something has no place. */
  unplaced(what: string): void {
    this.#unplaced.push(what);
  }

  /** What the record becomes: a memory, or `damaged` if it has no text. @param product prefix of its external id */
  *found(product: string, id: unknown): Generator<Found> {
    const { content } = this.#memory;
    if (typeof content !== "string" || content.trim() === "") {
      const isKnown = Object.keys(this.#record).some((field) => this.#read.has(field));
      const why = isKnown ? "has no text" : `has none of the fields of a memory of ${product}`;
      yield { kind: "damaged", place: this.#place, why };
      return;
    }
    for (const field of Object.keys(this.#record)) {
      if (!this.#read.has(field) && !isEmpty(this.#record[field])) this.unplaced(field);
    }
    this.#fitMetadata();
    const found: ImportedMemory = {
      kind: "memory",
      place: this.#place,
      memory: {
        ...this.#memory,
        ...(Object.keys(this.#metadata).length > 0 && { metadata: this.#metadata }),
        externalId: externalIdOf(product, id, `${String(this.#memory.userId ?? "")}\n${content}`),
      },
      mapped: this.#mapped,
      unplaced: this.#unplaced,
      ...(this.#replaces.length > 0 && { replaces: this.#replaces }),
      ...this.#replaced,
    };
    yield found;
  }

  // The largest members go first, because one long text usually is the reason.
  #fitMetadata(): void {
    const sizes = Object.entries(this.#metadata).map(([name, value]) => ({
      name,
      bytes: Buffer.byteLength(JSON.stringify({ [name]: value })),
    }));
    sizes.sort((a, b) => b.bytes - a.bytes);
    for (const { name } of sizes) {
      if (Buffer.byteLength(JSON.stringify(this.#metadata)) <= LIMITS.metadataBytes) return;
      delete this.#metadata[name];
      this.unplaced(`metadata.${name} (metadata over ${LIMITS.metadataBytes} bytes)`);
    }
  }
}

/**
 * The `externalId` of an imported memory, by which a second import finds it: the product and the record's id, or a hash
 * of the id if it is too long, or of `text` if the record has no id.
 */
export function externalIdOf(product: string, id: unknown, text: string): string {
  const given = idOf(id);
  const plain = `${product}:${given}`;
  if (given !== null && [...plain].length <= LIMITS.callerIdCharacters) return plain;
  const hash = createHash("sha256")
    .update(given ?? text)
    .digest("hex");
  return `${product}:sha256-${hash}`;
}

/** An id that is a text or a number, as text; null for anything else. */
export function idOf(value: unknown): string | null {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" && value !== "" ? storable(value) : null;
}

/** A time as the API takes it, from a `Date`, ISO 8601, or Unix seconds or milliseconds; null for anything else. */
export function isoTimeIn(value: unknown): string | null {
  if (typeof value === "number" && Number.isFinite(value) && value > 0) {
    const date = new Date(unixMilliseconds(value));
    return Number.isNaN(date.getTime()) ? null : date.toISOString();
  }
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (typeof value !== "string" || !/^\s*\d{4}-\d{2}-\d{2}/.test(value)) return null;
  const text = value.trim();
  // A time without a zone is taken for UTC, as all of these products store it.
  const zoned = /[zZ]$|[+-]\d{2}:?\d{2}$/.test(text) || !/\d:\d/.test(text) ? text : `${text}Z`;
  const date = new Date(zoned.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, "$1T").replace(/ (?=[zZ+-])/, ""));
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

/** Tags from a list of texts, or from texts separated by commas; without `#`, blanks and repetitions. */
export function tagsOf(value: unknown): readonly string[] {
  const texts = typeof value === "string" ? value.split(",") : Array.isArray(value) ? value : [];
  const tags = texts.flatMap((text) => {
    const tag = typeof text === "string" || typeof text === "number" ? storable(String(text)).trim() : "";
    const name = [...tag.replace(/^#+/, "")].slice(0, LIMITS.tagCharacters).join("");
    return name === "" ? [] : [name];
  });
  return [...new Set(tags)];
}

/** A title without line breaks, cut to the longest that is stored. */
export function fittingTitle(text: string): string {
  return [...storable(text).replace(/\s+/g, " ").trim()].slice(0, LIMITS.titleCharacters).join("").trim();
}

/** A text without what the API refuses: NUL and lone surrogates. */
export function storable(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && !(value instanceof Date) && Object.keys(value).length === 0;
}

// Whether a value may be put into metadata: its texts are storable, and it has few values and levels. Values are
// counted, because shared or circular parts, as YAML can have them, would make a huge JSON text of a small file.
function isStorable(value: unknown): boolean {
  let values = 0;
  const waiting: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    values++;
    if (values > METADATA_VALUES_MAX || item.depth > LIMITS.jsonDepth / 2) return false;
    if (typeof item.value === "string" && storable(item.value) !== item.value) return false;
    if (typeof item.value !== "object" || item.value === null) continue;
    for (const part of Object.values(item.value)) waiting.push({ value: part, depth: item.depth + 1 });
  }
  return true;
}
