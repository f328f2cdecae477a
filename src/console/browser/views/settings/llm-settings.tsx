// The language model of the project.

import { useState } from "preact/hooks";
import { t } from "../../core/i18n.ts";
import { CheckField, Field, Form } from "../../ui/form.tsx";
import { Sparkles } from "../../ui/icons.ts";
import { Card } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import type { SettingsProps } from "./answer-settings.tsx";

/** The card. */
export function LlmSettings({ project, save }: SettingsProps) {
  const { llm, smart_ingestion: smart } = project;
  const [address, setAddress] = useState(llm.base_url ?? "");
  const [model, setModel] = useState(llm.model ?? "");
  const [key, setKey] = useState("");
  const [temperature, setTemperature] = useState(llm.temperature === null ? "" : String(llm.temperature));
  const [tokens, setTokens] = useState(llm.max_output_tokens === null ? "" : String(llm.max_output_tokens));
  const [isSmart, setIsSmart] = useState(smart.enabled);
  const [limit, setLimit] = useState(smart.daily_token_limit === null ? "" : String(smart.daily_token_limit));
  const numberOf = (text: string) => (text.trim() === "" ? null : Number(text));
  return (
    <Card title={t("Language model")} icon={Sparkles}>
      <p class="fine">{t("Optional. Without one, answers quote the passages, and attributes are found by rules.")}</p>
      <Form
        label={t("Language model")}
        verb={t("Save")}
        send={async () => {
          await save({
            llm: {
              base_url: address.trim() || null,
              model: model.trim() || null,
              temperature: numberOf(temperature),
              max_output_tokens: numberOf(tokens),
              ...(key.trim() !== "" && { api_key: key.trim() }),
            },
            smart_ingestion: { enabled: isSmart, daily_token_limit: numberOf(limit) },
          });
          setKey("");
          toast(t("Saved."));
        }}
      >
        <Field
          name="llm.base_url"
          label={t("Address")}
          type="url"
          placeholder="https://api.example/v1"
          hint={t("Of a service with OpenAI's interface")}
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
            label={t("Longest answer (tokens)")}
            type="number"
            min={1}
            value={tokens}
            onValue={setTokens}
          />
        </div>
        <CheckField
          label={t("Use it when memories are stored, too")}
          hint={t("It then finds titles, tags, entities and facts")}
          checked={isSmart}
          onChecked={setIsSmart}
        />
        <Field
          name="smart_ingestion.daily_token_limit"
          label={t("Tokens a day for that")}
          type="number"
          min={0}
          placeholder={t("unlimited")}
          value={limit}
          onValue={setLimit}
        />
      </Form>
    </Card>
  );
}
