// The view Projects: all projects of the server, for keys with `admin`.

import { useState } from "preact/hooks";
import { PLAN_NAMES, type Plan } from "../../../../domain/project.ts";
import { call } from "../../core/api.ts";
import type { ListedProject, Project, ProjectWithKey } from "../../core/calls.ts";
import { bytesText, numberText } from "../../core/format.ts";
import { t } from "../../core/i18n.ts";
import { usePages, withItem } from "../../core/resource.ts";
import { filterOf, setFilters } from "../../core/router.ts";
import { project as current } from "../../core/session.ts";
import { askToEnter } from "../../shell/project-switcher.tsx";
import { Button } from "../../ui/button.tsx";
import { confirm, Dialog } from "../../ui/dialog.tsx";
import { Field, Form } from "../../ui/form.tsx";
import { Copy, Ellipsis, FolderKanban, Pencil, Plus, Trash2 } from "../../ui/icons.ts";
import { Menu } from "../../ui/menu.tsx";
import { Ago, Badge, PageHead, Snippet } from "../../ui/pieces.tsx";
import { Empty } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { planText } from "../shared/plans.ts";

/** The view Projects. */
export default function Projects() {
  const [editing, setEditing] = useState<Project | null>(null);
  const [created, setCreated] = useState<ProjectWithKey | null>(null);
  const pages = usePages<ListedProject>(
    (cursor, signal) => call("listProjects", { query: { cursor, limit: 50 }, signal }),
    [],
  );
  const close = () => {
    setEditing(null);
    setFilters({ new: null });
  };
  const add = (
    <Button kind="primary" icon={Plus} run={() => setFilters({ new: "1" })}>
      {t("New project")}
    </Button>
  );
  return (
    <div class="view">
      <PageHead
        title={t("Projects")}
        text={t("Each project has its own memories, users, keys and settings.")}
        actions={add}
      />
      <Table
        caption={t("Projects, newest first")}
        pages={pages}
        keyOf={({ id }) => id}
        empty={<Empty icon={FolderKanban} title={t("No projects yet")} action={add} />}
        columns={[
          {
            head: t("Project"),
            class: "main-cell",
            cell: (project) => (
              <span class="person">
                <span class="initial square" aria-hidden="true">
                  <FolderKanban size={16} />
                </span>
                {project.id === current.value?.id ? (
                  <a dir="auto" href="#/home">
                    {project.name}
                  </a>
                ) : (
                  <button type="button" class="link name-link" dir="auto" onClick={() => askToEnter(project)}>
                    {project.name}
                  </button>
                )}
                {project.id === current.value?.id && <Badge tone="accent">{t("current")}</Badge>}
              </span>
            ),
          },
          {
            head: t("Memories"),
            class: "amount",
            cell: ({ documents }) => <span class="number">{numberText(documents)}</span>,
          },
          {
            head: t("Storage"),
            class: "amount",
            cell: ({ storage_bytes: bytes }) => <span class="number">{bytesText(bytes)}</span>,
          },
          {
            head: t("Last used"),
            cell: ({ id, last_used_at: at }) =>
              // this session uses the open project, but the server notes uses only once a minute
              id === current.value?.id ? (
                t("just now")
              ) : at === null ? (
                <span class="fine">{t("never")}</span>
              ) : (
                <Ago time={at} />
              ),
          },
          { head: t("Plan"), cell: ({ plan }) => <PlanName name={plan} /> },
          { head: t("Created"), cell: ({ created_at: at }) => <Ago time={at} /> },
          {
            head: "",
            class: "end",
            cell: (project) => (
              <span class="row">
                <Menu
                  label={t("More")}
                  icon={Ellipsis}
                  size="small"
                  items={[
                    { label: t("Name and plan"), icon: Pencil, run: () => setEditing(project) },
                    { label: t("Copy the id"), icon: Copy, run: () => copyId(project) },
                    project.id !== current.value?.id && {
                      label: t("Delete"),
                      icon: Trash2,
                      danger: true,
                      run: () =>
                        askToDelete(project, () => pages.edit((items) => items.filter(({ id }) => id !== project.id))),
                    },
                  ]}
                />
              </span>
            ),
          },
        ]}
      />
      {(filterOf("new") !== "" || editing !== null) && (
        <ProjectDialog
          key={editing?.id ?? "new"}
          project={editing}
          close={close}
          onSaved={(saved) => {
            pages.edit((items) => withItem(items, { ...UNUSED, ...items.find(({ id }) => id === saved.id), ...saved }));
            close();
            if ("key" in saved) setCreated(saved);
          }}
        />
      )}
      {created !== null && (
        <Dialog
          title={t("The project {name} is ready", { name: created.name })}
          close={() => setCreated(null)}
          kind="wide"
        >
          <div class="stack">
            <p>{t("This is its first key. Copy it now: it is shown only once.")}</p>
            <Snippet label={t("First key")} code={created.key ?? ""} />
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** The use of a project that was just created. */
const UNUSED = { documents: 0, storage_bytes: 0, last_used_at: null };

async function copyId({ id }: Project): Promise<void> {
  await navigator.clipboard.writeText(id);
  toast(t("Copied"));
}

function PlanName({ name }: { readonly name: Plan }) {
  return (
    <span title={planText(name)}>
      <Badge>{name}</Badge>
    </span>
  );
}

function askToDelete(project: Project, onDeleted: () => void): void {
  confirm({
    title: t("Delete the project {name}?", { name: project.name }),
    text: t("All of its memories, users, chats, keys and webhooks are deleted for good, and its keys are refused."),
    typed: project.name,
    verb: t("Delete"),
    destroys: true,
    run: async () => {
      await call("deleteProject", { params: { id: project.id } });
      onDeleted();
      toast(t("The project was deleted."));
    },
  });
}

interface ProjectDialogProps {
  readonly project: Project | null;
  readonly close: () => void;
  readonly onSaved: (project: Project | ProjectWithKey) => void;
}

function ProjectDialog({ project, close, onSaved }: ProjectDialogProps) {
  const [name, setName] = useState(project?.name ?? "");
  const [plan, setPlan] = useState<Plan>(project?.plan ?? "enterprise");
  const title = project === null ? t("New project") : t("Name and plan");
  return (
    <Dialog title={title} close={close}>
      <Form
        label={title}
        verb={t("Save")}
        disabled={name.trim() === ""}
        send={async () => {
          const body = { name: name.trim(), plan };
          onSaved(
            project === null
              ? await call("createProject", { body })
              : await call("updateProject", { params: { id: project.id }, body }),
          );
        }}
      >
        <Field name="name" label={t("Name")} value={name} onValue={setName} autofocus />
        <Field
          name="plan"
          label={t("Plan")}
          value={plan}
          onValue={(one) => setPlan(one as Plan)}
          options={PLAN_NAMES.map((one) => [one, one] as const)}
          hint={planText(plan)}
        />
      </Form>
    </Dialog>
  );
}
