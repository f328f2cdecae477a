// The console in a browser, on a real server with real models: what a person sees, does and hears. Without Chromium
// these tests are skipped.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { until } from "../support/until.ts";
import { goTo, type InBrowser, NO_BROWSER, signIn, startInBrowser, violationsOf } from "./in-browser.ts";

const VIEWS = [
  "home",
  "playground",
  "ask",
  "memories",
  "users",
  "connect",
  "keys",
  "webhooks",
  "projects",
  "settings",
  "system",
];
const ARABIC = "اجتماع فريق الميناء يوم الأربعاء";
/** Texts that would run if they were put into a page as HTML, as an address or as Markdown. */
const PAYLOADS = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg onload=alert(1)>",
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "[click](javascript:alert(1))",
  "![x](https://example.invalid/x.png)",
  '"><details open ontoggle=alert(1)>',
  "<a href='data:text/html,<script>alert(1)</script>'>x</a>",
  "{{constructor.constructor('alert(1)')()}}",
  "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
];

describe.skipIf(NO_BROWSER !== null)(`in a browser${NO_BROWSER === null ? "" : ` (skipped: ${NO_BROWSER})`}`, () => {
  let shown: InBrowser;
  let page: Page;
  beforeAll(async () => {
    shown = await startInBrowser();
    await shown.mneme.store({ content: "Lena prefers meetings before noon.", userId: "lena", tags: ["meeting"] });
    await shown.mneme.store({ content: ARABIC, title: ARABIC, userId: "omar" });
    for (const [at, payload] of PAYLOADS.entries()) {
      const body = {
        content: `${payload} is a payload`,
        title: payload,
        tags: [payload],
        type: "payload",
        userId: `u${at}`,
      };
      await shown.mneme.store({ ...body, metadata: { payload }, agentId: payload, sessionId: payload });
    }
    await shown.mneme.call("POST", "/v1/users", { id: "lena", name: PAYLOADS[1], email: "a@b.example" });
    await shown.mneme.call("POST", "/v1/keys", { name: PAYLOADS[0], scopes: ["query"] });
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

  test.each(["light", "dark"] as const)("every view has no violation of accessibility: %s", async (theme) => {
    const other = await shown.open({ theme });
    for (const view of [...VIEWS, "users/lena", "playground?q=Lena&modes=hybrid"]) {
      await goTo(other, `#/${view}`);
      expect([view, await violationsOf(other)]).toEqual([view, []]);
    }
    await other.close();
  });

  test("every view fits a width of 390 and of 2,560 pixels", async () => {
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

  test("works below a path, and keeps the key when the page is loaded again", async () => {
    const other = await shown.open({ isBelow: true, at: "#/memories" });
    await other.getByRole("link", { name: "Lena prefers meetings before noon." }).waitFor();
    await other.reload();
    await other.getByRole("link", { name: "Lena prefers meetings before noon." }).waitFor();
    await goTo(other, "#/connect");
    expect(await other.getByText(`${shown.urlBelow}v1`, { exact: true }).count()).toBe(1);
    await other.close();
  });

  test("reads by itself what failed while the server was away", async () => {
    shown.isAway = true;
    await goTo(page, "#/users");
    await page.getByRole("button", { name: "Retry" }).waitFor();
    await page
      .getByText(/not ready|does not answer/)
      .first()
      .waitFor({ timeout: 30_000 });
    shown.isAway = false;
    await page.getByRole("link", { name: "lena", exact: true }).waitFor({ timeout: 30_000 });
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

  test("a memory is added by keyboard, opened, changed, and deleted, and the focus is never lost", async () => {
    await goTo(page, "#/memories");
    const add = page.getByRole("button", { name: "Add a memory" });
    await add.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("textbox", { name: "Text", exact: true }).fill("The spare key is under the blue pot.");
    await page.getByRole("button", { name: "Store", exact: true }).click();
    await page.getByRole("link", { name: "The spare key is under the blue pot." }).waitFor();
    expect(await page.evaluate("document.activeElement !== document.body")).toBe(true);
    await page.getByRole("link", { name: "The spare key is under the blue pot." }).click();
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("Title").fill("Spare key");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("heading", { name: "Spare key" }).waitFor();
    expect(await page.evaluate("document.activeElement !== document.body")).toBe(true);
    await page.getByRole("main").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByRole("heading", { name: "Memories" }).waitFor();
    await until("it is gone", async () => (await page.getByRole("link", { name: "Spare key" }).count()) === 0);
  });

  test("a question is answered with a source that opens at its passage, and what is not stored is said so", async () => {
    await goTo(page, "#/ask");
    const question = page.getByRole("textbox", { name: "Question" });
    await question.fill("When does Lena like to meet?");
    await question.press("Enter");
    await page.getByRole("button", { name: "Source 1" }).click();
    await page.getByRole("link", { name: "Open the memory at this passage" }).click();
    await page.locator("mark.passage-mark").waitFor();
    expect(await page.locator("mark.passage-mark").textContent()).toContain("before noon");
    await page.goBack();
    await page.getByRole("textbox", { name: "Question" }).fill("What is the password of the vault on the moon?");
    await page.keyboard.press("Enter");
    await page.getByText("Nothing stored answers this.").waitFor();
  });

  test("columns never collapse, and texts from right to left run so", async () => {
    await goTo(page, "#/memories");
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
    const own = page.getByRole("row").filter({ hasText: "signed in with it" });
    await own.getByRole("button", { name: /^Revoke/ }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Revoke" }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    await goTo(page, "#/projects");
    await page.getByRole("row").filter({ hasText: "open" }).getByRole("button", { name: "More" }).click();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Name and plan"]);
    await page.keyboard.press("Escape");
  });

  test("keys with fewer rights see no view and no button that they cannot use", async () => {
    const reader = await shown.open({ key: shown.mneme.addKey(["memories:read"]), at: "#/memories" });
    const links = () => reader.locator("nav a").allTextContents();
    expect((await links()).map((text) => text.trim())).toEqual(["Home", "Playground", "Memories", "Connect", "System"]);
    expect(await reader.getByRole("button", { name: /Add|Upload/ }).count()).toBe(0);
    await reader.close();
    const confined = await shown.open({ key: shown.mneme.addKey(["*"], undefined, { userId: "lena" }) });
    const names = (await confined.locator("nav a").allTextContents()).map((text) => text.trim());
    expect(names).toEqual(["Home", "Playground", "Ask", "Memories", "Users", "Connect", "System"]);
    await goTo(confined, "#/memories");
    await confined.getByRole("link", { name: "Lena prefers meetings before noon." }).waitFor();
    expect(await confined.getByText("u1", { exact: true }).count()).toBe(0);
    await confined.close();
  });

  test("the command palette goes to views and finds memories", async () => {
    await goTo(page, "#/home");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("webho");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Webhooks" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(ARABIC.slice(0, 10));
    await page.getByRole("option", { name: ARABIC }).click();
    await page.getByRole("heading", { name: ARABIC }).waitFor();
  });

  test("at rest it asks at most 60 times a minute", async () => {
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
