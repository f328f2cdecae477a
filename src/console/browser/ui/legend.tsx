// The legend of a picture: what its colours stand for, as buttons that show one group alone.

import { numberText } from "../core/format.ts";
import { t } from "../core/i18n.ts";

/** A group of a picture. */
export interface LegendGroup {
  readonly name: string;
  readonly title: string;
  /** Colour token. */
  readonly colour: string;
  readonly count: number;
  /** Whether it stands for what has no such property. */
  readonly isNone?: boolean;
}

interface LegendProps {
  readonly groups: readonly LegendGroup[];
  /** Name of the group that is shown alone; null: all are shown. */
  readonly only: string | null;
  readonly onOnly: (name: string | null) => void;
}

/** The legend. */
export function Legend({ groups, only, onOnly }: LegendProps) {
  return (
    <div class="legend legend-filter" role="group" aria-label={t("Show only")}>
      {groups.map(({ name, title, colour, count, isNone }) => (
        <button
          key={name}
          type="button"
          class="legend-button"
          aria-pressed={only === name}
          onClick={() => onOnly(only === name ? null : name)}
        >
          <span class="legend-dot" style={{ background: `var(--${colour})` }} />
          <span class={`cut ${isNone ? "fine" : ""}`} dir="auto">
            {title}
          </span>
          <span class="fine number">{numberText(count)}</span>
        </button>
      ))}
    </div>
  );
}
