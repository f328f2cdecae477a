// The address of a view: a path and filters behind the `#`, such as `#/memories?status=failed`. The server knows one
// page only, so that the console works below any path of any proxy.

import { signal } from "@preact/signals";

/** Where the page is. */
export interface Place {
  /** Parts of the path, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** Filters of an address; null and empty ones are left out. */
export type Filters = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** The current place. */
export const place = signal<Place>(read());

function read(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter((part) => part !== "");
  return { path: parts.map(decoded), query: new URLSearchParams(query) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // someone typed a percent sign
  }
}

addEventListener("hashchange", () => {
  place.value = read();
});

/** The address of a view. */
export function to(path: readonly string[], filters: Filters = {}): string {
  const given = Object.entries(filters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${query === "" ? "" : `?${query}`}`;
}

/** Goes to a view. */
export function go(path: readonly string[], filters: Filters = {}): void {
  location.hash = to(path, filters);
}

/** Changes filters of the current view; a change of filters is no step to go back from. */
export function setFilters(filters: Filters, isStep = false): void {
  const { path, query } = place.value;
  const address = to(path, { ...Object.fromEntries(query), ...filters });
  if (address === location.hash) return;
  if (isStep) location.hash = address;
  else {
    history.replaceState(null, "", address);
    place.value = read();
  }
}

/** A filter of the current view; empty if it has none. */
export function filterOf(name: string): string {
  return place.value.query.get(name) ?? "";
}
