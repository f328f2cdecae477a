// Whether what a card of settings shows is saved, or was changed since.

import { t } from "../../core/i18n.ts";
import { Check } from "../../ui/icons.ts";
import { Badge } from "../../ui/pieces.tsx";

/** The state, for the head of the card. */
export function SavedState({ isSaved }: { readonly isSaved: boolean }) {
  return (
    <span role="status">
      {isSaved ? (
        <span class="fine row nowrap saved">
          <Check size={14} aria-hidden="true" /> {t("Saved")}
        </span>
      ) : (
        <Badge tone="warn">{t("Unsaved changes")}</Badge>
      )}
    </span>
  );
}
