// How a checked filter crosses to the native core (native/src/filters/filter.rs): as JSON of the same shape. What it means is
// domain/filter.ts.

import type { Filter, FilterCondition, FilterValues } from "../../domain/filter.ts";
import type { Json } from "../../domain/memory.ts";

/** The JSON text of a filter. */
export function filterJson(filter: Filter): string {
  return JSON.stringify(toJson(filter));
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
      // numbers as text: an operand of 1e400 is infinity, which JSON cannot say
      return {
        kind: "compares",
        operator,
        ...(typeof bound === "number" ? { number: String(bound) } : { text: bound }),
      };
    }
    case "contains":
      return { kind: "contains", text: condition.text, ...valuesToJson(condition.values) };
  }
}

// Nothing that is stored equals infinity, and as JSON it would become null.
function valuesToJson({ scalars, composites }: FilterValues): { readonly [key: string]: Json } {
  return {
    scalars: [...scalars].filter((scalar) => typeof scalar !== "number" || Number.isFinite(scalar)),
    composites: [...composites].map((composite): Json => JSON.parse(composite)),
  };
}
