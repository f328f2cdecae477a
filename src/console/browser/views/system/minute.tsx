// What the server did in the last minute, with a line of how that changed while this page was open.

import type { System as SystemState } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Sparkline } from "../../ui/sparkline.tsx";

/** Number of samples that are kept: those of about ten minutes. */
const SAMPLES = 120;

type Sample = SystemState["last_minute"];
/** Samples of all visits of the view since the page was loaded, oldest first. */
let samples: readonly Sample[] = [];

/** Adds what the server reported to the lines. */
export function addSample(sample: Sample): void {
  samples = [...samples, sample].slice(-SAMPLES);
}

/** The tiles. */
export function Minute({ state: { last_minute: minute } }: { readonly state: SystemState }) {
  const tiles = [
    [t("Searches"), "searches"],
    [t("Answers"), "answers"],
    [t("Memories stored"), "stored"],
    [t("Memories failed"), "failed"],
  ] as const;
  return (
    <section class="stack tight" aria-label={t("In the last minute")}>
      <p class="fine">{t("In the last minute")}</p>
      <div class="tiles">
        {tiles.map(([label, name]) => (
          <div key={label} class={`tile with-line ${name === "failed" && minute.failed > 0 ? "bad" : ""}`}>
            <span class="tile-label">{label}</span>
            <span class="tile-value number">{numberText(minute[name])}</span>
            <Sparkline values={samples.map((sample) => sample[name])} />
          </div>
        ))}
      </div>
    </section>
  );
}
