// The view Memories: filters, a table, and buttons that add texts, files and web pages.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { Memory } from "../../core/calls.ts";
import { countText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages, useResource, withItem } from "../../core/resource.ts";
import { filterOf, go, setFilters } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { Brain, Plus, RefreshCw, SlidersHorizontal, Upload, X } from "../../ui/icons.ts";
import { PageHead } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import MemoryPage from "../memory/memory.tsx";
import { UserField } from "../shared/user-field.tsx";
import { AddDialog } from "./add-dialog.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { ColumnMenu, useColumns } from "./columns.tsx";
import { useFollowed } from "./followed.ts";
import { MemoryTable } from "./memory-table.tsx";
import { filtersInAddress } from "./query.ts";

const PAGE = 100;

/** The list, or one memory if the address names it. */
export default function Memories({ path }: { readonly path: readonly string[] }) {
  const [id] = path;
  return id === undefined ? <MemoryList /> : <MemoryPage key={id} id={id} />;
}

function MemoryList() {
  const filters = filtersInAddress();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [columns, setColumns] = useColumns();
  const adding = filterOf("add");
  // the server sorts by time; the table sorts the loaded rows by any other column
  const order = filterOf("sort") === "created.up" ? "oldest" : "newest";
  const mayWrite = rights.value?.memoriesWrite === true;
  const pages = usePages<Memory>(
    (cursor, signal) => {
      if (cursor === null) setSelected(new Set());
      return call("listMemories", { query: { ...filters, order, limit: PAGE, cursor }, signal });
    },
    [filters, order],
  );
  const total = useResource(
    async (signal) => (await call("countMemories", { query: filters, signal })).count,
    [filters, pages.items?.length],
  );
  const put = (memory: Memory) => pages.edit((items) => withItem(items, memory));
  useFollowed(pages.items, put);
  const chosen = (pages.items ?? []).filter(({ id }) => selected.has(id));
  const isFiltered = Object.keys(filters).length > 0;
  // without memories there is nothing to filter, and the empty table says what to do
  const isBare = pages.items?.length === 0 && !isFiltered;
  return (
    <div class="view wide">
      <PageHead
        title={t("Memories")}
        text={
          total.value === undefined
            ? t("Everything that is stored in this project.")
            : isFiltered
              ? countText(total.value, "1 matching memory", "{n} matching memories")
              : countText(total.value, "1 memory in this project", "{n} memories in this project")
        }
        actions={
          <>
            {!isBare && (
              <>
                <Button icon={RefreshCw} label={t("Refresh")} class="refresh" run={pages.reload} />
                <ColumnMenu columns={columns} onColumns={setColumns} />
              </>
            )}
            {mayWrite && !isBare && (
              <>
                <Button icon={Upload} run={() => setFilters({ add: "files" })}>
                  {t("Upload files")}
                </Button>
                <Button kind="primary" icon={Plus} run={() => setFilters({ add: "text" })}>
                  {t("Add a memory")}
                </Button>
              </>
            )}
          </>
        }
      />
      {!isBare && <FilterBar filters={filters} />}
      <MemoryTable
        pages={pages}
        columns={columns}
        total={total.value ?? null}
        selected={selected}
        onSelected={mayWrite ? setSelected : null}
        empty={
          isFiltered ? (
            <Empty
              icon={Brain}
              title={t("No matching memories")}
              action={<Button run={() => go(["memories"])}>{t("Remove all filters")}</Button>}
            />
          ) : (
            <Empty
              icon={Brain}
              title={t("No memories yet")}
              action={
                mayWrite && (
                  <>
                    <Button kind="primary" icon={Plus} run={() => setFilters({ add: "text" })}>
                      {t("Add a memory")}
                    </Button>
                    <Button icon={Upload} run={() => setFilters({ add: "files" })}>
                      {t("Upload files")}
                    </Button>
                  </>
                )
              }
            >
              {t("A memory is a text, a file or a page. Store one, then ask about it in the playground.")}
            </Empty>
          )
        }
      />
      {chosen.length > 0 && (
        <BulkBar
          chosen={chosen}
          clear={() => setSelected(new Set())}
          onChanged={put}
          onRemoved={(ids) => pages.edit((items) => items.filter(({ id }) => !ids.has(id)))}
        />
      )}
      {adding !== "" && mayWrite && <AddDialog kind={adding} onStored={put} close={() => setFilters({ add: null })} />}
    </div>
  );
}

function FilterBar({ filters }: { readonly filters: Readonly<Record<string, string>> }) {
  const value = (name: string) => filters[name] ?? "";
  const [isOpen, setIsOpen] = useState(
    ["type", "agentId", "sessionId", "superseded"].some((name) => value(name) !== ""),
  );
  const field = (name: string, label: string) => (
    <Field
      name={name}
      label={label}
      quiet
      placeholder={label}
      value={value(name)}
      onValue={(text) => setFilters({ [name]: text })}
    />
  );
  return (
    <div class={`filters folds ${isOpen ? "open" : ""}`} role="search" aria-label={t("Filters")}>
      <Field
        name="q"
        label={t("Title contains")}
        quiet
        type="search"
        placeholder={t("Title contains")}
        value={value("q")}
        onValue={(q) => setFilters({ q })}
      />
      <Field
        name="status"
        label={t("Status")}
        quiet
        value={value("status")}
        options={[
          ["", t("Any status")],
          ["completed", t("completed")],
          ["processing", t("processing")],
          ["failed", t("failed")],
        ]}
        onValue={(status) => setFilters({ status })}
      />
      {field("tag", t("Tag"))}
      {rights.value?.isConfined === false && (
        <UserField quiet placeholder={t("User")} value={value("userId")} onValue={(userId) => setFilters({ userId })} />
      )}
      {isOpen && (
        <>
          {field("type", t("Type"))}
          {field("agentId", t("Agent"))}
          {field("sessionId", t("Session"))}
          <Field
            name="superseded"
            label={t("Validity")}
            quiet
            value={value("superseded")}
            options={[
              ["", t("Current and superseded")],
              ["false", t("Current only")],
              ["true", t("Superseded only")],
            ]}
            onValue={(superseded) => setFilters({ superseded })}
          />
        </>
      )}
      {!isOpen && (
        <Button kind="ghost" icon={SlidersHorizontal} class="filters-more" run={() => setIsOpen(true)}>
          {t("More filters")}
        </Button>
      )}
      {Object.keys(filters).length > 0 && (
        <Button kind="ghost" icon={X} run={() => go(["memories"])}>
          {t("Remove all filters")}
        </Button>
      )}
    </div>
  );
}
