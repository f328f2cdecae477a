// The state of a model (whether it can be used) and of its calibration (where the curves of its scores come from).

import type { InstalledModel } from "../../core/calls.ts";
import { bytesText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Badge, Meter } from "../../ui/pieces.tsx";

const STATES = {
  downloading: ["warn", "downloading"],
  checking: ["warn", "being checked"],
  ready: ["good", "ready"],
  failed: ["bad", "failed"],
} as const;
const CURVES = {
  shipped: ["neutral", "calibrated"],
  fitted: ["good", "calibrated here"],
  none: ["warn", "not calibrated"],
} as const;

/** A badge that says whether the model can be used, or how far its installation is. */
export function ModelState({ model: { status, progress } }: { readonly model: InstalledModel }) {
  const [tone, text] = STATES[status];
  const isMoving = status === "downloading" && progress !== null;
  const total = progress?.bytes_total ?? null;
  return (
    <>
      <Badge tone={tone}>{t(text)}</Badge>
      {isMoving && (
        <span class="fine number">
          {bytesText(progress.bytes_done)}
          {total !== null && ` / ${bytesText(total)}`}
        </span>
      )}
      {isMoving && total !== null && total > 0 && <Meter label={t("Downloaded")} share={progress.bytes_done / total} />}
    </>
  );
}

/** Where the curves of the model's scores come from, or how far its calibration is. */
export function CalibrationState({ model }: { readonly model: InstalledModel }) {
  const { calibration, calibration_job: job } = model;
  const [tone, text] = CURVES[calibration];
  if (job === null || job.state === "failed") {
    return (
      <>
        <Badge tone={tone}>{t(text)}</Badge>
        {job !== null && <Badge tone="bad">{t("calibration failed")}</Badge>}
      </>
    );
  }
  return (
    <>
      <Badge tone="accent">{job.state === "running" ? t("being calibrated") : t("calibration waits")}</Badge>
      {job.total !== null && job.total > 0 && (
        <>
          <span class="fine number">
            {t("{n} of {total} searches", { n: numberText(job.done), total: numberText(job.total) })}
          </span>
          <Meter label={t("Calibrated")} share={job.done / job.total} />
        </>
      )}
    </>
  );
}
