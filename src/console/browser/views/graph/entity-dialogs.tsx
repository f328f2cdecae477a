// Dialogs of the graph explorer: renaming an entity, and choosing a second one.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Entity } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Badge } from "../../ui/pieces.tsx";
import { Loaded } from "../../ui/states.tsx";
import { toastError } from "../../ui/toast.tsx";

interface RenameDialogProps {
  readonly name: string;
  readonly close: () => void;
  readonly rename: (name: string) => Promise<void>;
}

/** A dialog to rename an entity. */
export function RenameDialog({ name, close, rename }: RenameDialogProps) {
  const [next, setNext] = useState(name);
  return (
    <Dialog title={t("Rename {name}", { name })} close={close}>
      <Form
        label={t("Rename")}
        verb={t("Save")}
        disabled={next.trim() === ""}
        send={async () => {
          await rename(next.trim());
          close();
        }}
      >
        <Field
          name="name"
          label={t("Name")}
          value={next}
          onValue={setNext}
          hint={t("The texts of the memories do not change")}
          autofocus
        />
      </Form>
    </Dialog>
  );
}

interface ChooseDialogProps {
  readonly title: string;
  readonly text: string | null;
  readonly userId: string;
  /** Id of the entity that cannot be chosen. */
  readonly except: string;
  readonly close: () => void;
  readonly choose: (entity: Entity) => Promise<void>;
}

/** A dialog to find and choose an entity by its name. */
export function ChooseDialog({ title, text, userId, except, close, choose }: ChooseDialogProps) {
  const [q, setQ] = useState("");
  const found = useResource((signal) => call("listEntities", { query: { q, userId, limit: 12 }, signal }), [q, userId]);
  const take = async (entity: Entity) => {
    try {
      await choose(entity);
      close();
    } catch (error) {
      toastError(error);
    }
  };
  return (
    <Dialog title={title} close={close}>
      <div class="stack">
        {text !== null && <p>{text}</p>}
        <Field name="q" label={t("Name contains")} type="search" value={q} onValue={setQ} autofocus />
        <Loaded from={found} lines={5}>
          {({ data }) => (
            <ul class="list rows">
              {data
                .filter(({ id }) => id !== except)
                .map((entity) => (
                  <li key={entity.id}>
                    <button type="button" class="link cut" dir="auto" onClick={() => void take(entity)}>
                      {entity.name}
                    </button>
                    <Badge>{t(entity.kind)}</Badge>
                    <span class="fine">{countText(entity.memories, "1 memory", "{n} memories")}</span>
                  </li>
                ))}
            </ul>
          )}
        </Loaded>
      </div>
    </Dialog>
  );
}
