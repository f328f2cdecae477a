// A note in the sidebar about keys that may not do everything with their project's memories.

import { t } from "../core/i18n.ts";
import { rights } from "../core/session.ts";

/** A note for keys of one user, or keys that may not write; null for others. */
export function KeyNote() {
  const known = rights.value;
  if (known === null) return null;
  if (known.isConfined) return <p class="server-state">{t("This key sees the data of one user.")}</p>;
  if (!known.memoriesWrite) return <p class="server-state">{t("This key may not change memories.")}</p>;
  return null;
}
