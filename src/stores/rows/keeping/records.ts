// Converts between the records of an export (domain/project-export.ts) and the rows of both databases.

import {
  EXPORT_FIELDS,
  type ExportField,
  type ExportRecord,
  type ExportType,
  type RecordOf,
} from "../../../domain/project-export.ts";
import type { AnyRow, RowValue } from "./row-access.ts";

/** How each form is read from a column that is not null, and written to one. */
const FORMS: Readonly<
  Record<ExportField["form"], readonly [read: (value: RowValue) => unknown, write: (value: unknown) => RowValue]>
> = {
  text: [(value) => value, (value) => value as string],
  integer: [Number, (value) => value as number],
  flag: [(value) => value === 1n, Number],
  json: [(value) => JSON.parse(value as string), (value) => JSON.stringify(value)],
  hex: [encodedAs("hex"), decodedFrom("hex")],
  base64: [encodedAs("base64"), decodedFrom("base64")],
  apart: [() => null, () => null],
};

function encodedAs(encoding: "hex" | "base64") {
  return (value: RowValue) => Buffer.from(value as Uint8Array).toString(encoding);
}

function decodedFrom(encoding: "hex" | "base64") {
  return (value: unknown) => Buffer.from(value as string, encoding);
}

function fieldsOf(type: ExportType): readonly (readonly [name: string, field: ExportField])[] {
  return Object.entries(EXPORT_FIELDS[type]);
}

/** The record of a row with the columns of its type. Values that are not those of one column are null. */
export function recordOf<Type extends ExportType>(type: Type, row: AnyRow): RecordOf<Type> {
  const record: Record<string, unknown> = { type };
  for (const [name, { form, column = name, isOptional }] of fieldsOf(type)) {
    const value = row[column] ?? null;
    if (value !== null || isOptional !== true) record[name] = value === null ? null : FORMS[form][0](value);
  }
  return record as RecordOf<Type>;
}

/** The columns of a record. */
export function columnsOf(record: ExportRecord): AnyRow {
  const values: Readonly<Record<string, unknown>> = { ...record };
  return Object.fromEntries(
    fieldsOf(record.type).flatMap(([name, { form, column = name }]) => {
      const value = values[name] ?? null;
      return form === "apart" ? [] : [[column, value === null ? null : FORMS[form][1](value)]];
    }),
  );
}
