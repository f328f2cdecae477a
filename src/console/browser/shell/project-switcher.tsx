// Switches between projects. A key belongs to one project, so another project needs another key: one that this tab
// already has, or a temporary one that a key with `admin` creates.

import { useState } from "preact/hooks";
import { call, currentKey } from "../core/api.ts";
import type { Project } from "../core/calls.ts";
import { timeIn } from "../core/clock.ts";
import { t } from "../core/i18n.ts";
import { go } from "../core/router.ts";
import { project, rights, signedIn, signIn } from "../core/session.ts";
import { confirm } from "../ui/dialog.tsx";
import { Check, ChevronDown, FolderKanban, Plus } from "../ui/icons.ts";
import { Menu, type MenuItem } from "../ui/menu.tsx";
import { toastError } from "../ui/toast.tsx";

/** Lifetime of a temporary key in milliseconds: twelve hours. */
const TEMPORARY_MS = 12 * 60 * 60 * 1_000;

/** The project of the current key, and a menu of the others. */
export function ProjectSwitcher() {
  const [others, setOthers] = useState<readonly Project[]>([]);
  const known = signedIn.value;
  const isAdmin = rights.value?.admin === true;
  const name = project.value?.name ?? known[0]?.projectName ?? t("Project of this key");
  const load = async () => {
    if (!isAdmin) return;
    const { data } = await call("listProjects", { query: { limit: 100 } });
    setOthers(data.filter(({ id }) => !known.some(({ projectId }) => projectId === id)));
  };
  const mine: MenuItem[] = known.map(({ key, projectName }) => ({
    label: projectName ?? t("Project of {key}", { key: `${key.slice(0, 8)}…` }),
    icon: key === currentKey.value ? Check : FolderKanban,
    checked: key === currentKey.value,
    run: () => switchTo(key),
  }));
  const foreign: MenuItem[] = others.map((other) => ({
    label: other.name,
    icon: FolderKanban,
    run: () => askToEnter(other),
  }));
  return (
    <div class="switcher" onFocusCapture={() => void load().catch(toastError)}>
      <Menu
        label={t("Project")}
        icon={FolderKanban}
        kind="plain"
        items={[
          ...mine,
          ...foreign,
          isAdmin && { label: t("New project"), icon: Plus, run: () => go(["projects"], { new: "1" }) },
        ]}
      >
        <span class="switcher-name">
          <span class="cut" dir="auto">
            {name}
          </span>
          <ChevronDown size={14} aria-hidden="true" />
        </span>
      </Menu>
    </div>
  );
}

async function switchTo(key: string): Promise<void> {
  if (key === currentKey.value) return;
  try {
    await signIn(key);
    go(["home"]);
  } catch (error) {
    toastError(error);
  }
}

/** Asks whether to create a temporary key for another project. If confirmed, creates it and switches to the project. */
export function askToEnter(other: Project): void {
  confirm({
    title: t("Open {name}?", { name: other.name }),
    text: t("A key belongs to one project. A new key for this project is made, which is valid for 12 hours."),
    verb: t("Open"),
    run: async () => {
      const body = { name: "Console", scopes: ["*"], projectId: other.id, expires_at: timeIn(TEMPORARY_MS) };
      const { key } = await call("createKey", { body });
      if (key !== undefined) await signIn(key);
      go(["home"]);
    },
  });
}
