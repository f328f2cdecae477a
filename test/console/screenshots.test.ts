// Pictures of every view of the console, in light, in dark and on a phone, for people who judge how it looks. Set
// MNEME_TEST_SCREENSHOTS to the folder for the files; otherwise nothing is drawn.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { until } from "../support/until.ts";
import { goTo, type InBrowser, NO_BROWSER, startInBrowser } from "./in-browser.ts";

const folder = process.env.MNEME_TEST_SCREENSHOTS ?? "";
const only = process.env.MNEME_TEST_SCREENSHOTS_ONLY ?? "";
const why = folder === "" ? "set MNEME_TEST_SCREENSHOTS to a folder" : NO_BROWSER;

const LOOKS = [
  { name: "light", theme: "light", width: 1280 },
  { name: "dark", theme: "dark", width: 1280 },
  { name: "phone", theme: "light", width: 390 },
] as const;

/** A picture: what stands behind `#`, and what is done before it is taken. */
interface Picture {
  readonly name: string;
  readonly at: string;
  /** Whether the project is a new one without data. */
  readonly isEmpty?: boolean;
  readonly prepare?: (page: Page) => Promise<unknown>;
}

/** Whether anything is on the canvas of the page. */
const HAS_DRAWN = `(() => {
  const canvas = document.querySelector("main canvas");
  if (canvas === null || canvas.width === 0) return false;
  return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
})()`;

const openFirst = (page: Page, role: "button" | "link", name: string | RegExp) =>
  page.getByRole("main").getByRole(role, { name }).first().click();

const PICTURES: readonly Picture[] = [
  { name: "home", at: "home", prepare: (page) => page.locator(".home-top canvas").waitFor() },
  { name: "home-new", at: "home", isEmpty: true },
  {
    name: "playground",
    at: "playground?q=Where+is+the+workshop+with+the+harbour+team%3F&modes=hybrid,precise",
    prepare: (page) => page.getByRole("article").first().waitFor(),
  },
  { name: "playground-new", at: "playground", isEmpty: true },
  {
    name: "cases",
    at: "cases",
    prepare: async (page) => {
      await openFirst(page, "button", "Run all cases");
      await page.getByText("passed").nth(1).waitFor();
      await page.getByRole("heading", { name: /^Run [2-9]/ }).waitFor();
      const others = page.getByLabel("Compared with");
      await others.selectOption({ index: (await others.locator("option").count()) - 1 });
    },
  },
  { name: "cases-new", at: "cases", isEmpty: true },
  { name: "ask", at: "ask" },
  {
    name: "ask-answered",
    at: "ask",
    prepare: async (page) => {
      const list = page.getByRole("main").getByRole("button", { name: "Chats" });
      if (await list.isVisible()) await list.click(); // on a phone
      await openFirst(page, "link", "Where is the workshop?");
      await page.getByRole("button", { name: "Source 1", exact: true }).first().waitFor();
    },
  },
  { name: "memories", at: "memories" },
  { name: "memories-new", at: "memories", isEmpty: true },
  { name: "memories-selected", at: "memories", prepare: (page) => page.getByRole("checkbox").nth(1).check() },
  { name: "memories-add", at: "memories?add=text" },
  { name: "memories-upload", at: "memories?add=files" },
  { name: "memory", at: "memory" },
  { name: "memory-history", at: "memory?tab=history" },
  { name: "memory-graph", at: "memory?tab=graph" },
  { name: "memory-json", at: "memory?tab=json" },
  {
    name: "map",
    at: "map",
    prepare: (page) => until("the points are drawn", () => page.evaluate<boolean>(HAS_DRAWN)),
  },
  {
    name: "map-selected",
    at: "map",
    prepare: async (page) => {
      await page.getByRole("button", { name: "Select points with a lasso" }).click();
      const box = await page.locator("main canvas").boundingBox();
      if (box === null) throw new Error("the map has no place on the page");
      // a loop around the points at the upper left, as a hand draws it
      const corners = Array.from({ length: 24 }, (_, at) => {
        const angle = (2 * Math.PI * at) / 24;
        return [
          box.x + box.width * (0.35 + 0.34 * Math.cos(angle)),
          box.y + box.height * (0.3 + 0.28 * Math.sin(angle)),
        ] as const;
      });
      await page.mouse.move(...(corners[0] as [number, number]));
      await page.mouse.down();
      for (const corner of corners) await page.mouse.move(...(corner as [number, number]));
      await page.mouse.up();
      await page.locator(".bulk").waitFor();
    },
  },
  { name: "graph", at: "graph" },
  {
    name: "graph-entity",
    at: "graph?q=Bergen",
    prepare: async (page) => {
      await openFirst(page, "button", "Bergen");
      await page.getByRole("region", { name: "Bergen" }).waitFor();
    },
  },
  { name: "graph-new", at: "graph", isEmpty: true },
  { name: "users", at: "users" },
  { name: "user", at: "users/lena" },
  {
    name: "user-delete",
    at: "users/lena",
    prepare: async (page) => {
      await openFirst(page, "button", "Delete");
      await page.getByRole("dialog").getByLabel(/^Type/).waitFor();
    },
  },
  { name: "connect", at: "connect" },
  { name: "keys", at: "keys" },
  { name: "keys-wizard", at: "keys?new=1" },
  { name: "webhooks", at: "webhooks", prepare: (page) => page.getByText("delivered").waitFor() },
  { name: "webhooks-new", at: "webhooks", isEmpty: true },
  { name: "projects", at: "projects" },
  { name: "models", at: "models" },
  { name: "models-add", at: "models?add=remote" },
  { name: "settings-general", at: "settings" },
  { name: "settings", at: "settings?tab=answers" },
  { name: "settings-embedder", at: "settings?tab=embedder" },
  { name: "settings-storage", at: "settings?tab=storage" },
  { name: "settings-llm", at: "settings?tab=llm" },
  { name: "system", at: "system" },
  {
    name: "palette",
    at: "home",
    prepare: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox").fill("harbour");
      await page.getByRole("group", { name: "Memories" }).waitFor();
    },
  },
];

describe.skipIf(why !== null)(`pictures of the console${why === null ? "" : ` (skipped: ${why})`}`, () => {
  /** Answers deliveries to the webhook. */
  const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(null, { status: 204 }) });
  let shown: InBrowser;
  let newKey: string;
  let memory: string;
  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    shown = await startInBrowser({ config: { webhookAllow: AllowList.parse("127.0.0.1") } });
    memory = await fill(shown, `http://127.0.0.1:${receiver.port}/hooks/mneme`);
    newKey = (await shown.mneme.call("POST", "/v1/projects", { name: "New project" })).body.key;
  });
  afterAll(async () => {
    const problems = [...shown.problems];
    await shown.stop();
    await receiver.stop(true);
    expect(problems).toEqual([]);
  });

  test.each(LOOKS)("every view: $name", async ({ name: look, theme, width }) => {
    const signIn = await shown.open({ key: null, theme, width });
    await signIn.locator("form").waitFor();
    await draw(signIn, `sign-in-${look}`);
    await signIn.close();
    const full = await shown.open({ theme, width });
    const empty = await shown.open({ theme, width, key: newKey });
    for (const { name, at, isEmpty = false, prepare } of PICTURES) {
      if (!name.startsWith(only)) continue;
      const page = isEmpty ? empty : full;
      await goTo(
        page,
        `#/${at.replace(/^memory/, (found) => (at.startsWith("memories") ? found : `memories/${memory}`))}`,
      );
      await prepare?.(page);
      await page.waitForLoadState("networkidle");
      await draw(page, `${name}-${look}`);
      await page.keyboard.press("Escape");
    }
    await full.close();
    await empty.close();
    const reference = await shown.open({ theme, width, key: null });
    await reference.goto(`${shown.url}docs`);
    await draw(reference, `reference-${look}`);
    await reference.close();
  });

  async function draw(page: Page, name: string): Promise<void> {
    await page.mouse.move(0, 0); // so that nothing is highlighted
    const bytes = await page.screenshot({ path: join(folder, `${name}.png`), animations: "disabled" });
    expect(bytes.length).toBeGreaterThan(4_000);
  }
});

/** Fills the default project with invented data of each kind. Returns the id of a memory with a history. */
async function fill({ mneme, open }: InBrowser, hook: string): Promise<string> {
  const first = await open({ at: "#/home" });
  await first.getByRole("button", { name: "Load the sample library" }).click();
  await first.getByRole("button", { name: "Remove the sample library" }).waitFor();
  await first.close();
  const isDone = async () => (await mneme.call("GET", "/v1/memories/count?status=processing")).body.count === 0;
  await until("the sample library is searchable", isDone);
  await mneme.call("POST", "/v1/users", { id: "lena", name: "Lena Brandt", metadata: { role: "project lead" } });
  await mneme.call("POST", "/v1/users", { id: "omar", name: "Omar Haddad" });
  await mneme.call("POST", "/v1/users/lena/events", { type: "signed_in", data: { from: "Lisbon" } });
  const { id } = (await mneme.call("GET", "/v1/memories?userId=lena")).body.data.at(-2);
  await mneme.call("PUT", `/v1/memories/${id}`, {
    content: "The workshop with the harbour team was moved from room 114 to room 220, and begins at 10:30.",
  });
  await mneme.settled(id);
  const upload = new FormData();
  upload.append("file", new File(["%PDF-1.7\nbroken"], "scan of the permit.pdf"));
  const headers = { authorization: "Bearer ctx_test_key_0123456789abcdef" };
  await mneme.send(new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers, body: upload }));
  await until("the broken file is read", isDone);
  for (const [title, message] of [
    ["The tide gauge", "What does the error code E-317 mean?"],
    ["Where is the workshop?", "Where is the workshop with the harbour team?"],
  ]) {
    const chat = await mneme.call("POST", "/v1/chats", { title });
    await mneme.call("POST", `/v1/chats/${chat.body.id}/messages`, { message });
  }
  for (const mode of ["fast", "hybrid", "balanced", "precise"])
    await mneme.call("POST", "/v1/memories/search", { query: "error codes of the tide gauge", mode });
  await mneme.call("POST", "/v1/memories/query", { query: "Who owns the moon?" });
  await mneme.call("POST", "/v1/keys", { name: "Website search", scopes: ["memories:read", "query"] });
  await mneme.call("POST", "/v1/keys", { name: "Lena's assistant", scopes: ["*"], userId: "lena" });
  await mneme.call("POST", "/v1/projects", { name: "Customer support", plan: "pro" });
  const { id: webhook } = (
    await mneme.call("POST", "/v1/webhooks", {
      url: hook,
      events: ["memory.completed", "memory.failed"],
    })
  ).body;
  await mneme.call("POST", `/v1/webhooks/${webhook}/test`);
  const found = (await mneme.call("POST", "/v1/memories/search", { query: "error code E-317" })).body.results[0];
  await mneme.call("POST", "/v1/cases", {
    query: "What does the error code E-317 mean?",
    expected: { memory_ids: [found.memory_id] },
  });
  await mneme.call("POST", "/v1/cases", { query: "Who owns the moon?", expected: { not_found: true } });
  await mneme.call("PUT", "/v1/project", { superseding: "off" });
  const { id: run } = (await mneme.call("POST", "/v1/cases/runs", { modes: ["hybrid", "precise"] })).body;
  await until("the run has ended", async () => {
    return (await mneme.call("GET", `/v1/cases/runs/${run}`)).body.status !== "processing";
  });
  await mneme.call("PUT", "/v1/project", { superseding: "on" });
  return id;
}
