// The console in a browser, on a real server with real models: what a person sees, does and hears. Without Chromium
// these tests are skipped.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { strToU8, zipSync } from "fflate";
import type { Page } from "playwright-core";
import { KEY_SCOPES, type KeyScope } from "../../src/domain/scope.ts";
import { representatives, testOfAll } from "../support/extent.ts";
import { until } from "../support/until.ts";
import { goTo, type InBrowser, NO_BROWSER, signIn, startInBrowser, violationsOf } from "./in-browser.ts";
import { PAYLOADS } from "./payloads.ts";

const VIEWS = [
  "graph",
  "home",
  "playground",
  "cases",
  "ask",
  "memories",
  "map",
  "users",
  "connect",
  "keys",
  "webhooks",
  "projects",
  "models",
  "settings",
  "system",
];
const ARABIC = "اجتماع فريق الميناء يوم الأربعاء";

describe.skipIf(NO_BROWSER !== null)(`in a browser${NO_BROWSER === null ? "" : ` (skipped: ${NO_BROWSER})`}`, () => {
  let shown: InBrowser;
  let page: Page;
  beforeAll(async () => {
    shown = await startInBrowser();
    await shown.mneme.store({ content: "Lena prefers meetings before noon.", userId: "lena", tags: ["meeting"] });
    await shown.mneme.store({ content: ARABIC, title: ARABIC, userId: "omar" });
    await storePayloads(shown);
    page = await shown.open();
  });
  afterAll(async () => {
    const problems = [...shown.problems];
    await shown.stop();
    expect(problems).toEqual([]); // nothing ran, nothing was blocked, no other host was asked
  });

  test("a wrong key is refused beside the field, and the right one opens the first view with the focus in it", async () => {
    const other = await shown.open({ key: null });
    await other.getByLabel("API key").fill("ctx_wrong_key_0123456789");
    await other.getByRole("button", { name: "Sign in" }).click();
    await other.getByRole("alert").first().waitFor();
    await signIn(other, "ctx_test_key_0123456789abcdef");
    await until("the focus is in the main part", () =>
      other.evaluate<boolean>("document.getElementById('main').contains(document.activeElement)"),
    );
    expect(await other.title()).toContain("Mneme");
    await other.close();
  });

  test.each(representatives(["light", "dark"] as const, () => "any"))(
    "every view has no violation of accessibility: %s",
    async (theme) => {
      const other = await shown.open({ theme });
      for (const view of [...VIEWS, "users/lena", "playground?q=Lena&modes=hybrid"]) {
        await goTo(other, `#/${view}`);
        expect([view, await violationsOf(other, theme === "dark" ? "color-contrast" : null)]).toEqual([view, []]);
      }
      await other.close();
    },
  );

  testOfAll("every view fits a width of 390 and of 2,560 pixels", async () => {
    for (const width of [390, 2560]) {
      const other = await shown.open({ width });
      for (const view of VIEWS) {
        await goTo(other, `#/${view}`);
        const beyond = await other.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
        expect([width, view, beyond <= 0]).toEqual([width, view, true]);
      }
      await other.close();
    }
  });

  testOfAll("works below a path, and keeps the key when the page is loaded again", async () => {
    const other = await shown.open({ isBelow: true, at: "#/memories?userId=lena" });
    await other.getByRole("link", { name: "Lena prefers meetings before noon." }).waitFor();
    await other.reload();
    await other.getByRole("link", { name: "Lena prefers meetings before noon." }).waitFor();
    await goTo(other, "#/connect");
    expect(await other.getByText(`${shown.urlBelow}v1`, { exact: true }).count()).toBe(1);
    await other.close();
  });

  testOfAll("reads by itself what failed while the server was away", async () => {
    shown.isAway = true;
    await goTo(page, "#/users");
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page
      .getByText(/not ready|does not answer/)
      .first()
      .waitFor();
    shown.isAway = false;
    await page.getByRole("link", { name: "lena", exact: true }).waitFor();
    expect(await page.getByRole("button", { name: "Retry" }).count()).toBe(0);
  });

  test("a question shows in each mode what was found and why, and stands in the address", async () => {
    await goTo(page, "#/playground");
    await page.getByRole("searchbox", { name: "Question" }).fill("When does Lena like to meet?");
    await page.getByRole("button", { name: "precise" }).click();
    await page.getByRole("main").getByRole("button", { name: "Search" }).click();
    for (const mode of ["hybrid", "precise"]) {
      const column = page.getByRole("region", { name: `Results of ${mode}` });
      await column.getByRole("article").first().waitFor();
      expect(await column.getByRole("article").first().textContent()).toContain("Lena prefers meetings");
      expect(await column.getByText("Meaning").count()).toBeGreaterThan(0);
    }
    const address = new URL(page.url()).hash;
    expect(address).toContain("q=When+does+Lena");
    expect(address).toContain("modes=hybrid%2Cprecise");
    const other = await shown.open({ at: address });
    await other.getByRole("article").first().waitFor();
    await other.close();
  });

  testOfAll("what a result should be becomes a case, and a run of all cases shows its figures", async () => {
    await goTo(page, "#/playground?q=When+does+Lena+like+to+meet%3F&modes=hybrid");
    await page.getByRole("button", { name: "Expect this" }).first().click();
    await page.getByRole("button", { name: "Open cases" }).click();
    await page.getByRole("link", { name: "When does Lena like to meet?" }).waitFor();
    await page.getByRole("button", { name: "Run all cases" }).click();
    const figures = page.getByRole("row", { name: /^hybrid/ });
    await figures.waitFor();
    expect(await figures.textContent()).toContain("100 %");
    await page
      .getByRole("row", { name: /^When does Lena like to meet/ })
      .getByText("passed")
      .waitFor();
    await page.getByRole("button", { name: /Delete the case/ }).click();
    await page.getByText("No cases yet").waitFor();
  });

  testOfAll("the map shows each memory as a point, and keys go from one to the next and open it", async () => {
    await goTo(page, "#/map");
    const map = page.getByRole("application", { name: /^Map of \d+ memories/ });
    await map.focus();
    await page.keyboard.press("ArrowRight");
    await page.locator(".point-note p").first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Memories" }).first().waitFor();
    expect(new URL(page.url()).hash).toStartWith("#/memories/mem_");
  });

  test("a memory is added by keyboard, opened, changed, and deleted, and the focus is never lost", async () => {
    await goTo(page, "#/memories");
    const add = page.getByRole("button", { name: "Add a memory" });
    await add.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Text", exact: true }).fill("The spare key is under the blue pot.");
    await page.getByRole("button", { name: "Add", exact: true }).click();
    await page.getByRole("link", { name: "The spare key is under the blue pot." }).waitFor();
    await until("something has the focus", () => page.evaluate<boolean>("document.activeElement !== document.body"));
    await page.getByRole("link", { name: "The spare key is under the blue pot." }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Title").fill("Spare key");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Spare key" }).waitFor();
    await until("something has the focus", () => page.evaluate<boolean>("document.activeElement !== document.body"));
    await page.getByRole("main").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Memories" }).waitFor();
    await until("it is gone", async () => (await page.getByRole("link", { name: "Spare key" }).count()) === 0);
  });

  test("a question is answered with a source that opens at its passage, and what is not stored is said so", async () => {
    await goTo(page, "#/ask?userId=lena");
    const question = page.getByRole("textbox", { name: "Question" });
    await question.fill("When does Lena like to meet?");
    await question.press("Enter");
    await page.getByRole("button", { name: "Source 1", exact: true }).first().click();
    await page.getByRole("link", { name: "Open the memory at this passage" }).click();
    await page.locator("mark.passage-mark").waitFor();
    expect(await page.locator("mark.passage-mark").textContent()).toContain("before noon");
    await page.goBack();
    await page.getByRole("textbox", { name: "Question" }).fill("What is the password of the vault on the moon?");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing stored answers this.").waitFor();
    // while memories are being processed, that may be why
    let processing = 2;
    const counts = (url: URL) => url.pathname.endsWith("/memories/count") && url.search === "?status=processing";
    await page.route(counts, (route) => route.fulfill({ json: { count: processing } }));
    await page.getByRole("button", { name: "Ask again" }).click();
    await page.getByText("2 memories are still being processed and cannot be found yet.").waitFor();
    processing = 0;
    await page.getByText("All memories are processed now. Ask again.").waitFor();
    await page.unroute(counts);
  });

  testOfAll("each new chat begins empty, also right after a question, and stands out in the list", async () => {
    const other = await shown.open({ at: "#/ask?userId=lena" });
    const askAnew = async (question: string) => {
      await other.getByText("What would you like to know?").waitFor();
      expect(await other.locator(".turn").count()).toBe(0);
      await other.getByRole("textbox", { name: "Question" }).fill(question);
      await other.keyboard.press("Enter");
      await other.getByRole("button", { name: "Source 1", exact: true }).first().waitFor();
      expect(await other.locator(".chats a[aria-current=page]").textContent()).toContain(question);
    };
    await askAnew("When does Lena prefer to meet?");
    await other.getByRole("button", { name: "New chat" }).click();
    await askAnew("When does Lena like meetings?");
    await other.getByRole("link", { name: "Ask", exact: true }).click();
    await other.getByText("What would you like to know?").waitFor();
    await other.close();
  });

  testOfAll("columns never collapse, and texts from right to left run so", async () => {
    await goTo(page, "#/memories?userId=omar");
    const widths = await page
      .locator(".grid-head [role=columnheader]")
      .evaluateAll((heads) => heads.slice(1).map((head) => head.getBoundingClientRect().width));
    expect(Math.min(...widths)).toBeGreaterThan(80);
    await page.getByRole("link", { name: ARABIC }).waitFor();
    const links = "[...document.querySelectorAll('.grid-body a')]";
    const direction = `getComputedStyle(${links}.find((link) => link.textContent === ${JSON.stringify(ARABIC)})).direction`;
    expect(await page.evaluate<string>(direction)).toBe("rtl");
  });

  test("one's own key and the open project are not deleted in one click", async () => {
    await goTo(page, "#/keys");
    const own = page.getByRole("row").filter({ hasText: "this session" });
    await own.getByRole("button", { name: /^Revoke/ }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Revoke" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    await goTo(page, "#/projects");
    await page.getByRole("row").filter({ hasText: "current" }).getByRole("button", { name: "More" }).click();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Name and plan", "Copy the id"]);
    await page.keyboard.press("Escape");
  });

  test("nothing that is stored runs, loads or leaves its place", async () => {
    const { data } = (await shown.mneme.call("GET", "/v1/memories?tag=all")).body;
    const id = data[0].id;
    const chats = (await shown.mneme.call("GET", "/v1/chats")).body.data;
    for (const at of [
      ...[`memories/${id}`, `memories/${id}?as=markdown`, `memories/${id}?tab=json`, `memories/${id}?tab=history`],
      ...[`memories/${id}?tab=graph`, "memories?tag=payload", "memories?q=script", "users", "users/eve?tab=memories"],
      ...["users/eve", "users/eve?tab=events", "keys", "home", `ask/${chats[0].id}`, "connect"],
      `playground?q=${encodeURIComponent(PAYLOADS[0] ?? "")}&modes=hybrid,precise`,
    ]) {
      await goTo(page, `#/${at}`);
      // what a payload would add, if it were taken for HTML
      const foreign = "main :is(script, iframe, object, embed, video, base, meta, link, style, [onerror], [onload])";
      expect([at, await page.locator(foreign).count()]).toEqual([at, 0]);
      const links =
        "[...document.querySelectorAll('main a')].filter((a) => /^(javascript|data):/i.test(a.href)).length";
      expect([at, await page.evaluate<number>(links)]).toEqual([at, 0]);
    }
    expect(shown.problems).toEqual([]);
  });

  test("keys with fewer rights see no view and no button that they cannot use", async () => {
    const reader = await shown.open({ key: shown.mneme.addKey(["memories:read"]), at: "#/memories" });
    const links = () => reader.locator("nav a").allTextContents();
    expect((await links()).map((text) => text.trim())).toEqual([
      "Home",
      "Playground",
      "Memories",
      "Map",
      "Graph",
      "Connect",
      "System",
    ]);
    expect(await reader.getByRole("button", { name: /Add|Upload/ }).count()).toBe(0);
    await reader.close();
    const confined = await shown.open({ key: shown.mneme.addKey(["*"], undefined, { userId: "lena" }) });
    const names = (await confined.locator("nav a").allTextContents()).map((text) => text.trim());
    expect(names).toEqual(["Home", "Playground", "Ask", "Memories", "Map", "Graph", "Users", "Connect", "System"]);
    await goTo(confined, "#/memories");
    await confined.getByRole("link", { name: "Lena prefers meetings before noon." }).waitFor();
    expect(await confined.getByText("eve", { exact: true }).count()).toBe(0);
    await confined.close();
  });

  const rights: readonly (readonly [name: string, scopes: readonly KeyScope[], userId: string | undefined])[] = [
    ...KEY_SCOPES.map((scope) => [scope, [scope], undefined] as const),
    ["everything, of one user", ["*", "admin"], "lena"],
    ["reading, of one user", ["memories:read", "users:read", "chats:read"], "lena"],
  ];
  const someRights = representatives(rights, ([, , userId]) => (userId === undefined ? "a scope" : "of a user"));
  test.each(someRights)(
    "a key with %s asks for nothing that it may not have, and no link leads nowhere",
    async (_, scopes, userId) => {
      const before = shown.refused.length;
      const key = shown.mneme.addKey(scopes, undefined, userId === undefined ? {} : { userId });
      const other = await shown.open({ key });
      const names = await other
        .locator("nav a")
        .evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
      for (const at of [...names, ...(names.includes("#/users") ? ["#/users/lena"] : [])]) {
        await goTo(other, at);
        await other.waitForLoadState("networkidle");
        const links = await other
          .locator("main a[href^='#/']")
          .evaluateAll((all) => all.map((link) => `#/${/^#\/(\w*)/.exec(link.getAttribute("href") ?? "")?.[1]}`));
        expect([at, links.filter((link) => !names.includes(link))]).toEqual([at, []]);
      }
      expect(shown.refused.slice(before)).toEqual([]);
      await other.close();
    },
  );

  testOfAll("signing in asks for the key and its project, and nothing in vain", async () => {
    const other = await shown.open({ key: null });
    const asked: string[] = [];
    other.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await signIn(other, shown.mneme.addKey(["memories:read"]));
    expect(asked.filter((path) => path.startsWith("/v1/"))[0]).toBe("/v1/keys/current");
    expect(asked.filter((path) => path === "/v1/project")).toEqual([]);
    await other.close();
  });

  testOfAll(
    "the reference fits a phone, names the server, searches, and tries an operation with the key of the console",
    async () => {
      const other = await shown.open({ width: 390 });
      await other.goto(`${shown.url}docs#countMemories`);
      expect(await other.evaluate<number>("document.documentElement.scrollWidth - innerWidth")).toBe(0);
      expect(await other.getByText(`API=${shown.url}v1`).count()).toBe(1);
      await other.locator("details.menu > summary").click();
      await other.getByLabel("Search the contents").last().fill("count memories");
      expect(await other.locator("details.menu nav li:visible").count()).toBe(1);
      await other.locator("details.menu nav li:visible a").click();
      await other.locator("#countMemories").getByRole("button", { name: "Try it" }).click();
      await other.getByRole("button", { name: "Send GET" }).click();
      await other.getByText('"count":').last().waitFor();
      expect(await other.getByLabel("Answer").last().textContent()).toStartWith("200");
      await other.getByRole("link", { name: "Console" }).last().click();
      await other.locator(".shell").waitFor();
      await other.close();
    },
  );

  test("files are uploaded with their progress, and a first visit ends with an answered question", async () => {
    const { key } = (await shown.mneme.call("POST", "/v1/projects", { name: "First visit" })).body;
    const other = await shown.open({ key, at: "#/home" });
    await other.getByRole("button", { name: "Load the sample library" }).click();
    await other.getByRole("button", { name: "Remove the sample library" }).waitFor();
    await goTo(other, "#/memories?add=files");
    await other.getByLabel("Files", { exact: true }).setInputFiles([
      { name: "tides.md", mimeType: "text/markdown", buffer: Buffer.from("# Tides\n\nThe moon makes the tides.") },
      { name: "broken.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7\nbroken") },
    ]);
    // files wait for their attributes until they are sent
    await other.getByRole("dialog").getByLabel("Tags").fill("sea");
    await other.getByRole("button", { name: "Upload 2 files" }).click();
    const files = other.getByRole("dialog").getByRole("listitem");
    await files.filter({ hasText: "tides.md" }).getByText("completed").waitFor();
    await files.filter({ hasText: "broken.pdf" }).getByText("failed").waitFor();
    await goTo(other, "#/ask");
    await until("the sample library is searchable", async () => {
      const answer = await fetch(`${shown.url}v1/memories/count?status=processing`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return ((await answer.json()) as { count: number }).count === 0;
    });
    await other.getByRole("textbox", { name: "Question" }).fill("What does the error code E-317 mean?");
    await other.keyboard.press("Enter");
    await other.getByRole("button", { name: "Source 1", exact: true }).first().waitFor();
    await goTo(other, "#/home");
    expect(await other.getByText("Ask a question").locator("..").getAttribute("class")).toBe("done");
    await other.getByRole("button", { name: "Remove the sample library" }).click();
    await other.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await other.getByRole("button", { name: "Load the sample library" }).waitFor();
    await other.close();
  });

  testOfAll(
    "the files in an archive are listed and opened, and the archive is downloaded as it was uploaded",
    async () => {
      const { key } = (await shown.mneme.call("POST", "/v1/projects", { name: "Archive" })).body;
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      await fetch(`${shown.url}v1/project`, { method: "PUT", headers, body: JSON.stringify({ keep_files: true }) });
      const archive = Buffer.from(
        zipSync({
          "readings/may.txt": strToU8("In May the gauge measured 3.2 metres."),
          "readings/june.txt": strToU8("In June the gauge measured 2.9 metres."),
        }),
      );
      const other = await shown.open({ key, at: "#/memories?add=files" });
      const name = "readings.zip";
      await other
        .getByLabel("Files", { exact: true })
        .setInputFiles([{ name, mimeType: "application/zip", buffer: archive }]);
      await other.getByRole("button", { name: "Upload 1 file" }).click();
      const row = other.getByRole("dialog").getByRole("listitem").filter({ hasText: name });
      await row.getByText("completed").waitFor();
      await row.getByRole("link", { name }).click();
      const parts = other.getByRole("region", { name: "2 files in this file" });
      await parts.getByRole("link", { name: "readings/june.txt" }).waitFor();
      const [download] = await Promise.all([
        other.waitForEvent("download"),
        other.getByRole("button", { name: /Download/ }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(name);
      expect(readFileSync((await download.path()) ?? "").equals(archive)).toBe(true);
      await parts.getByRole("link", { name: "readings/may.txt" }).click();
      await other.getByText("In May the gauge measured 3.2 metres.").first().waitFor();
      await other.getByRole("link", { name: "Open it" }).click(); // back to the archive
      await parts.getByRole("link", { name: "readings/june.txt" }).waitFor();
      await other.close();
    },
  );

  test("a key is made for a purpose, shown once with code, rotated and revoked", async () => {
    await goTo(page, "#/keys?new=1");
    await page.getByRole("radio", { name: /Read only/ }).check();
    await page.getByLabel("Name").fill("Reader");
    await page.getByRole("button", { name: "Create the key" }).click();
    const secret = await page.getByRole("region", { name: "Secret of the key" }).textContent();
    expect(secret).toStartWith("ctx_");
    // the code asks for what the key may do, and nothing else
    const code = page.getByRole("region", { name: "Code with this key" });
    expect(await code.textContent()).toContain("v1/memories/search");
    expect(await code.textContent()).not.toContain("prefers meetings");
    await page.getByRole("button", { name: "Python" }).click();
    expect(await page.getByRole("region", { name: "Code with this key" }).textContent()).toContain(secret ?? "none");
    await page.getByRole("button", { name: "Done" }).click();
    const row = page.getByRole("row").filter({ hasText: "Reader" });
    await row.getByRole("button", { name: "Rotate" }).click();
    await page.getByRole("button", { name: "Create a new secret" }).click();
    expect(await page.getByRole("region", { name: "Secret of the key" }).textContent()).not.toBe(secret);
    await page.getByRole("button", { name: "Done" }).click();
    await row.getByRole("button", { name: "Revoke Reader" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await until("the row is gone", async () => (await row.count()) === 0);
  });

  testOfAll("another language is chosen once and kept, and Arabic turns the page around", async () => {
    const other = await shown.open({ at: "#/memories" });
    await other.getByRole("button", { name: "Language" }).click();
    await other.getByRole("menuitemradio", { name: /Deutsch/ }).click();
    await other.getByRole("heading", { name: "Erinnerungen" }).waitFor();
    await other.reload();
    await other.getByRole("heading", { name: "Erinnerungen" }).waitFor();
    await other.getByRole("button", { name: "Sprache" }).click();
    await other.getByRole("menuitemradio", { name: /العربية/ }).click();
    await other.getByRole("heading", { name: "الذكريات" }).waitFor();
    expect(await other.evaluate<string>("document.documentElement.dir")).toBe("rtl");
    expect(
      await other.evaluate<number>("document.querySelector('.sidebar').getBoundingClientRect().left"),
    ).toBeGreaterThan(640);
    expect(await violationsOf(other)).toEqual([]);
    await other.close();
  });

  testOfAll("entities are found, followed to their passages, joined by a path, renamed and merged", async () => {
    const { key } = (await shown.mneme.call("POST", "/v1/projects", { name: "Graph" })).body;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (const content of [
      "Ingrid Solberg works at Nordlys AS.",
      "Nordlys AS delivers to Omar Haddad.",
      "Omar Haddad met Ing. Solberg.",
    ])
      await fetch(`${shown.url}v1/memories`, { method: "POST", headers, body: JSON.stringify({ content }) });
    await until("all are searchable", async () => {
      const answer = await fetch(`${shown.url}v1/memories/count?status=completed`, { headers });
      return ((await answer.json()) as { count: number }).count === 3;
    });
    const other = await shown.open({ key, at: "#/graph?q=Ingrid" });
    await other.getByRole("main").getByRole("button", { name: "Ingrid Solberg", exact: true }).click();
    const panel = other.getByRole("region", { name: "Ingrid Solberg" });
    await panel.getByRole("link", { name: "Ingrid Solberg works at Nordlys AS." }).waitFor();
    await panel.getByRole("button", { name: "Path to another entity" }).click();
    await other.getByRole("dialog").getByLabel("Name contains").fill("Omar Haddad");
    await other.getByRole("dialog").getByRole("button", { name: "Omar Haddad", exact: true }).click();
    const steps = other.getByRole("region", { name: "Path" }).getByRole("listitem");
    await steps.nth(2).waitFor();
    expect((await steps.locator("strong").allTextContents())[0]).toBe("Ingrid Solberg");
    await panel.getByRole("button", { name: "More" }).click();
    await other.getByRole("menuitem", { name: "Rename" }).click();
    await other.getByRole("dialog").getByLabel("Name", { exact: true }).fill("Dr. Solberg");
    await other.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    const renamed = other.getByRole("region", { name: "Dr. Solberg" });
    await renamed.getByRole("button", { name: "More" }).click();
    await other.getByRole("menuitem", { name: "Merge into another entity" }).click();
    await other.getByRole("dialog").getByLabel("Name contains").fill("Nordlys");
    await other.getByRole("dialog").getByRole("button", { name: "Nordlys AS", exact: true }).click();
    await other.getByRole("region", { name: "Nordlys AS" }).waitFor();
    await other.getByRole("button", { name: "Undo" }).click();
    await other.getByRole("region", { name: "Dr. Solberg" }).waitFor();
    await other.close();
  });

  testOfAll("the command palette goes to views and finds memories", async () => {
    await goTo(page, "#/home");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("webho");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Webhooks" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("nothing");
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(ARABIC.slice(0, 10));
    await page.getByRole("option", { name: ARABIC }).click();
    await page.getByRole("heading", { name: ARABIC }).waitFor();
  });

  testOfAll("at rest it asks at most 60 times a minute", async () => {
    const other = await shown.open({ hasClock: true, at: "#/home" });
    const before = shown.requests;
    for (let second = 0; second < 60; second += 1) {
      await other.clock.runFor(1_000);
      await other.evaluate("fetch('health').then(({ status }) => status)"); // answers that were on their way are here
    }
    const asked = shown.requests - before - 60;
    expect([asked > 0, asked <= 60]).toEqual([true, true]);
    await other.close();
  });
});

/** Stores all payloads in every field that a person or an application can fill. */
async function storePayloads({ mneme }: InBrowser): Promise<void> {
  const memories = PAYLOADS.map((payload, at) => ({
    ...{ content: `${payload} is payload ${at}`, title: payload, tags: ["payload", payload], type: payload },
    ...{ userId: "eve", agentId: payload, sessionId: payload, externalId: `${at} ${payload}`, metadata: { payload } },
  }));
  for (let at = 0; at < memories.length; at += 60)
    await mneme.call("POST", "/v1/memories/batch", { memories: memories.slice(at, at + 60) });
  await mneme.store({ content: PAYLOADS.join("\n\n"), title: PAYLOADS[1], tags: ["all"], userId: "eve" });
  const file = new FormData();
  file.append("file", new File(["A file with a bad name."], `${PAYLOADS[1]?.replaceAll("/", "")}.txt`));
  const headers = { authorization: "Bearer ctx_test_key_0123456789abcdef" };
  await mneme.send(new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers, body: file }));
  await mneme.call("POST", "/v1/users", { id: "eve", name: PAYLOADS[1], metadata: { note: PAYLOADS[2] } });
  await mneme.call("POST", "/v1/users/eve/events", { type: "seen", data: { note: PAYLOADS[3] } });
  await mneme.call("POST", "/v1/keys", { name: PAYLOADS[0], scopes: ["query"] });
  const chat = await mneme.call("POST", "/v1/chats", { title: PAYLOADS[1] });
  for (const message of PAYLOADS.slice(0, 3))
    await mneme.call("POST", `/v1/chats/${chat.body.id}/messages`, { message: `What is ${message}?` });
}
