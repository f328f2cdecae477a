// Serialises a validated filter as JSON of the same structure, which the native core reads
// (native/src/filters/filter.rs). domain/filter.ts defines the meaning of filters.

import { Fault } from "../../domain/fault.ts";
import type { Filter, FilterCondition, FilterValues } from "../../domain/filter.ts";
import type { Json } from "../../domain/json.ts";
import { exactInteger, parseJson } from "../../kit/exact-json.ts";
import { NativeError } from "./addon.ts";

/** The JSON text of a filter. */
export function filterJson(filter: Filter): string {
  return JSON.stringify(toJson(filter));
}

/** The Fault for a filter that the native core refuses as too much work; null for other errors. */
export function faultOfFilter(cause: unknown): Fault | null {
  if (!(cause instanceof NativeError) || cause.code !== "too_dear") return null;
  const message = `'filters' is too much work for this project: ${cause.detail}. Use fewer conditions or values, above all with $contains.`;
  return new Fault("invalid_filter", message, { param: "filters", cause });
}

function toJson(filter: Filter): Json {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, filters: filter.filters.map(toJson) };
    case "not":
      return { kind: "not", filter: toJson(filter.filter) };
    case "field":
      return { kind: "field", field: { ...filter.field }, condition: conditionToJson(filter.condition) };
  }
}

function conditionToJson(condition: FilterCondition): Json {
  switch (condition.kind) {
    case "exists":
      return { kind: "exists" };
    case "equals":
      return { kind: "equals", ...valuesToJson(condition.values) };
    case "compares": {
      const { operator, bound } = condition;
      // Numbers are sent as text, because JSON cannot represent infinity (an operand of 1e400).
      return {
        kind: "compares",
        operator,
        ...(typeof bound === "string" ? { text: bound } : { number: String(bound) }),
      };
    }
    case "contains":
      return { kind: "contains", text: condition.text, ...valuesToJson(condition.values) };
  }
}

// Infinity is left out: no stored value equals it, and JSON would turn it into null.
function valuesToJson({ scalars, composites }: FilterValues): { readonly [key: string]: Json } {
  return {
    scalars: [...scalars]
      .filter((scalar) => typeof scalar !== "number" || Number.isFinite(scalar))
      .map((scalar) => (typeof scalar === "bigint" ? exactInteger(scalar) : scalar)),
    composites: [...composites].map((composite): Json => parseJson(composite) as Json),
  };
}
