// A dialog to create a test case by hand. The playground creates cases from results.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Case } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { toast } from "../../ui/toast.tsx";
import { MemoryPicker } from "../shared/memory-picker.tsx";
import { UserField } from "../shared/user-field.tsx";

interface CaseDialogProps {
  readonly close: () => void;
  readonly onStored: (stored: Case) => void;
}

/** A dialog to create a test case. */
export function CaseDialog({ close, onStored }: CaseDialogProps) {
  const [query, setQuery] = useState("");
  const [userId, setUserId] = useState("");
  const [what, setWhat] = useState("memories");
  const [ids, setIds] = useState<readonly string[]>([]);
  const isNothing = what === "nothing";
  return (
    <Dialog title={t("Add a case")} close={close}>
      <Form
        label={t("Add a case")}
        verb={t("Add")}
        disabled={query.trim() === "" || (!isNothing && ids.length === 0)}
        send={async () => {
          const expected = isNothing ? { not_found: true } : { memory_ids: ids };
          const body = { query: query.trim(), expected, ...(userId.trim() !== "" && { userId: userId.trim() }) };
          onStored(await call("createCase", { body }));
          toast(t("The case was stored."));
          close();
        }}
      >
        <Field name="query" label={t("Question")} value={query} onValue={setQuery} autofocus />
        <Field
          name="what"
          label={t("A search should find")}
          value={what}
          onValue={setWhat}
          options={[
            ["memories", t("these memories first")],
            ["nothing", t("nothing")],
          ]}
        />
        {!isNothing && <MemoryPicker label={t("Expected memories")} chosen={ids} onChosen={setIds} isMany />}
        <UserField
          value={userId}
          onValue={setUserId}
          hint={t("Searches this user's memories only. Leave empty for all.")}
        />
      </Form>
    </Dialog>
  );
}
