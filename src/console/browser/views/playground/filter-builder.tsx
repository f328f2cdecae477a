// A form for filters: each row has a field, a comparison and a value. Filters that rows cannot express are edited as
// JSON.

import { useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { Plus, X } from "../../ui/icons.ts";

interface Row {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

const FIELDS = [
  "tags",
  "type",
  "language",
  "title",
  "userId",
  "agentId",
  "sessionId",
  "externalId",
  "occurred_at",
  "created_at",
  "source.media_type",
  "metadata.",
];
const OPERATORS: readonly (readonly [string, string])[] = [
  ["$eq", "is"],
  ["$ne", "is not"],
  ["$contains", "contains"],
  ["$gte", "at least"],
  ["$gt", "more than"],
  ["$lte", "at most"],
  ["$lt", "less than"],
  ["$in", "is one of"],
  ["$exists", "exists"],
];

interface BuilderProps {
  /** JSON of the filters; may be empty. */
  readonly value: string;
  readonly onValue: (json: string) => void;
}

/** The form. All of its conditions must hold. */
export function FilterBuilder({ value, onValue }: BuilderProps) {
  const parsed = rowsOf(value);
  const [rows, setRows] = useState<readonly Row[]>(parsed ?? []);
  const [isJson, setIsJson] = useState(parsed === null);
  const change = (next: readonly Row[]) => {
    setRows(next);
    onValue(jsonOfRows(next));
  };
  const edit = (at: number, part: Partial<Row>) =>
    change(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  return (
    <fieldset class="stack tight">
      <legend>{t("Filters")}</legend>
      {isJson ? (
        <Field
          name="filters"
          label={t("Filters (JSON)")}
          lines={4}
          code
          value={value}
          onValue={onValue}
          placeholder={'{"tags": "invoice", "metadata.year": {"$gte": 2024}}'}
        />
      ) : (
        rows.map(({ field, operator, value: text }, at) => (
          <div class="filter-row" key={at}>
            <Field
              name="field"
              quiet
              label={t("Field")}
              value={field}
              suggestions={FIELDS}
              placeholder="tags"
              onValue={(next) => edit(at, { field: next })}
            />
            <Field
              name="operator"
              quiet
              label={t("Comparison")}
              value={operator}
              options={OPERATORS.map(([name, label]) => [name, t(label)] as const)}
              onValue={(next) => edit(at, { operator: next })}
            />
            <Field
              name="filters"
              quiet
              label={t("Value")}
              value={text}
              placeholder={operator === "$exists" ? "true" : t("Value")}
              onValue={(next) => edit(at, { value: next })}
            />
            <Button
              kind="ghost"
              icon={X}
              label={t("Remove this condition")}
              run={() => change(rows.filter((_, index) => index !== at))}
            />
          </div>
        ))
      )}
      <div class="row">
        {!isJson && (
          <Button
            size="small"
            icon={Plus}
            run={() => setRows([...rows, { field: "tags", operator: "$eq", value: "" }])}
          >
            {t("Add a condition")}
          </Button>
        )}
        <Button
          size="small"
          kind="ghost"
          disabled={isJson && rowsOf(value) === null}
          run={() => {
            if (isJson) setRows(rowsOf(value) ?? []);
            setIsJson(!isJson);
          }}
        >
          {isJson ? t("Edit as conditions") : t("Edit as JSON")}
        </Button>
      </div>
    </fieldset>
  );
}

function jsonOfRows(rows: readonly Row[]): string {
  const conditions = rows
    .filter(({ field, value }) => field.trim() !== "" && value.trim() !== "")
    .map(({ field, operator, value }) => ({
      [field.trim()]: operator === "$eq" ? typed(value) : { [operator]: operandOf(operator, value) },
    }));
  if (conditions.length === 0) return "";
  const isFlat = new Set(conditions.flatMap((condition) => Object.keys(condition))).size === conditions.length;
  return JSON.stringify(isFlat ? Object.assign({}, ...conditions) : { $and: conditions });
}

function operandOf(operator: string, value: string): unknown {
  return operator === "$in" ? value.split(",").map((part) => typed(part.trim())) : typed(value);
}

/** Converts an input to a number, boolean or null if it looks like one. In quotes, as in `"2024"`, it stays a text. */
function typed(text: string): unknown {
  const given = text.trim();
  if (!/^(-?\d+(\.\d+)?|true|false|null|".*")$/.test(given)) return given;
  try {
    return JSON.parse(given);
  } catch {
    return given; // such as the postcode 01234, which is no number of JSON
  }
}

/** Converts filters to rows; null if rows cannot express them. */
function rowsOf(json: string): readonly Row[] | null {
  if (json.trim() === "") return [];
  try {
    const filters: unknown = JSON.parse(json);
    const conditions = Object.keys(filters as object).includes("$and")
      ? ((filters as { $and: unknown }).$and as object[])
      : [filters as object];
    return conditions.flatMap((condition) => Object.entries(condition).flatMap(rowsOfField));
  } catch {
    return null; // not JSON yet, or filters that rows cannot express
  }
}

function rowsOfField([field, operand]: [string, unknown]): readonly Row[] {
  if (field.startsWith("$")) throw new Error("rows have no such combination");
  if (typeof operand !== "object" || operand === null || Array.isArray(operand))
    return [{ field, operator: "$eq", value: shown(operand) }];
  return Object.entries(operand).map(([operator, value]) => {
    if (!OPERATORS.some(([name]) => name === operator)) throw new Error("rows have no such operator");
    return { field, operator, value: Array.isArray(value) ? value.map(shown).join(", ") : shown(value) };
  });
}

function shown(value: unknown): string {
  const looksOther = typeof value === "string" && typed(value) !== value;
  return typeof value === "string" && !looksOther ? value : JSON.stringify(value);
}
