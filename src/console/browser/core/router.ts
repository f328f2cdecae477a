// The address of a view: a path and filters after the `#`, such as `#/memories?status=failed`. The server does not get
// this part, so the console works below any path of a proxy.

import { signal } from "@preact/signals";

/** The view and filters that the address names. */
export interface Place {
  /** Parts of the path, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
  /** Whether the same view had another address before. */
  readonly isRenamed?: boolean;
}

/** Filters of an address. Null and empty ones are left out of it. */
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
    return part; // not valid percent encoding: the part is taken as it is
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

/** Changes filters of the current view. The browser's Back button skips the change unless `isStep` is true. */
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

/** Changes the address of the open view, such as when a new chat has got its id. The view is not opened again. */
export function rename(path: readonly string[], filters: Filters = {}): void {
  history.replaceState(null, "", to(path, filters));
  place.value = { ...read(), isRenamed: true };
}

/** The value of a filter of the current view; empty if it is not set. */
export function filterOf(name: string): string {
  return place.value.query.get(name) ?? "";
}
