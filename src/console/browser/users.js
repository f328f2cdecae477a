// The section for users: their profiles and events, and deleting a user.

import { call } from "./api.js";
import { button, h, time } from "./dom.js";
import { check, field, form } from "./forms.js";
import { attemptConfirmed, collapsible, listing, listSection, openList } from "./lists.js";

/** @typedef {import("./calls.js").User} User */

/** The section "Users". */
export function usersSection() {
  const errors = h("div");
  const list = listing({
    caption: "Users, newest first",
    /** @type {import("./lists.js").Column<User>[]} */
    columns: [
      { head: "User", class: "main-cell", cell: ({ id }) => id },
      { head: "Name", cell: ({ name }) => name },
      { head: "Email", class: "wraps", cell: ({ email }) => email },
      { head: "Created", class: "when", cell: ({ created_at }) => time(created_at) },
      {
        head: "",
        class: "actions",
        cell: (user) => [button("Events", () => openEvents(user)), button("Delete…", () => remove(user))],
      },
    ],
    load: (cursor) => call("listUsers", { query: { cursor } }),
    empty: "No users yet. A user is added when a memory, chat or event names one.",
  });

  const remove = async (/** @type {User} */ { id }) => {
    const cascade = check("Also delete all memories, chats and events of this user");
    await attemptConfirmed({
      place: errors,
      title: `Delete the user ${id}?`,
      text: "The profile is deleted. The user's memories, chats and events stay, unless you select the option below.",
      verb: "Delete",
      extra: cascade.element,
      run: async () => {
        await call("deleteUser", { params: { userId: id }, query: { cascade: cascade.control.checked || null } });
        list.remove(id);
      },
    });
  };

  return listSection("Users", collapsible("Add or update a user", userForm(list.put)), [errors], list);
}

/** @param {(user: User) => void} onSaved */
function userForm(onSaved) {
  const id = field("id", "Id", { hint: "The user's id in your application" });
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
      { head: "Time", class: "when", cell: ({ created_at }) => time(created_at) },
    ],
    load: (cursor) => call("listEvents", { params: { userId: id }, query: { cursor } }),
    empty: "No events for this user.",
  });
}
