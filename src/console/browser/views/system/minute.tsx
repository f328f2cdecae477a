// What the server did in the last minute, with a line of the last hour.

import type { System as SystemState } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Sparkline } from "../../ui/sparkline.tsx";

/** The tiles. */
export function Minute({ state: { last_minute: minute, last_hour: hour } }: { readonly state: SystemState }) {
  const tiles = [
    [t("Searches"), "searches"],
    [t("Answers"), "answers"],
    [t("Memories stored"), "stored"],
    [t("Memories failed"), "failed"],
  ] as const;
  return (
    <section class="stack tight" aria-label={t("In the last minute")}>
      <p class="fine">{t("In the last minute; the lines show the last hour")}</p>
      <div class="tiles">
        {tiles.map(([label, name]) => (
          <div key={label} class={`tile with-line ${name === "failed" && minute.failed > 0 ? "bad" : ""}`}>
            <span class="tile-label">{label}</span>
            <span class="tile-value number">{numberText(minute[name])}</span>
            <Sparkline values={hour[name]} />
          </div>
        ))}
      </div>
    </section>
  );
}
