// Editing a memory: its text and all of its attributes.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form, jsonOf, listOf } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";

/** Maximum length of a text that can be edited, in characters. A field with more would be slow. */
const CHARACTERS_EDITED = 200_000;

interface EditDialogProps {
  readonly memory: Memory;
  readonly close: () => void;
  readonly onSaved: (memory: Memory) => void;
}

/** A dialog to edit a memory. Sends only what was changed. */
export function EditDialog({ memory, close, onSaved }: EditDialogProps) {
  const before = textsOf(memory);
  const [texts, setTexts] = useState(before);
  const [content, setContent] = useState(memory.content);
  const isEditable = memory.source === null && memory.content.length <= CHARACTERS_EDITED;
  const field = (
    name: keyof typeof before,
    label: string,
    more: { hint?: string; lines?: number; code?: boolean } = {},
  ) => (
    <Field
      name={name}
      label={label}
      value={texts[name]}
      onValue={(text) => setTexts({ ...texts, [name]: text })}
      {...more}
    />
  );
  const send = async () => {
    const body = { ...changesOf(before, texts), ...(content !== memory.content && { content }) };
    if (Object.keys(body).length > 0) {
      const saved = await call("updateMemory", { params: { id: memory.id }, body });
      onSaved(saved);
      toast(saved.status === "processing" ? t("Saved. It is processed again.") : t("Saved."));
    }
    close();
  };
  return (
    <Dialog title={t("Edit the memory")} close={close} kind="wide">
      <Form label={t("Edit the memory")} verb={t("Save")} send={send}>
        {field("title", t("Title"))}
        {isEditable && (
          <Field
            name="content"
            label={t("Text")}
            lines={8}
            value={content}
            onValue={setContent}
            hint={t("A changed text is processed again; the earlier one stays in the history.")}
          />
        )}
        <div class="columns narrow">
          {field("tags", t("Tags"), { hint: t("Separated by commas") })}
          {field("type", t("Type"))}
          {field("occurred_at", t("Occurred"))}
          {field("expires_at", t("Expires"))}
          {field("userId", t("User"))}
          {field("agentId", t("Agent"))}
          {field("sessionId", t("Session"))}
          {field("externalId", t("External id"))}
        </div>
        {field("metadata", t("Metadata (JSON)"), { lines: 4, code: true })}
      </Form>
    </Dialog>
  );
}

function textsOf(memory: Memory) {
  return {
    title: memory.title ?? "",
    tags: (memory.tags ?? []).join(", "),
    type: memory.type ?? "",
    occurred_at: memory.occurred_at?.replace("T00:00:00.000Z", "") ?? "",
    expires_at: memory.expires_at ?? "",
    userId: memory.userId ?? "",
    agentId: memory.agentId ?? "",
    sessionId: memory.sessionId ?? "",
    externalId: memory.externalId ?? "",
    metadata: Object.keys(memory.metadata).length === 0 ? "" : JSON.stringify(memory.metadata, null, 2),
  };
}

type Texts = ReturnType<typeof textsOf>;

function changesOf(before: Texts, after: Texts): Record<string, unknown> {
  const changed = (Object.keys(after) as (keyof Texts)[]).filter((name) => after[name].trim() !== before[name].trim());
  return Object.fromEntries(changed.map((name) => [name, givenValue(name, after[name])]));
}

function givenValue(name: keyof Texts, text: string): unknown {
  if (name === "tags") return listOf(text);
  if (name === "metadata") return jsonOf(text, "metadata") ?? {};
  return text.trim() === "" ? null : text.trim();
}
