// The section for the projects of the deployment: creating one, which shows its first key once, changing plans and
// default modes, deleting.

import { call } from "./api.js";
import { button, h, secretBox, time } from "./dom.js";
import { field, form } from "./forms.js";
import { attempt, attemptConfirmed, collapsible, listing, listSection } from "./lists.js";

/** @typedef {import("./calls.js").Project} Project */

const PLANS = ["free", "starter", "pro", "enterprise"];
const MODES = ["fast", "hybrid", "balanced", "precise"];

/** The section "Projects". */
export function projectsSection() {
  const errors = h("div");
  const secrets = h("div");
  const list = listing({
    caption: "Projects, newest first",
    /** @type {import("./lists.js").Column<Project>[]} */
    columns: [
      { head: "Project", class: "main-cell", cell: ({ id, name }) => [name, h("br"), h("code", { class: "id" }, id)] },
      { head: "Plan", cell: (project) => settingSelect(project, "plan", "Plan", PLANS) },
      { head: "Default mode", cell: (project) => settingSelect(project, "default_mode", "Default mode", MODES) },
      { head: "Retention", cell: ({ retention_days }) => `${retention_days} days` },
      { head: "Model", class: "wraps", cell: ({ llm }) => llm.model ?? "server default" },
      { head: "Created", class: "when", cell: ({ created_at }) => time(created_at) },
      { head: "", class: "actions", cell: (project) => button("Delete…", () => remove(project)) },
    ],
    load: (cursor) => call("listProjects", { query: { cursor } }),
    empty: "No projects.",
  });

  /**
   * A menu that changes one setting of a project.
   * @param {Project} project
   * @param {"plan" | "default_mode"} setting
   * @param {string} label
   * @param {readonly string[]} choices
   */
  function settingSelect(project, setting, label, choices) {
    const select = h(
      "select",
      {
        "aria-label": `${label} of ${project.name}`,
        onchange: async () => {
          await attempt(errors, async () => {
            list.put(await call("updateProject", { params: { id: project.id }, body: { [setting]: select.value } }));
          });
          if (errors.childElementCount > 0) select.value = project[setting]; // the change failed
        },
      },
      choices.map((choice) => h("option", { value: choice, selected: choice === project[setting] }, choice)),
    );
    return select;
  }
  const remove = (/** @type {Project} */ { id, name }) =>
    attemptConfirmed({
      place: errors,
      title: `Delete the project “${name}”?`,
      text: "Everything in it is deleted permanently, and its keys stop working at once.",
      verb: "Delete",
      run: async () => {
        await call("deleteProject", { params: { id } });
        list.remove(id);
      },
    });
  const onCreated = (/** @type {import("./calls.js").ProjectWithKey} */ { key, ...project }) => {
    list.put(project);
    if (key !== undefined) secrets.prepend(secretBox(`First key of “${project.name}”.`, key));
  };
  return listSection("Projects", collapsible("Create a project", projectForm(onCreated)), [secrets, errors], list);
}

/** @param {(project: import("./calls.js").ProjectWithKey) => void} onCreated */
function projectForm(onCreated) {
  const name = field("name", "Name");
  const plan = field("plan", "Plan", { options: PLANS });
  return form({
    fields: [name, plan],
    layout: [h("div", { class: "fields" }, name.element, plan.element)],
    actions: [
      {
        label: "Create project",
        run: async () => onCreated(await call("createProject", { body: { name: name.value(), plan: plan.value() } })),
      },
    ],
  });
}
