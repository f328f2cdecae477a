// Light or dark: as the system says, or as the person chose.

import { computed, signal } from "@preact/signals";
import { keepPreference, preference } from "./storage.ts";

/** A choice of the appearance. */
export type Theme = "system" | "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => {
  systemIsDark.value = system.matches;
});

/** The choice. */
export const theme = signal<Theme>(kept());
/** Whether the page is dark now. */
export const isDark = computed(() => theme.value === "dark" || (theme.value === "system" && systemIsDark.value));

isDark.subscribe((dark) => {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
});

/** Chooses the appearance, and keeps the choice. */
export function chooseTheme(choice: Theme): void {
  theme.value = choice;
  keepPreference("theme", choice);
}

/** The value of a colour token, for drawings on a canvas. */
export function colour(token: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${token}`).trim();
}

function kept(): Theme {
  const value = preference("theme");
  return value === "light" || value === "dark" ? value : "system";
}
