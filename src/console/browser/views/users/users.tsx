// The view Users: the users of the project, or the page of one user.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { User } from "../../core/calls.ts";
import { numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages, useResource } from "../../core/resource.ts";
import { filterOf, go, setFilters, to } from "../../core/router.ts";
import { rights } from "../../core/session.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/form.tsx";
import { ArrowRight, Plus, Users as UsersIcon } from "../../ui/icons.ts";
import { Ago, PageHead } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { UserPage } from "./user.tsx";
import { UserDialog } from "./user-dialog.tsx";

/** Number of users per page. It is small, because each row sends a request for its number of memories. */
const USERS_SHOWN = 25;

/** The list, or one user if the address names one. */
export default function Users({ path }: { readonly path: readonly string[] }) {
  const [id] = path;
  return id === undefined ? <UserList /> : <UserPage key={id} id={id} />;
}

function UserList() {
  const isConfined = rights.value?.isConfined === true;
  // a confined key may change its own user, but not add users
  const mayWrite = rights.value?.usersWrite === true && !isConfined;
  const pages = usePages<User>(
    (cursor, signal) => call("listUsers", { query: { cursor, limit: USERS_SHOWN }, signal }),
    [],
  );
  const [sought, setSought] = useState("");
  const needle = sought.trim().toLowerCase();
  const found = pages.items?.filter(({ id, name }) => `${id} ${name ?? ""}`.toLowerCase().includes(needle));
  const add = mayWrite && (
    <Button kind="primary" icon={Plus} run={() => setFilters({ new: "1" })}>
      {t("Add a user")}
    </Button>
  );
  return (
    <div class="view">
      <PageHead
        title={t("Users")}
        text={t("The people who use your application. Each has their own memories.")}
        actions={pages.items?.length !== 0 && add}
      />
      {!isConfined && pages.items?.length !== 0 && (
        <form
          class="inline-form"
          role="search"
          onSubmit={(event) => {
            event.preventDefault();
            if (needle === "" || found === undefined) return;
            const meant = found.length === 1 ? found[0] : found.find(({ id }) => id.toLowerCase() === needle);
            if (meant !== undefined) go(["users", meant.id]);
            else if (found.length === 0) go(["users", sought.trim()]);
          }}
        >
          <Field
            name="find"
            label={t("Name or id of a user")}
            quiet
            type="search"
            placeholder={t("Name or id of a user")}
            value={sought}
            onValue={setSought}
          />
        </form>
      )}
      <Table
        caption={t("Users, newest first")}
        pages={{ ...pages, items: found }}
        keyOf={({ id }) => id}
        empty={
          needle === "" ? (
            <Empty icon={UsersIcon} title={t("No users yet")} action={add}>
              {t("A user appears here as soon as a memory, chat or event names one.")}
            </Empty>
          ) : (
            <Empty
              icon={UsersIcon}
              title={t("No user in this list has this name or id")}
              action={
                <Button icon={ArrowRight} run={() => go(["users", sought.trim()])}>
                  {t("Open the user {id}", { id: `“${sought.trim()}”` })}
                </Button>
              }
            />
          )
        }
        columns={[
          {
            head: t("User"),
            class: "main-cell",
            cell: ({ id, name }) => (
              <span class="person">
                <span class="initial" aria-hidden="true">
                  {[...(name ?? id)][0]?.toUpperCase()}
                </span>
                <span class="stack-lines">
                  <a href={to(["users", id])} dir="auto">
                    {name ?? id}
                  </a>
                  {name !== null && (
                    <span class="fine" dir="auto">
                      {id}
                    </span>
                  )}
                </span>
              </span>
            ),
          },
          { head: t("Memories"), class: "amount", cell: ({ id }) => <MemoryCount userId={id} /> },
          { head: t("Email"), has: ({ email }) => email !== null, cell: ({ email }) => email ?? <None /> },
          {
            head: t("Time zone"),
            has: ({ time_zone: zone }) => zone !== null,
            cell: ({ time_zone: zone }) => zone ?? <None />,
          },
          { head: t("Created"), cell: ({ created_at: at }) => <Ago time={at} /> },
        ]}
      />
      {filterOf("new") !== "" && mayWrite && (
        <UserDialog
          user={null}
          close={() => setFilters({ new: null })}
          onSaved={(user) => pages.edit((items) => [user, ...items.filter(({ id }) => id !== user.id)])}
        />
      )}
    </div>
  );
}

function None() {
  return <span class="fine">–</span>;
}

/** The number of memories of a user, as a link to them. */
function MemoryCount({ userId }: { readonly userId: string }) {
  const mayRead = rights.value?.memoriesRead === true;
  const count = useResource(
    async (signal) => (mayRead ? (await call("countMemories", { query: { userId }, signal })).count : null),
    [userId],
  );
  if (count.value == null) return <None />;
  return (
    <a class="quiet-link number" href={to(["memories"], { userId })}>
      {numberText(count.value)}
    </a>
  );
}
