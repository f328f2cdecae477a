// The relations of a memory to others: found ones with their evidence, and a person's corrections of them.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory, Relation } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Check, GitMerge, Plus, Undo2, X } from "../../ui/icons.ts";
import { Ago, Badge, Card } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { toast } from "../../ui/toast.tsx";
import { MemoryPicker } from "../shared/memory-picker.tsx";

/** Text for each type of relation, from the point of view of this memory. */
export const RELATION_TEXTS: Readonly<Record<Relation["type"], string>> = {
  supersedes: "supersedes",
  superseded_by: "is superseded by",
  refines: "adds to",
  refined_by: "is added to by",
  duplicates: "says the same as",
};

interface RelationsProps {
  readonly memory: Memory;
  readonly reload: () => void;
}

/** The card with the relations. */
export function Relations({ memory, reload }: RelationsProps) {
  const [isAdding, setIsAdding] = useState(false);
  const mayWrite = rights.value?.memoriesWrite === true;
  const relations = memory.relations ?? [];
  const add = mayWrite && memory.status === "completed" && (
    <Button size="small" icon={Plus} run={() => setIsAdding(true)}>
      {t("Set a relation")}
    </Button>
  );
  return (
    <Card title={t("Relations")} actions={add}>
      {relations.length === 0 ? (
        <Empty icon={GitMerge} title={t("No relations")}>
          {t("Newer memories that correct or repeat this one appear here shortly after they are processed.")}
        </Empty>
      ) : (
        <ul class="list stack">
          {relations.map((relation) => (
            <li key={`${relation.memory_id} ${relation.type}`}>
              <RelationRow memory={memory} relation={relation} reload={reload} mayWrite={mayWrite} />
            </li>
          ))}
        </ul>
      )}
      {isAdding && <RelationDialog memory={memory} reload={reload} close={() => setIsAdding(false)} />}
    </Card>
  );
}

interface RelationRowProps extends RelationsProps {
  readonly relation: Relation;
  readonly mayWrite: boolean;
}

function RelationRow({ memory, relation, reload, mayWrite }: RelationRowProps) {
  const { type, memory_id: other, state, by, confidence, evidence, created_at } = relation;
  const set = async (next: Relation["type"] | "none", text: string) => {
    await call("setRelation", { params: { id: memory.id }, body: { memory_id: other, type: next } });
    toast(text, { label: t("Undo"), run: () => forget(memory.id, other, reload) });
    reload();
  };
  return (
    <div class="relation">
      <p>
        {t("This memory")} <strong>{t(RELATION_TEXTS[type])}</strong>{" "}
        <a href={to(["memories", other])} class="break">
          {evidence?.other.text ?? other}
        </a>
      </p>
      {evidence !== null && (
        <blockquote class="quote" dir="auto">
          {evidence.own.text}
        </blockquote>
      )}
      <div class="row">
        <Badge tone={state === "active" ? "good" : "warn"}>{t(state)}</Badge>
        <span class="fine">
          {by === "person" ? t("said by a person") : t("found by {by}", { by })}
          {confidence !== null && ` · ${Math.round(confidence * 100)} %`} · <Ago time={created_at} />
        </span>
        {mayWrite && state === "suggested" && (
          <Button size="small" icon={Check} run={() => set(type, t("The relation was saved."))}>
            {t("Accept")}
          </Button>
        )}
        {mayWrite && by !== "person" && (
          <Button size="small" icon={X} run={() => set("none", t("The two are unrelated now."))}>
            {t("They are unrelated")}
          </Button>
        )}
        {mayWrite && by === "person" && (
          <Button size="small" icon={Undo2} run={() => forget(memory.id, other, reload)}>
            {t("Undo this decision")}
          </Button>
        )}
      </div>
    </div>
  );
}

async function forget(id: string, other: string, reload: () => void): Promise<void> {
  await call("forgetRelation", { params: { id }, query: { memory_id: other } });
  reload();
}

function RelationDialog({ memory, reload, close }: RelationsProps & { readonly close: () => void }) {
  const [other, setOther] = useState("");
  const [type, setType] = useState<string>("supersedes");
  return (
    <Dialog title={t("Set a relation")} close={close}>
      <Form
        label={t("Relation")}
        verb={t("Save")}
        disabled={other === ""}
        send={async () => {
          await call("setRelation", { params: { id: memory.id }, body: { memory_id: other.trim(), type } });
          reload();
          close();
        }}
      >
        <Field
          name="type"
          label={t("This memory")}
          value={type}
          onValue={setType}
          options={[
            ...Object.entries(RELATION_TEXTS).map(([name, text]) => [name, t(text)] as const),
            ["none", t("is unrelated to")],
          ]}
        />
        <MemoryPicker
          label={t("The other memory")}
          chosen={other === "" ? [] : [other]}
          except={memory.id}
          onChosen={([id = ""]) => setOther(id)}
        />
      </Form>
    </Dialog>
  );
}
