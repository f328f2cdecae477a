// The attributes of a new memory: fields for them, and their form in the API.

import { t } from "../../core/i18n.ts";
import { rights } from "../../core/session.ts";
import { Field, jsonOf, listOf } from "../../ui/form.tsx";

/** Attributes that a person can give to any new memory, as texts of the fields. */
export interface Attributes {
  readonly title: string;
  readonly tags: string;
  readonly type: string;
  readonly userId: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly externalId: string;
  readonly occurred_at: string;
  readonly expires_at: string;
  readonly metadata: string;
}

/** No attributes. */
export const NO_ATTRIBUTES: Attributes = {
  title: "",
  tags: "",
  type: "",
  userId: "",
  agentId: "",
  sessionId: "",
  externalId: "",
  occurred_at: "",
  expires_at: "",
  metadata: "",
};

interface AttributeFieldsProps {
  readonly value: Attributes;
  readonly onValue: (value: Attributes) => void;
  readonly isForFiles?: boolean;
}

/** Fields for the attributes. */
export function AttributeFields({ value, onValue, isForFiles = false }: AttributeFieldsProps) {
  const field = (name: keyof Attributes, label: string, more: { hint?: string; placeholder?: string } = {}) => (
    <Field
      name={name}
      label={label}
      value={value[name]}
      onValue={(text) => onValue({ ...value, [name]: text })}
      {...more}
    />
  );
  return (
    <>
      <div class="columns narrow">
        {!isForFiles && field("title", t("Title"), { hint: t("Generated if empty") })}
        {field("tags", t("Tags"), { hint: t("Separated by commas") })}
        {rights.value?.isConfined === false &&
          field("userId", t("User"), { hint: t("Optional. Who the memory belongs to.") })}
      </div>
      <details>
        <summary>{t("More fields")}</summary>
        <div class="stack">
          <div class="columns narrow">
            {field("type", t("Type"))}
            {field("agentId", t("Agent"))}
            {field("sessionId", t("Session"))}
            {!isForFiles &&
              field("externalId", t("External id"), { hint: t("Adding the same id again updates this memory") })}
            {field("occurred_at", t("Occurred"), { placeholder: "2026-05-03" })}
            {field("expires_at", t("Expires"), { placeholder: "2027-01-01T00:00:00Z" })}
          </div>
          <Field
            name="metadata"
            label={t("Metadata (JSON)")}
            lines={3}
            code
            placeholder={'{"year": 2026}'}
            value={value.metadata}
            onValue={(metadata) => onValue({ ...value, metadata })}
          />
        </div>
      </details>
    </>
  );
}

/** The attributes for the body of a request, without empty ones. @throws ApiError if the metadata is not JSON */
export function bodyOfAttributes({ tags, metadata, ...texts }: Attributes): Record<string, unknown> {
  const parsed = jsonOf(metadata, "metadata");
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== "")),
    ...(listOf(tags).length > 0 && { tags: listOf(tags) }),
    ...(parsed !== undefined && { metadata: parsed }),
  };
}
