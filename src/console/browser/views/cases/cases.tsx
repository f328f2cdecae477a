// The view Cases: test questions with the memories that a search should find, and runs that measure how well it does.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Case } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { usePages, useResource, withItem } from "../../core/resource.ts";
import { to } from "../../core/router.ts";
import { project, rights } from "../../core/session.ts";
import { Button, LinkButton } from "../../ui/button.tsx";
import { FlaskConical, ListChecks, Plus, Trash2 } from "../../ui/icons.ts";
import { Ago, Badge, PageHead } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { nameOf } from "../shared/memory-names.ts";
import { CaseDialog } from "./case-dialog.tsx";
import { Outcome, useOutcomes } from "./outcomes.tsx";
import { Runs, useRuns } from "./runs.tsx";

/** Maximum number of memories of a case that the table names. */
const NAMED_MAX = 3;

/** The view Cases. */
export default function Cases() {
  const mayRead = rights.value?.memoriesRead === true;
  const [isAdding, setIsAdding] = useState(false);
  const cases = usePages((cursor, signal) => call("listCases", { query: { limit: 50, cursor }, signal }), []);
  const [outcomes, check] = useOutcomes();
  const runs = useRuns();
  // both at once, so that the table does not move when the runs are read
  const isWaiting = runs.value === undefined && runs.error === undefined && cases.error === undefined;
  const isRun = cases.items !== undefined && cases.items.length > 0;
  const add = (
    <Button kind={cases.items?.length === 0 ? "primary" : "plain"} icon={Plus} run={() => setIsAdding(true)}>
      {t("Add a case")}
    </Button>
  );
  const remove = async ({ id }: Case) => {
    await call("deleteCase", { params: { id } });
    cases.edit((items) => items.filter((one) => one.id !== id));
    toast(t("The case was deleted."));
  };
  const columns: readonly Column<Case>[] = [
    {
      head: t("Question"),
      class: "main-cell",
      cell: ({ query, userId, mode = project.value?.default_mode }) =>
        mayRead ? (
          <a class="quiet-link" dir="auto" href={to(["playground"], { q: query, userId, modes: mode })}>
            {query}
          </a>
        ) : (
          query
        ),
    },
    ...(mayRead
      ? [{ head: t("Result"), class: "outcome", cell: (one: Case) => <Outcome of={outcomes.get(one.id)} /> }]
      : []),
    { head: t("Expected result"), cell: (one) => <Expected of={one} /> },
    {
      head: t("User"),
      has: ({ userId }) => userId !== null,
      cell: ({ userId }) => userId ?? <span class="fine">{t("all")}</span>,
    },
    {
      head: t("Mode"),
      has: ({ mode }) => mode !== null,
      cell: ({ mode }) => mode ?? <span class="fine">{t("default")}</span>,
    },
    { head: t("Stored"), cell: ({ created_at: at }) => <Ago time={at} /> },
    {
      head: "",
      class: "end",
      cell: (one) => (
        <Button
          kind="ghost"
          size="small"
          icon={Trash2}
          label={t("Delete the case “{query}”", { query: one.query })}
          run={() => remove(one)}
        />
      ),
    },
  ];
  return (
    <div class="view">
      <PageHead
        title={t("Cases")}
        text={t("Questions whose answer you know. Run them before and after a change, and see what it did.")}
        actions={cases.items?.length !== 0 && add}
      />
      {isRun && !isWaiting && <Runs runs={runs} check={mayRead ? () => check(cases.items ?? []) : null} />}
      <Table
        caption={t("Cases")}
        columns={columns}
        pages={isWaiting ? { ...cases, items: undefined } : cases}
        keyOf={({ id }) => id}
        empty={
          <Empty
            icon={ListChecks}
            title={t("No cases yet")}
            action={
              <>
                {add}
                {mayRead && (
                  <LinkButton icon={FlaskConical} href={to(["playground"])}>
                    {t("Open the playground")}
                  </LinkButton>
                )}
              </>
            }
          >
            {t(
              "Ask a question in the playground, and mark the passage that should rank first, or that no answer is expected.",
            )}
          </Empty>
        }
      />
      {isAdding && (
        <CaseDialog
          close={() => setIsAdding(false)}
          onStored={(stored) => cases.edit((items) => withItem(items, stored))}
        />
      )}
    </div>
  );
}

function Expected({ of: { expected } }: { readonly of: Case }) {
  const ids = expected.memory_ids;
  if (ids === undefined) return <Badge>{t("no answer")}</Badge>;
  return (
    <span class="stack-lines">
      {ids.slice(0, NAMED_MAX).map((id) => (
        <MemoryName key={id} id={id} />
      ))}
      {ids.length > NAMED_MAX && <span class="fine">{t("and {n} more", { n: ids.length - NAMED_MAX })}</span>}
    </span>
  );
}

/** A link to a memory with its name, or with its id if the key may not read it. */
function MemoryName({ id }: { readonly id: string }) {
  const mayRead = rights.value?.memoriesRead === true;
  const memory = useResource(
    async (signal) => (mayRead ? await call("getMemory", { params: { id }, signal }) : null),
    [id],
  );
  if (!mayRead || memory.error !== undefined) return <code class="fine cut">{id}</code>;
  return (
    <a class="two-lines" dir="auto" href={to(["memories", id])} title={id}>
      {memory.value == null ? "…" : nameOf(memory.value)}
    </a>
  );
}
