// The fields of one language model: the first one of a project, or one that is called when those before it fail.

import type { ComponentChildren } from "preact";
import type { Project } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Field } from "../../ui/form.tsx";

const PROVIDERS: readonly (readonly [Project["llm"]["provider"], string])[] = [
  ["openai", "OpenAI-compatible"],
  ["ollama", "Ollama"],
  ["anthropic", "Anthropic"],
  ["gemini", "Gemini"],
];
/** Examples of an address, a model and a key, by provider. */
const EXAMPLES: Readonly<Record<string, readonly [address: string, model: string, key: string]>> = {
  openai: ["https://api.openai.com/v1", "gpt-4.1-mini", "sk-…"],
  ollama: ["http://ollama.example:11434", "llama3.2", ""],
  anthropic: ["https://api.anthropic.com", "claude-sonnet-4-5", "sk-ant-…"],
  gemini: ["https://generativelanguage.googleapis.com", "gemini-2.5-flash", "AIza…"],
};

/** A language model as the fields have it. */
export interface LlmDraft {
  readonly provider: string;
  readonly address: string;
  readonly model: string;
  /** Empty: the stored one stays. */
  readonly key: string;
  readonly temperature: string;
  readonly tokens: string;
}

type LlmModel = Project["llm"]["fallbacks"][number];

/** A model without anything filled in. */
export const NO_LLM: LlmDraft = { provider: "openai", address: "", model: "", key: "", temperature: "", tokens: "" };

/** The fields of a stored model. */
export function draftOf({ provider, base_url, model, temperature, max_output_tokens: tokens }: LlmModel): LlmDraft {
  return {
    ...{ provider, address: base_url ?? "", model: model ?? "", key: "" },
    temperature: temperature === null ? "" : String(temperature),
    tokens: tokens === null ? "" : String(tokens),
  };
}

/** A model as the API takes it. */
export function bodyOfDraft({ provider, address, model, key, temperature, tokens }: LlmDraft): object {
  return {
    provider,
    base_url: address.trim() || null,
    model: model.trim() || null,
    temperature: numberOf(temperature),
    max_output_tokens: numberOf(tokens),
    ...(key.trim() !== "" && { api_key: key.trim() }),
  };
}

/** The number in a field; null if it is empty. */
export function numberOf(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

interface LlmFieldsProps {
  /** Place of the model in the body of the API, such as `llm`. */
  readonly path: string;
  readonly draft: LlmDraft;
  readonly onDraft: (draft: LlmDraft) => void;
  /** Whether a key may be stored already. */
  readonly isStored: boolean;
  /** Further fields among those that are rarely needed. */
  readonly children?: ComponentChildren;
}

/** The fields. */
export function LlmFields({ path, draft, onDraft, isStored, children }: LlmFieldsProps) {
  const [address, model, key] = EXAMPLES[draft.provider] ?? ["", "", ""];
  const edit = (part: Partial<LlmDraft>) => onDraft({ ...draft, ...part });
  return (
    <>
      <div class="columns narrow">
        <Field
          name={`${path}.provider`}
          label={t("Provider API")}
          value={draft.provider}
          onValue={(provider) => edit({ provider })}
          options={PROVIDERS}
        />
        <Field
          name={`${path}.model`}
          label={t("Model")}
          placeholder={model}
          value={draft.model}
          onValue={(one) => edit({ model: one })}
        />
      </div>
      <Field
        name={`${path}.base_url`}
        label={t("Address")}
        type="url"
        placeholder={address}
        hint={t("Optional. Without one, the address in grey is called.")}
        value={draft.address}
        onValue={(one) => edit({ address: one })}
      />
      <Field
        name={`${path}.api_key`}
        label={t("API key of the provider")}
        type="password"
        hint={
          isStored ? t("Leave empty to keep the stored key. It is never shown again.") : t("It is never shown again.")
        }
        placeholder={key}
        value={draft.key}
        onValue={(one) => edit({ key: one })}
      />
      <details class="more-fields" open={draft.temperature !== "" || draft.tokens !== ""}>
        <summary>{t("Temperature, length and limits")}</summary>
        <Field
          name={`${path}.temperature`}
          label={t("Temperature")}
          type="number"
          min={0}
          max={2}
          step={0.1}
          placeholder="0.2"
          value={draft.temperature}
          onValue={(temperature) => edit({ temperature })}
        />
        <Field
          name={`${path}.max_output_tokens`}
          label={t("Maximum length of an answer")}
          type="number"
          min={1}
          unit={t("tokens")}
          placeholder="1024"
          value={draft.tokens}
          onValue={(tokens) => edit({ tokens })}
        />
        {children}
      </details>
    </>
  );
}
