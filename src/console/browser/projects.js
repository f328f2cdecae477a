// Projects of the deployment, for the operator: making one, which shows its first key once, its plan, and deleting one.

import { call } from "./api.js";
import { button, confirmed, h, secretBox, time } from "./dom.js";
import { field, form } from "./forms.js";
import { attempt, fold, listing } from "./lists.js";

/** @typedef {import("./calls.js").Project} Project */

const PLANS = ["free", "starter", "pro", "enterprise"];

/** Lists projects. */
export function projectsPart() {
  const trouble = h("div");
  const secrets = h("div");
  const list = listing({
    caption: "Projects, newest first",
    /** @type {import("./lists.js").Column<Project>[]} */
    columns: [
      { head: "Project", class: "main-cell", cell: ({ id, name }) => [name, h("br"), h("code", { class: "id" }, id)] },
      { head: "Plan", cell: planSelect },
      { head: "Retention", cell: ({ retention_days }) => `${retention_days} days` },
      { head: "Model", class: "wraps", cell: ({ llm }) => llm.model ?? "the server's own" },
      { head: "Since", class: "when", cell: ({ created_at }) => time(created_at) },
      { head: "", class: "actions", cell: (project) => button("Delete…", () => remove(project)) },
    ],
    load: (cursor) => call("listProjects", { query: { cursor } }),
    empty: "There is no project.",
  });

  /** @param {Project} project */
  function planSelect(project) {
    const select = h(
      "select",
      {
        "aria-label": `Plan of ${project.name}`,
        onchange: async () => {
          await attempt(trouble, async () => {
            list.put(await call("updateProject", { params: { id: project.id }, body: { plan: select.value } }));
          });
          if (trouble.childElementCount > 0) select.value = project.plan; // it stayed as it was
        },
      },
      PLANS.map((plan) => h("option", { value: plan, selected: plan === project.plan }, plan)),
    );
    return select;
  }
  const remove = async (/** @type {Project} */ { id, name }) => {
    const isConfirmed = await confirmed({
      title: `Delete the project “${name}”?`,
      text: "Everything in it goes for good, and its keys open nothing from now on.",
      verb: "Delete",
    });
    if (!isConfirmed) return;
    await attempt(trouble, async () => {
      await call("deleteProject", { params: { id } });
      list.drop(id);
    });
  };
  const onMade = (/** @type {import("./calls.js").ProjectWithKey} */ { key, ...project }) => {
    list.put(project);
    if (key !== undefined) secrets.prepend(secretBox(`The first key of “${project.name}”.`, key));
  };
  return {
    element: h(
      "div",
      {},
      h("h1", {}, "Projects"),
      fold("Make a project", projectForm(onMade)),
      secrets,
      trouble,
      list.element,
    ),
    refresh: () => list.refresh(),
  };
}

/** @param {(project: import("./calls.js").ProjectWithKey) => void} onMade */
function projectForm(onMade) {
  const name = field("name", "Name");
  const plan = field("plan", "Plan", { options: PLANS });
  return form({
    fields: [name, plan],
    layout: [h("div", { class: "fields" }, name.element, plan.element)],
    actions: [
      {
        label: "Make the project",
        run: async () => onMade(await call("createProject", { body: { name: name.value(), plan: plan.value() } })),
      },
    ],
  });
}
