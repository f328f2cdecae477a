// The frame of the page: sign-in, sidebar, the view that the address names, and dialogs and notices above all views.

import { useEffect, useState } from "preact/hooks";
import { refusedKey, waiting } from "../core/api.ts";
import { t } from "../core/i18n.ts";
import { place } from "../core/router.ts";
import { server } from "../core/server.ts";
import { hasKeptKey, resume, rights, signOut } from "../core/session.ts";
import { Button } from "../ui/button.tsx";
import { Confirmation } from "../ui/dialog.tsx";
import { MenuIcon, Search, TriangleAlert } from "../ui/icons.ts";
import { Problem, Skeleton } from "../ui/states.tsx";
import { Toasts } from "../ui/toast.tsx";
import { Mark } from "./mark.tsx";
import { openPalette, Palette } from "./palette.tsx";
import { ProjectSwitcher } from "./project-switcher.tsx";
import { Sidebar } from "./sidebar.tsx";
import { SignIn } from "./sign-in.tsx";
import { VIEWS } from "./views.ts";

/** The whole page. */
export function App() {
  return (
    <>
      {rights.value === null ? <Entrance /> : <Shell />}
      <Confirmation />
      <Toasts />
    </>
  );
}

// Signs in with the kept key, or asks for one.
function Entrance() {
  const [isResuming, setIsResuming] = useState(hasKeptKey());
  const [error, setError] = useState<unknown>(null);
  const state = server.value.state;
  useEffect(() => {
    if (!isResuming) return;
    setError(null);
    resume().then(
      () => setIsResuming(false),
      (problem) => {
        if (refusedKey.value !== null || problem?.status === 401) {
          signOut();
          setIsResuming(false);
        } else setError(problem);
      },
    );
  }, [state === "ready"]);
  if (!isResuming) return <SignIn />;
  return (
    <main id="main" class="welcome" tabIndex={-1}>
      <div class="welcome-box">
        {error === null ? <Skeleton lines={4} /> : <Problem error={error} />}
        {error !== null && (
          <Button
            run={() => {
              signOut();
              setIsResuming(false);
            }}
          >
            {t("Sign in with another key")}
          </Button>
        )}
      </div>
    </main>
  );
}

function Shell() {
  const [isOpen, setIsOpen] = useState(false);
  const known = rights.value;
  const { path } = place.value;
  const allowed = VIEWS.filter(({ isAllowed }) => known !== null && isAllowed(known));
  const view = path[0] === undefined ? allowed[0] : VIEWS.find(({ name }) => name === path[0]);
  const title = view === undefined ? t("Not found") : t(view.title);
  const where = path.join("/");
  useEffect(() => {
    document.title = `${title} · Mneme`;
    if (place.peek().isRenamed === true) return;
    setIsOpen(false);
    // a new view starts at its top, with the keyboard focus in it
    if (document.querySelector("dialog[open]") === null)
      document.getElementById("main")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [where]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") setIsOpen(false);
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
      }
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        {t("Skip to content")}
      </button>
      <header class="topbar">
        <Button kind="ghost" icon={MenuIcon} label={t("Menu")} expanded={isOpen} run={() => setIsOpen(!isOpen)} />
        <a class="brand" href="#/home" aria-label={t("Home")}>
          <Mark size={24} />
        </a>
        <ProjectSwitcher />
        <Button kind="ghost" icon={Search} label={t("Search or go to…")} run={openPalette} />
      </header>
      <button
        type="button"
        class={`scrim ${isOpen ? "open" : ""}`}
        aria-label={t("Close the menu")}
        tabIndex={isOpen ? 0 : -1}
        onClick={() => setIsOpen(false)}
      />
      <Sidebar views={allowed} current={view?.name ?? ""} isOpen={isOpen} />
      <main id="main" class="main" tabIndex={-1}>
        <Banners />
        {view === undefined ? (
          <NotFound />
        ) : known !== null && !view.isAllowed(known) ? (
          <Refused title={t(view.title)} />
        ) : (
          <view.component path={path.slice(1)} key={view.name} />
        )}
      </main>
      <Palette views={allowed} />
    </div>
  );
}

function Banners() {
  const { state, status, warnings } = server.value;
  const texts = [
    state === "unreachable" && t("The server does not answer. The page continues as soon as it is back."),
    state === "waiting" && t("The server is not ready: {status}", { status }),
    waiting.value !== null && t("Rate limit reached. Trying again in {n} s.", { n: waiting.value }),
    refusedKey.value !== null && t("The server refuses this key. Sign out and use another one."),
    ...warnings,
  ].filter((text) => typeof text === "string");
  return (
    <div role="status">
      {texts.map((text) => (
        <p key={text} class="banner">
          <TriangleAlert size={16} aria-hidden="true" /> {text}
        </p>
      ))}
    </div>
  );
}

function NotFound() {
  return (
    <div class="view">
      <h1>{t("Not found")}</h1>
      <p>
        {t("There is no such page.")} <a href="#/home">{t("Go to Home")}</a>
      </p>
    </div>
  );
}

function Refused({ title }: { readonly title: string }) {
  return (
    <div class="view">
      <h1>{title}</h1>
      <p>{t("This key has no access to this page. Use a key with more scopes.")}</p>
    </div>
  );
}
