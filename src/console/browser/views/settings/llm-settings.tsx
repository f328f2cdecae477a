// The language models of the project: whether one is in use, the first one, and those that are called when it fails.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { LlmTest, Project } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { confirm } from "../../ui/dialog.tsx";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { ArrowUp, Play, Plus, Sparkles, Trash2 } from "../../ui/icons.ts";
import { Badge, Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";
import { bodyOfDraft, draftOf, type LlmDraft, LlmFields, NO_LLM, numberOf } from "./llm-fields.tsx";
import { SavedState } from "./saved-state.tsx";

/** Maximum number of models that are called when those before them fail. */
const FALLBACKS_MAX = 3;

interface Draft {
  readonly first: LlmDraft;
  readonly fallbacks: readonly LlmDraft[];
  readonly month: string;
  readonly isSmart: boolean;
  readonly limit: string;
}

/** What is stored, as the fields have it. */
function storedOf({ llm, smart_ingestion: smart }: Project): Draft {
  return {
    first: draftOf(llm),
    fallbacks: llm.fallbacks.map(draftOf),
    month: llm.monthly_token_limit === null ? "" : String(llm.monthly_token_limit),
    isSmart: smart.enabled,
    limit: smart.daily_token_limit === null ? "" : String(smart.daily_token_limit),
  };
}

/** The card. */
export function LlmSettings({ project, save }: SettingsProps) {
  const { llm } = project;
  const stored = storedOf(project);
  const [draft, setDraft] = useState<Draft>(stored);
  const [test, setTest] = useState<LlmTest | null>(null);
  const edit = (part: Partial<Draft>) => {
    setDraft({ ...draft, ...part });
    setTest(null);
  };
  const setFallback = (at: number, next: LlmDraft) =>
    edit({ fallbacks: draft.fallbacks.map((one, index) => (index === at ? next : one)) });
  const isChanged = JSON.stringify(draft) !== JSON.stringify(stored);
  const body = () => ({
    ...bodyOfDraft(draft.first),
    monthly_token_limit: numberOf(draft.month),
    fallbacks: draft.fallbacks.map(bodyOfDraft),
  });
  const isUsed = llm.model !== null;
  /** Shows what is stored of a project. */
  const reset = (saved: Project) => {
    setDraft(storedOf(saved));
    setTest(null);
  };
  const isNamed = draft.first.model.trim() !== "";
  const mayTest = isNamed && (isChanged || isUsed);
  const runTest = async () =>
    setTest(await (isChanged ? call("testLanguageModel", { body: { llm: body() } }) : call("testLanguageModel")));
  return (
    <Card
      title={t("Language model")}
      icon={Sparkles}
      actions={
        <>
          {!isChanged && (
            <Badge tone={isUsed ? "good" : "neutral"}>{isUsed ? t("connected") : t("not connected")}</Badge>
          )}
          {(isUsed || isChanged) && <SavedState isSaved={!isChanged} />}
          {isUsed && (
            <Button
              size="small"
              kind="danger"
              icon={Trash2}
              label={t("Remove the language model")}
              run={() => askToRemove(save, reset)}
            />
          )}
        </>
      }
    >
      <p class="card-text">
        {isUsed
          ? t("{model} writes the answers.", { model: `${llm.provider} · ${llm.model}` })
          : t("Optional. Without one, answers quote passages, and attributes are extracted by rules.")}
      </p>
      <Form
        label={t("Language model")}
        verb={isUsed ? t("Save") : t("Connect")}
        disabled={!isChanged || !(isUsed || isNamed)}
        discard={isChanged ? () => setDraft(stored) : undefined}
        beside={
          <Button icon={Play} disabled={!mayTest} run={runTest}>
            {isChanged ? t("Test without saving") : t("Test connection")}
          </Button>
        }
        send={async () => {
          const smart_ingestion = { enabled: draft.isSmart, daily_token_limit: numberOf(draft.limit) };
          reset(await save({ llm: body(), smart_ingestion }));
          toast(t("Saved."));
          if (!isUsed) setTest(await call("testLanguageModel"));
        }}
      >
        <LlmFields path="llm" draft={draft.first} onDraft={(first) => edit({ first })} isStored={isUsed}>
          <Field
            name="llm.monthly_token_limit"
            label={t("Monthly limit")}
            type="number"
            min={0}
            unit={t("tokens")}
            placeholder={t("unlimited")}
            value={draft.month}
            onValue={(month) => edit({ month })}
          />
          <Field
            name="smart_ingestion.daily_token_limit"
            label={t("Daily limit for ingestion")}
            type="number"
            min={0}
            unit={t("tokens")}
            placeholder={t("unlimited")}
            value={draft.limit}
            onValue={(limit) => edit({ limit })}
          />
        </LlmFields>
        {draft.fallbacks.map((one, at) => (
          <fieldset key={at} class="stack fallback">
            <legend class="row between">
              <span>{t("Fallback {n}", { n: at + 1 })}</span>
              <span class="row">
                {at > 0 && (
                  <Button
                    kind="ghost"
                    size="small"
                    icon={ArrowUp}
                    label={t("Call it earlier")}
                    run={() => edit({ fallbacks: swapped(draft.fallbacks, at) })}
                  />
                )}
                <Button
                  kind="ghost"
                  size="small"
                  icon={Trash2}
                  label={t("Remove fallback {n}", { n: at + 1 })}
                  run={() => edit({ fallbacks: draft.fallbacks.filter((_, index) => index !== at) })}
                />
              </span>
            </legend>
            <LlmFields
              path={`llm.fallbacks[${at}]`}
              draft={one}
              onDraft={(next) => setFallback(at, next)}
              isStored={at < llm.fallbacks.length}
            />
          </fieldset>
        ))}
        {draft.fallbacks.length < FALLBACKS_MAX && isNamed && (
          <div class="row more-fields">
            <Button
              size="small"
              icon={Plus}
              run={() => edit({ fallbacks: [...draft.fallbacks, { ...NO_LLM, provider: draft.first.provider }] })}
            >
              {t("Add a fallback")}
            </Button>
            <span class="fine">{t("Called in order while the models before it fail")}</span>
          </div>
        )}
        <CheckField
          isSwitch
          label={t("Also use it for ingestion")}
          hint={isNamed ? t("It then extracts titles, tags, entities and facts.") : t("Name a model first.")}
          disabled={!isNamed}
          checked={isNamed && draft.isSmart}
          onChecked={(isSmart) => edit({ isSmart })}
        />
      </Form>
      {test !== null && <Tested test={test} />}
    </Card>
  );
}

/** Asks whether the language model is taken out. */
function askToRemove(save: SettingsProps["save"], onRemoved: (project: Project) => void): void {
  confirm({
    title: t("Remove the language model?"),
    text: t("Answers then quote passages. The key of the provider stays stored until another one replaces it."),
    verb: t("Remove"),
    destroys: true,
    run: async () => {
      onRemoved(await save({ llm: { model: null, base_url: null, fallbacks: [] } }));
      toast(t("Saved."));
    },
  });
}

function Tested({ test: { fallbacks, ...first } }: { readonly test: LlmTest }) {
  return (
    <div class="stack tight tested" role="status">
      {[first, ...fallbacks].map(({ ok, provider, model, ms, message }, index) => (
        <div class="stack-lines" key={`${index} ${provider} ${model}`}>
          <p class="row">
            <Badge tone={ok ? "good" : "bad"}>{`${provider} ${model ?? ""}`}</Badge>
            {ok && <span class="fine number">{t("{n} ms", { n: numberText(ms) })}</span>}
          </p>
          <p class={ok ? "fine" : "field-error"}>{message}</p>
        </div>
      ))}
    </div>
  );
}

/** The list with an item moved one place to the front. */
function swapped<Item>(items: readonly Item[], at: number): readonly Item[] {
  const [one, before] = [items[at], items[at - 1]];
  if (one === undefined || before === undefined) return items;
  return items.map((item, index) => (index === at ? before : index === at - 1 ? one : item));
}
