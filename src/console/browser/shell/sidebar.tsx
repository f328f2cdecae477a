// The sidebar: project switcher, search, navigation, state of the server, appearance, language, sign-out.

import { chooseLanguage, LANGUAGES, type Language, language, t } from "../core/i18n.ts";
import { to } from "../core/router.ts";
import { server } from "../core/server.ts";
import { signOut } from "../core/session.ts";
import { chooseTheme, theme } from "../core/theme.ts";
import { Button } from "../ui/button.tsx";
import { BookOpen, Languages, LogOut, Monitor, Moon, Search, Sun } from "../ui/icons.ts";
import { Menu } from "../ui/menu.tsx";
import { toastError } from "../ui/toast.tsx";
import { KeyNote } from "./key-note.tsx";
import { Mark } from "./mark.tsx";
import { openPalette } from "./palette.tsx";
import { ProjectSwitcher } from "./project-switcher.tsx";
import type { View } from "./views.ts";

interface SidebarProps {
  readonly views: readonly View[];
  readonly current: string;
  readonly isOpen: boolean;
}

/** The sidebar. On narrow windows it is a drawer. */
export function Sidebar({ views, current, isOpen }: SidebarProps) {
  const groups = [...new Set(views.map(({ group }) => group))];
  const { state } = server.value;
  const stateTexts = {
    connecting: t("Connecting…"),
    ready: t("Server ready"),
    waiting: t("Server starting"),
    unreachable: t("Server unreachable"),
  };
  return (
    <aside class={`sidebar ${isOpen ? "open" : ""}`} aria-label={t("Sidebar")}>
      <a class="brand" href="#/home">
        <Mark /> Mneme
      </a>
      <ProjectSwitcher />
      <Button class="find" icon={Search} run={openPalette}>
        {t("Search or go to…")} <kbd>{/mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K"}</kbd>
      </Button>
      <nav aria-label={t("Sections")}>
        {groups.map((group) => (
          <div key={group}>
            {group !== "" && <p class="nav-group">{t(group)}</p>}
            <div class="nav">
              {views
                .filter((view) => view.group === group)
                .map(({ name, title, icon: Shown }) => (
                  <a key={name} href={to([name])} aria-current={name === current ? "page" : undefined}>
                    <Shown size={17} aria-hidden="true" /> {t(title)}
                  </a>
                ))}
            </div>
          </div>
        ))}
      </nav>
      <div class="sidebar-foot">
        <KeyNote />
        <a class="server-state" href="#/system">
          <span class={`dot ${state}`} /> {stateTexts[state]}
        </a>
        <div class="row between">
          <Menu
            label={t("Appearance")}
            icon={{ system: Monitor, light: Sun, dark: Moon }[theme.value]}
            items={[
              {
                label: t("Match the system"),
                icon: Monitor,
                checked: theme.value === "system",
                run: () => chooseTheme("system"),
              },
              { label: t("Light"), icon: Sun, checked: theme.value === "light", run: () => chooseTheme("light") },
              { label: t("Dark"), icon: Moon, checked: theme.value === "dark", run: () => chooseTheme("dark") },
            ]}
          />
          <Menu
            label={t("Language")}
            icon={Languages}
            items={(Object.keys(LANGUAGES) as Language[]).map((code) => ({
              label: LANGUAGES[code],
              fine: code === "en" ? undefined : t("machine-made"),
              checked: language.value === code,
              run: () => chooseLanguage(code).catch(toastError),
            }))}
          />
          <Button kind="ghost" icon={BookOpen} label={t("API reference")} run={() => location.assign("docs")} />
          <Button kind="ghost" icon={LogOut} label={t("Sign out")} run={signOut} />
        </div>
      </div>
    </aside>
  );
}
