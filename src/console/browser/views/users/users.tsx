// The users of the project, and one user: what is known, memories, chats, events.

import { useState } from "preact/hooks";
import { call } from "../../core/api.ts";
import type { User } from "../../core/calls.ts";
import { t } from "../../core/i18n.ts";
import { usePages } from "../../core/resource.ts";
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

/** The list, or one user if the address names one. */
export default function Users({ path }: { readonly path: readonly string[] }) {
  const [id] = path;
  return id === undefined ? <UserList /> : <UserPage key={id} id={id} />;
}

function UserList() {
  const mayWrite = rights.value?.usersWrite === true;
  const pages = usePages<User>((cursor, signal) => call("listUsers", { query: { cursor, limit: 50 }, signal }), []);
  const [find, setFind] = useState("");
  const add = mayWrite && (
    <Button kind="primary" icon={Plus} run={() => setFilters({ new: "1" })}>
      {t("Add a user")}
    </Button>
  );
  return (
    <div class="view">
      <PageHead
        title={t("Users")}
        text={t("The people of your application. Each has memories of their own.")}
        actions={add}
      />
      <form
        class="inline-form"
        aria-label={t("Open a user")}
        onSubmit={(event) => {
          event.preventDefault();
          if (find.trim() !== "") go(["users", find.trim()]);
        }}
      >
        <Field
          name="find"
          label={t("User id")}
          quiet
          placeholder={t("Open a user by id")}
          value={find}
          onValue={setFind}
        />
        <Button type="submit" icon={ArrowRight} disabled={find.trim() === ""}>
          {t("Open")}
        </Button>
      </form>
      <Table
        caption={t("Users, newest first")}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={UsersIcon} title={t("No users yet")} action={add}>
            {t("A user appears here as soon as a memory, chat or event names one.")}
          </Empty>
        }
        columns={[
          {
            head: t("User"),
            class: "main-cell",
            cell: ({ id }) => (
              <a href={to(["users", id])} dir="auto">
                {id}
              </a>
            ),
          },
          { head: t("Name"), cell: ({ name }) => name },
          { head: t("Mail"), cell: ({ email }) => email },
          { head: t("Time zone"), cell: ({ time_zone: zone }) => zone },
          { head: t("Since"), cell: ({ created_at: at }) => <Ago time={at} /> },
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
