// The theme: light, dark, or that of the operating system.

import { computed, signal } from "@preact/signals";
import { keepPreference, preference } from "./storage.ts";

/** A choice of the theme. */
export type Theme = "system" | "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => {
  systemIsDark.value = system.matches;
});

/** The chosen theme. */
export const theme = signal<Theme>(kept());
/** Whether the page is shown in dark. */
export const isDark = computed(() => theme.value === "dark" || (theme.value === "system" && systemIsDark.value));

isDark.subscribe((dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
});

/** Sets the theme, and stores the choice in the browser. */
export function chooseTheme(choice: Theme): void {
  theme.value = choice;
  keepPreference("theme", choice);
}

/** The value of a style token of tokens.css, for drawings on a canvas. */
export function colour(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();
}

function kept(): Theme {
  const value = preference("theme");
  return value === "light" || value === "dark" ? value : "system";
}
