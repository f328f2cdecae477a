// The browser's storage: keys for this tab until it is closed, and preferences permanently. No other file writes to it.

/** Names of the preferences. None of them is secret. */
type Preference = "theme" | "language" | "columns" | "steps";

/** The keys of this tab, as a JSON array. */
export const keySlot = {
  get: () => sessionStorage.getItem("mneme.keys"),
  set: (text: string) => sessionStorage.setItem("mneme.keys", text),
  remove: () => sessionStorage.removeItem("mneme.keys"),
};

/** Reads a preference; null if it is not set, or if the browser forbids storage. */
export function preference(name: Preference): string | null {
  try {
    return localStorage.getItem(`mneme.${name}`);
  } catch {
    return null; // the browser forbids storage, so the defaults apply
  }
}

/** Stores a preference, unless the browser forbids storage. */
export function keepPreference(name: Preference, value: string): void {
  try {
    localStorage.setItem(`mneme.${name}`, value);
  } catch {
    return; // the browser forbids storage, so the choice lasts until the page is closed
  }
}
