// Known users, what was logged of them, and forgetting one.

import { call } from "./api.js";
import { button, confirmed, h, time } from "./dom.js";
import { check, field, form } from "./forms.js";
import { attempt, fold, listing, openList } from "./lists.js";

/** @typedef {import("./calls.js").User} User */

/** Lists users. */
export function usersPart() {
  const trouble = h("div");
  const list = listing({
    caption: "Users, newest first",
    /** @type {import("./lists.js").Column<User>[]} */
    columns: [
      { head: "User", class: "main-cell", cell: ({ id }) => id },
      { head: "Name", cell: ({ name }) => name },
      { head: "Email", class: "wraps", cell: ({ email }) => email },
      { head: "Since", class: "when", cell: ({ created_at }) => time(created_at) },
      {
        head: "",
        class: "actions",
        cell: (user) => [button("Events", () => openEvents(user)), button("Delete…", () => remove(user))],
      },
    ],
    load: (cursor) => call("listUsers", { query: { cursor } }),
    empty: "No user is known yet. A memory, chat or event that names one makes it known.",
  });

  const remove = async (/** @type {User} */ { id }) => {
    const cascade = check("Delete all memories, chats and events of this user as well");
    const isConfirmed = await confirmed({
      title: `Delete the user ${id}?`,
      text: "The profile goes. What belongs to the user stays, unless you say otherwise.",
      verb: "Delete",
      extra: cascade.element,
    });
    if (!isConfirmed) return;
    await attempt(trouble, async () => {
      await call("deleteUser", { params: { userId: id }, query: { cascade: cascade.control.checked || null } });
      list.drop(id);
    });
  };

  return {
    element: h(
      "div",
      {},
      h("h1", {}, "Users"),
      fold("Add or change a user", userForm(list.put)),
      trouble,
      list.element,
    ),
    refresh: () => list.refresh(),
  };
}

/** @param {(user: User) => void} onSaved */
function userForm(onSaved) {
  const id = field("id", "Id", { hint: "As your application calls the user" });
  const name = field("name", "Name");
  const email = field("email", "Email", { type: "email" });
  return form({
    fields: [id, name, email],
    layout: [h("div", { class: "fields" }, id.element, name.element, email.element)],
    actions: [
      {
        label: "Save",
        run: async () => {
          const body = {
            id: id.value(),
            ...(name.value() !== "" && { name: name.value() }),
            ...(email.value() !== "" && { email: email.value() }),
          };
          onSaved(await call("upsertUser", { body }));
        },
      },
    ],
  });
}

/** @param {User} user */
function openEvents({ id }) {
  openList(`Events of ${id}`, {
    caption: "Events, newest first",
    /** @type {import("./lists.js").Column<import("./calls.js").UserEvent>[]} */
    columns: [
      { head: "Event", cell: ({ type }) => type },
      { head: "Data", class: "wraps", cell: ({ data }) => h("code", {}, JSON.stringify(data)) },
      { head: "At", class: "when", cell: ({ created_at }) => time(created_at) },
    ],
    load: (cursor) => call("listEvents", { params: { userId: id }, query: { cursor } }),
    empty: "Nothing was logged of this user.",
  });
}
