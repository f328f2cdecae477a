// Converts requests of mem0's earlier clients (2.x for JavaScript) to those of current clients. The earlier ones name
// entities beside the filters or in the query.

import { isRecord, type JsonRecord } from "../../kit/record.ts";
import { entitiesOf } from "./adding.ts";
import { ENTITY_NAMES, objectField } from "./names.ts";

/** Fields that chose between the forms of these requests. */
const VERSION_FIELDS: readonly string[] = ["api_version", "version"];

/** The body of a search or list, with its entities in `filters`. @throws Fault `invalid_request` */
export function withEntitiesInFilters(body: unknown): unknown {
  if (!isRecord(body)) return body;
  const entities = entitiesOf(body);
  const rest = Object.entries(body).filter(([name]) => !isEntity(name) && !VERSION_FIELDS.includes(name));
  const filters = objectField(body, "filters") ?? {};
  const parts = [filters, entities].filter((part) => Object.keys(part).length > 0);
  return { ...Object.fromEntries(rest), ...(parts.length > 0 && { filters: { AND: parts } }) };
}

/** The query of a list without its page, as a body. @throws Fault `invalid_request` */
export function bodyOfQuery({ page: _, page_size: __, ...query }: JsonRecord): unknown {
  const categories = query.categories;
  return withEntitiesInFilters({
    ...query,
    ...(typeof categories === "string" && { categories: categories.split(",") }),
  });
}

function isEntity(name: string): boolean {
  return ENTITY_NAMES.some((entity) => entity === name);
}
