// What the browser keeps: keys in this tab only, until it is closed; appearance, language and finished first steps for
// longer. No other file writes to the browser's storage.

/** Names of what is kept for longer. None of it is secret. */
type Preference = "theme" | "language" | "columns" | "steps";

/** The keys of this tab, as JSON. */
export const keySlot = {
  get: () => sessionStorage.getItem("mneme.keys"),
  set: (text: string) => sessionStorage.setItem("mneme.keys", text),
  remove: () => sessionStorage.removeItem("mneme.keys"),
};

/** Reads a preference; null if there is none, or if the browser keeps nothing. */
export function preference(name: Preference): string | null {
  try {
    return localStorage.getItem(`mneme.${name}`);
  } catch {
    return null; // the browser forbids it: then there are the defaults
  }
}

/** Keeps a preference, if the browser does. */
export function keepPreference(name: Preference, value: string): void {
  try {
    localStorage.setItem(`mneme.${name}`, value);
  } catch {
    return; // the browser forbids it: the choice holds until the page is closed
  }
}
