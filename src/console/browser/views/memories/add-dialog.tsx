// Adding a memory: as a text, as files, or as a page by its address.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { go, setFilters } from "../../core/router.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Plus } from "../../ui/icons.ts";
import { Tabs } from "../../ui/pieces.tsx";
import { toast } from "../../ui/toast.tsx";
import { AttributeFields, type Attributes, bodyOfAttributes, NO_ATTRIBUTES } from "./attributes.tsx";
import { Uploads } from "./uploads.tsx";

interface AddDialogProps {
  /** `text`, `files` or `page`. */
  readonly kind: string;
  readonly onStored: (memory: Memory) => void;
  readonly close: () => void;
}

/** A dialog to add memories. */
export function AddDialog({ kind, onStored, close }: AddDialogProps) {
  const [attributes, setAttributes] = useState(NO_ATTRIBUTES);
  const shown = kind === "files" || kind === "page" ? kind : "text";
  return (
    <Dialog title={t("Add a memory")} close={close} kind="wide">
      <div class="stack">
        <Tabs
          label={t("Kind")}
          filter="add"
          current={shown}
          tabs={[
            ["text", t("Text")],
            ["files", t("Files")],
            ["page", t("Page")],
          ]}
        />
        {shown === "files" ? (
          <Uploads attributes={attributes} onStored={onStored} close={close}>
            <AttributeFields value={attributes} onValue={setAttributes} isForFiles />
          </Uploads>
        ) : (
          <TextForm key={shown} isPage={shown === "page"} attributes={attributes} onStored={onStored} close={close}>
            <AttributeFields value={attributes} onValue={setAttributes} />
          </TextForm>
        )}
      </div>
    </Dialog>
  );
}

interface TextFormProps {
  readonly isPage: boolean;
  readonly attributes: Attributes;
  readonly onStored: (memory: Memory) => void;
  readonly close: () => void;
  readonly children: preact.ComponentChildren;
}

function TextForm({ isPage, attributes, onStored, close, children }: TextFormProps) {
  const [text, setText] = useState("");
  const send = async () => {
    const given = bodyOfAttributes(attributes);
    const memory = isPage
      ? await call("createMemoryFromUrl", { body: { url: text.trim(), ...given } })
      : await call("createMemory", { body: { content: text, ...given } });
    onStored(memory);
    toast(t("Added. It is searchable as soon as it is processed."), {
      label: t("Open"),
      run: () => go(["memories", memory.id]),
    });
    setFilters({ add: null });
    close();
  };
  return (
    <Form label={t("Add a memory")} verb={t("Add")} icon={Plus} disabled={text.trim() === ""} send={send}>
      {isPage ? (
        <Field
          name="url"
          label={t("Address of a page or file")}
          type="url"
          placeholder="https://example.com/handbook"
          hint={t("The server fetches it once, and stores its text.")}
          value={text}
          onValue={setText}
          autofocus
        />
      ) : (
        <div class="adding">
          <Field
            name="content"
            label={t("Text")}
            lines={7}
            placeholder={t("Lena prefers meetings before noon.")}
            value={text}
            onValue={setText}
            autofocus
          />
        </div>
      )}
      {children}
    </Form>
  );
}
