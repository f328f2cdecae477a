// The actions on a model: test it, calibrate it, delete it.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { InstalledModel, ModelTest } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { project } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { CircleAlert, CircleCheck, Ellipsis, Play, RotateCcw, Target, Trash2, X } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Badge } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";

interface ModelActionsProps {
  readonly model: InstalledModel;
  readonly onChanged: () => void;
}

/** Buttons for the actions. */
export function ModelActions({ model, onChanged }: ModelActionsProps) {
  const { id, kind, task, status, calibration_job: job } = model;
  const [result, setResult] = useState<ModelTest | null>(null);
  const isReady = status === "ready";
  const isCalibrating = job !== null && job.state !== "failed";
  const mayCalibrate = kind !== "built_in" && task !== "read" && isReady;
  const calibrate = () =>
    confirm({
      title: t("Calibrate {model}?", { model: id }),
      text: t(
        "Fits curves to judged samples so that scores become probabilities. It runs in the background for some minutes while searches continue.",
      ),
      option: t("Also use texts from this project as samples"),
      verb: t("Calibrate"),
      run: async (isWithProject) => {
        const body = isWithProject && project.value !== null ? { projectId: project.value.id } : {};
        await call("calibrateInstalledModel", { params: { id }, body });
        onChanged();
      },
    });
  const cancel = async () => {
    await call("cancelModelCalibration", { params: { id } });
    onChanged();
  };
  const remove = () =>
    confirm({
      title: t("Delete the model {model}?", { model: id }),
      text: t("Its files go with it. A model that a project uses cannot be deleted."),
      verb: t("Delete"),
      destroys: true,
      run: async () => {
        await call("deleteInstalledModel", { params: { id } });
        toast(t("The model was deleted."));
        onChanged();
      },
    });
  return (
    <div class="row">
      {status === "failed" && kind === "installed" ? (
        <Button
          size="small"
          icon={RotateCcw}
          run={async () => {
            await call("retryInstalledModel", { params: { id } });
            onChanged();
          }}
        >
          {t("Retry")}
        </Button>
      ) : (
        <Button
          size="small"
          icon={Play}
          disabled={!isReady}
          run={async () => setResult(await call("testInstalledModel", { params: { id } }))}
        >
          {t("Test")}
        </Button>
      )}
      {kind !== "built_in" && (
        <Menu
          label={t("More")}
          icon={Ellipsis}
          size="small"
          items={[
            mayCalibrate && !isCalibrating && { label: t("Calibrate"), icon: Target, run: calibrate },
            job !== null && {
              label: isCalibrating ? t("Cancel the calibration") : t("Dismiss the failed calibration"),
              icon: X,
              run: cancel,
            },
            { label: t("Delete"), icon: Trash2, danger: true, run: remove },
          ]}
        />
      )}
      {result !== null && <TestResult id={id} result={result} close={() => setResult(null)} />}
    </div>
  );
}

interface TestResultProps {
  readonly id: string;
  readonly result: ModelTest;
  readonly close: () => void;
}

function TestResult({ id, result: { ok, ms, checks }, close }: TestResultProps) {
  return (
    <Dialog title={t("Test of {model}", { model: id })} close={close}>
      <div class="stack tight" role="status">
        <p class="row">
          <Badge tone={ok ? "good" : "bad"}>{ok ? t("The model works as expected.") : t("Something is wrong.")}</Badge>
          <span class="fine number">{t("{n} ms", { n: numberText(ms) })}</span>
        </p>
        <ul class="list stack tight">
          {checks.map(({ name, ok: isRight, message }) => (
            <li key={name} class="row top">
              {isRight ? (
                <CircleCheck size={16} aria-label={t("right")} />
              ) : (
                <CircleAlert size={16} aria-label={t("wrong")} />
              )}
              <span class={isRight ? "" : "field-error"}>{message}</span>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
