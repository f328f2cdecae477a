// Settings for the language model of the project.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { LlmTest, Project } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { Button } from "../../ui/button.tsx";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { Play, Sparkles } from "../../ui/icons.ts";
import { Badge, Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";

const PROVIDERS: readonly (readonly [Project["llm"]["provider"], string])[] = [
  ["openai", "OpenAI"],
  ["ollama", "Ollama"],
  ["anthropic", "Anthropic"],
  ["gemini", "Gemini"],
];
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  openai: "https://api.example/v1",
  ollama: "http://ollama.example:11434",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
};

/** A card with the settings for the language model. */
export function LlmSettings({ project, save }: SettingsProps) {
  const { llm, smart_ingestion: smart } = project;
  const [provider, setProvider] = useState<string>(llm.provider);
  const [address, setAddress] = useState(llm.base_url ?? "");
  const [model, setModel] = useState(llm.model ?? "");
  const [key, setKey] = useState("");
  const [temperature, setTemperature] = useState(llm.temperature === null ? "" : String(llm.temperature));
  const [tokens, setTokens] = useState(llm.max_output_tokens === null ? "" : String(llm.max_output_tokens));
  const [isSmart, setIsSmart] = useState(smart.enabled);
  const [test, setTest] = useState<LlmTest | null>(null);
  const [month, setMonth] = useState(llm.monthly_token_limit === null ? "" : String(llm.monthly_token_limit));
  const [limit, setLimit] = useState(smart.daily_token_limit === null ? "" : String(smart.daily_token_limit));
  const numberOf = (text: string) => (text.trim() === "" ? null : Number(text));
  return (
    <Card title={t("Language model")} icon={Sparkles}>
      <p class="fine">{t("Optional. Without one, answers quote passages, and attributes are extracted by rules.")}</p>
      <Form
        label={t("Language model")}
        verb={t("Save")}
        beside={
          <Button icon={Play} run={async () => setTest(await call("testLanguageModel"))}>
            {t("Test what is saved")}
          </Button>
        }
        send={async () => {
          await save({
            llm: {
              provider,
              base_url: address.trim() || null,
              model: model.trim() || null,
              temperature: numberOf(temperature),
              max_output_tokens: numberOf(tokens),
              monthly_token_limit: numberOf(month),
              ...(key.trim() !== "" && { api_key: key.trim() }),
            },
            smart_ingestion: { enabled: isSmart, daily_token_limit: numberOf(limit) },
          });
          setKey("");
          toast(t("Saved."));
        }}
      >
        <Field
          name="llm.provider"
          label={t("Provider API")}
          value={provider}
          onValue={setProvider}
          options={PROVIDERS}
        />
        <Field
          name="llm.base_url"
          label={t("Address")}
          type="url"
          placeholder={PLACEHOLDERS[provider]}
          value={address}
          onValue={setAddress}
        />
        <Field name="llm.model" label={t("Model")} value={model} onValue={setModel} />
        <Field
          name="llm.api_key"
          label={t("Key of the service")}
          type="password"
          hint={t("It is never shown again; empty: it stays as it is")}
          value={key}
          onValue={setKey}
        />
        <div class="columns narrow">
          <Field
            name="llm.temperature"
            label={t("Temperature")}
            type="number"
            min={0}
            max={2}
            step={0.1}
            value={temperature}
            onValue={setTemperature}
          />
          <Field
            name="llm.max_output_tokens"
            label={t("Maximum answer (tokens)")}
            type="number"
            min={1}
            value={tokens}
            onValue={setTokens}
          />
        </div>
        <Field
          name="llm.monthly_token_limit"
          label={t("Monthly token limit")}
          type="number"
          min={0}
          placeholder={t("unlimited")}
          value={month}
          onValue={setMonth}
        />
        <CheckField
          label={t("Also use it for ingestion")}
          hint={t("It then extracts titles, tags, entities and facts")}
          checked={isSmart}
          onChecked={setIsSmart}
        />
        <Field
          name="smart_ingestion.daily_token_limit"
          label={t("Daily token limit for ingestion")}
          type="number"
          min={0}
          placeholder={t("unlimited")}
          value={limit}
          onValue={setLimit}
        />
      </Form>
      {test !== null && <Tested test={test} />}
    </Card>
  );
}

function Tested({ test: { fallbacks, ...first } }: { readonly test: LlmTest }) {
  return (
    <div class="stack tight" role="status">
      {[first, ...fallbacks].map(({ ok, provider, model, ms, message }, index) => (
        <p class={ok ? "fine" : "field-error"} key={`${index} ${provider} ${model}`}>
          <Badge tone={ok ? "good" : "bad"}>{`${provider} ${model ?? ""}`}</Badge> {message}{" "}
          {ok && t("{n} ms", { n: numberText(ms) })}
        </p>
      ))}
    </div>
  );
}
