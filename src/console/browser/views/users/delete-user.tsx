// A dialog that deletes a user: it shows what will be deleted, asks to type the id, and then offers a receipt that says
// what was deleted and what is left.

import { useState } from "preact/hooks";
import { ApiError, call } from "../../core/api.ts";
import type { Listed } from "../../core/calls.ts";
import { timeIn } from "../../core/clock.ts";
import { countText, numberText, timeText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { useResource } from "../../core/resource.ts";
import { go } from "../../core/router.ts";
import { ownKey, project, rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog, DialogFoot } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { CircleCheck, Download, Trash2 } from "../../ui/icons.ts";
import { Loaded } from "../../ui/states.tsx";
import { save } from "../shared/save.ts";

const PAGE = 100;
/** Maximum number of chats and events that are counted. If there are more, the dialog says so. */
const COUNTED_MAX = 1_000;

/** Amounts of a user's data; null if the key may not read them. */
interface Amounts {
  readonly memories: number | null;
  readonly chats: number | null;
  readonly events: number | null;
}

/** The receipt, which is saved as JSON. */
interface Receipt {
  readonly receipt: "mneme-user-deletion";
  readonly version: 1;
  readonly userId: string;
  readonly projectId: string | null;
  readonly keyId: string | null;
  readonly with_memories_chats_and_events: boolean;
  readonly deleted_at: string;
  readonly before: Amounts;
  readonly after: Amounts;
}

interface DeleteUserProps {
  readonly id: string;
  readonly name: string;
  readonly close: () => void;
}

/** The dialog. */
export function DeleteUser({ id, name, close }: DeleteUserProps) {
  const before = useResource((signal) => amountsOf(id, signal), [id]);
  const [isCascade, setIsCascade] = useState(false);
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<Receipt | null>(null);
  const remove = async (amounts: Amounts) => {
    await call("deleteUser", { params: { userId: id }, query: { cascade: isCascade || null } });
    const after = await amountsOf(id, new AbortController().signal);
    setReceipt({
      ...{ receipt: "mneme-user-deletion", version: 1, userId: id },
      ...{ projectId: project.value?.id ?? null, keyId: ownKey.value?.id ?? null },
      ...{ with_memories_chats_and_events: isCascade, deleted_at: timeIn(0), before: amounts, after },
    });
  };
  const leave = () => {
    close();
    if (receipt !== null) go(["users"]);
  };
  return (
    <Dialog title={receipt === null ? t("Delete {name}?", { name }) : t("{id} is deleted", { id: name })} close={leave}>
      {receipt !== null ? (
        <ReceiptView receipt={receipt} close={leave} />
      ) : (
        <Loaded from={before} lines={9}>
          {(amounts) => (
            <Form
              label={t("Delete {name}?", { name })}
              verb={t("Delete")}
              icon={Trash2}
              disabled={typed.trim() !== id}
              destroys
              send={() => remove(amounts)}
            >
              <fieldset>
                <legend class="aside">{t("What is deleted")}</legend>
                <div class="choices list-of">
                  <Choice
                    title={t("Delete the entry only")}
                    hint={t("Kept: {list}.", { list: amountsText(amounts) })}
                    isChosen={!isCascade}
                    choose={() => setIsCascade(false)}
                  />
                  <Choice
                    title={t("Also delete memories, chats and events")}
                    hint={t("Deleted for good: {list}.", { list: amountsText(amounts) })}
                    isChosen={isCascade}
                    choose={() => setIsCascade(true)}
                    isDangerous
                  />
                </div>
              </fieldset>
              <Field
                name="typed"
                label={t("Type {text} to confirm", { text: `“${id}”` })}
                value={typed}
                onValue={setTyped}
                autofocus
              />
            </Form>
          )}
        </Loaded>
      )}
    </Dialog>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly hint: string;
  readonly isChosen: boolean;
  readonly choose: () => void;
  readonly isDangerous?: boolean;
}

/** A way to delete the user, with what it keeps or deletes. */
function Choice({ title, hint, isChosen, choose, isDangerous = false }: ChoiceProps) {
  return (
    <label class={isDangerous ? "choice dangerous" : "choice"}>
      <input type="radio" name="cascade" checked={isChosen} onChange={choose} />
      <span>
        <strong>{title}</strong>
        <span class="hint">{hint}</span>
      </span>
    </label>
  );
}

function ReceiptView({ receipt, close }: { readonly receipt: Receipt; readonly close: () => void }) {
  const { userId, deleted_at: at, before, after } = receipt;
  return (
    <div class="stack" role="status">
      <p class="row">
        <CircleCheck size={18} aria-hidden="true" /> {t("Deleted on {time}.", { time: timeText(at) })}
      </p>
      <AmountTable
        label={t("What was deleted")}
        columns={[
          [t("Before"), before],
          [t("After"), after],
        ]}
      />
      <DialogFoot>
        <Button run={close}>{t("Done")}</Button>
        <Button
          kind="primary"
          icon={Download}
          run={() => save(`deletion-of-${userId}.json`, "application/json", JSON.stringify(receipt, null, 2))}
        >
          {t("Save the receipt")}
        </Button>
      </DialogFoot>
    </div>
  );
}

interface AmountTableProps {
  readonly label: string;
  readonly columns: readonly (readonly [head: string, amounts: Amounts])[];
}

function AmountTable({ label, columns }: AmountTableProps) {
  const rows = [
    [t("Memories"), "memories"],
    [t("Chats"), "chats"],
    [t("Events"), "events"],
  ] as const;
  return (
    <table class="amounts" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{label}</th>
          {columns.map(([head]) => (
            <th key={head} scope="col">
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, field]) => (
          <tr key={field}>
            <th scope="row">{name}</th>
            {columns.map(([head, amounts]) => (
              <td key={head} class="number">
                {amountText(amounts[field])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What there is, without what there is none of. */
function amountsText({ memories, chats, events }: Amounts): string {
  const parts = [
    memories !== null && memories > 0 && countText(memories, "1 memory", "{n} memories"),
    chats !== null && chats > 0 && countText(chats, "1 chat", "{n} chats"),
    events !== null && events > 0 && countText(events, "1 event", "{n} events"),
  ].filter((part) => part !== false);
  return parts.length === 0 ? t("nothing") : parts.join(", ");
}

function amountText(amount: number | null): string {
  if (amount === null) return "–";
  return amount > COUNTED_MAX ? t("over {n}", { n: numberText(COUNTED_MAX) }) : numberText(amount);
}

async function amountsOf(id: string, signal: AbortSignal): Promise<Amounts> {
  const known = rights.value;
  const [memories, chats, events] = await Promise.all([
    known?.memoriesRead ? call("countMemories", { query: { userId: id }, signal }) : null,
    known?.chatsRead
      ? countOf((cursor) => call("listChats", { query: { userId: id, limit: PAGE, cursor }, signal }))
      : null,
    known?.usersRead
      ? countOf((cursor) => call("listEvents", { params: { userId: id }, query: { limit: PAGE, cursor }, signal }))
      : null,
  ]);
  return { memories: memories?.count ?? null, chats, events };
}

/** Counts the items of a list page by page. Returns `COUNTED_MAX + 1` if there are more than `COUNTED_MAX`. */
async function countOf(read: (cursor: string | null) => Promise<Listed<unknown>>): Promise<number> {
  let count = 0;
  let cursor: string | null = null;
  try {
    do {
      const page: Listed<unknown> = await read(cursor);
      count += page.data.length;
      cursor = page.cursor;
    } while (cursor !== null && count < COUNTED_MAX);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return 0; // the user was deleted
    throw error;
  }
  return cursor === null ? count : COUNTED_MAX + 1;
}
