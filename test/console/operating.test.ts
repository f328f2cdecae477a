// What operators do in the console, in a browser on a real server: models, settings, selections on the map, the history
// of a memory, and deleting a user with a receipt. Without Chromium these tests are skipped.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { AllowList } from "../../src/adapters/outbound/addresses.ts";
import { type RemoteStub, startRemote } from "../support/remote-models.ts";
import { TEST_KEY } from "../support/service.ts";
import { until } from "../support/until.ts";
import { goTo, type InBrowser, NO_BROWSER, startInBrowser, violationsOf } from "./in-browser.ts";

const WAYS = ["models", "models?add=remote", "models?add=files", "settings?tab=embedder", "settings?tab=storage"];

describe.skipIf(NO_BROWSER !== null)(`in a browser${NO_BROWSER === null ? "" : ` (skipped: ${NO_BROWSER})`}`, () => {
  let shown: InBrowser;
  let page: Page;
  let remote: RemoteStub;
  beforeAll(async () => {
    remote = await startRemote("tei");
    shown = await startInBrowser({ config: { webhookAllow: AllowList.parse("127.0.0.1") } });
    await shown.mneme.store({ content: "Lena prefers meetings before noon.", userId: "lena" });
    await shown.mneme.store({ content: "Omar leads the tide gauge project.", userId: "omar" });
    page = await shown.open();
  });
  afterAll(async () => {
    const problems = [...shown.problems];
    await shown.stop();
    await remote.stop();
    expect(problems).toEqual([]);
  });

  test("views and dialogs of an operator have no violation of accessibility", async () => {
    for (const way of WAYS) {
      await goTo(page, `#/${way}`);
      expect([way, await violationsOf(page)]).toEqual([way, []]);
      await page.keyboard.press("Escape");
    }
  });

  test("a model of another server is added, tested, offered to projects and deleted, and a refusal names its field", async () => {
    await goTo(page, "#/models");
    await page.getByRole("row", { name: "mneme-e5-small" }).getByText("built in").waitFor();
    await page.getByRole("row", { name: "mneme-e5-small" }).getByText("1 project", { exact: true }).waitFor();
    await page
      .getByRole("row", { name: "mneme-reranker-minilm-l6" })
      .getByText("all projects", { exact: true })
      .waitFor();
    await page.getByRole("button", { name: "Add a model" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Provider API").selectOption("tei");
    await dialog.getByLabel("Address").fill("no address");
    await dialog.getByLabel("Model", { exact: true }).fill("bge-m3");
    await dialog.getByRole("button", { name: "Add the model" }).click();
    await dialog.locator(".field", { hasText: "Address" }).getByRole("alert").waitFor();
    await dialog.getByLabel("Address").fill(remote.origin);
    await dialog.getByRole("button", { name: "Add the model" }).click();
    const model = page.getByRole("row", { name: "bge-m3", exact: true });
    await model.getByText("ready", { exact: true }).waitFor();
    await model.getByText("not calibrated").waitFor();
    expect(await model.textContent()).toContain(remote.origin);
    await model.getByRole("button", { name: "Test" }).click();
    await page.getByRole("dialog").getByText("The model works as expected.").waitFor();
    await page.keyboard.press("Escape");
    await goTo(page, "#/settings?tab=embedder");
    const choice = page.getByLabel("Model", { exact: true });
    expect(await choice.locator("option").allTextContents()).toContain("bge-m3");
    // nothing can be saved before something is changed
    expect(await page.getByRole("button", { name: "Change the model" }).count()).toBe(0);
    await choice.selectOption("bge-m3");
    await page.getByRole("button", { name: "Change the model" }).waitFor();
    await goTo(page, "#/models");
    await model.getByRole("button", { name: "More" }).click();
    expect(await page.getByRole("menuitem").allTextContents()).toEqual(["Calibrate", "Delete"]);
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await until("it is gone", async () => (await model.count()) === 0);
  });

  test("the search of vectors is chosen, and questions show what a threshold does", async () => {
    await goTo(page, "#/settings?tab=embedder");
    const vectors = page.getByRole("region", { name: "Vector search" });
    await vectors.getByText("an exact scan").waitFor();
    await vectors.getByLabel("Method").selectOption("scan");
    await vectors.getByRole("button", { name: "Save" }).click();
    await until("it is stored", async () => {
      return (await shown.mneme.call("GET", "/v1/project")).body.vector_index === "scan";
    });
    await goTo(page, "#/settings?tab=answers");
    const tried = page.getByRole("region", { name: "Preview on your questions" });
    await tried.getByLabel(/^Questions/).fill("When does Lena like to meet?\nWho owns the moon?");
    await tried.getByRole("button", { name: "Check the evidence" }).click();
    await tried.getByRole("listitem").nth(1).waitFor();
    const words = async () => tried.locator(".badge").allTextContents();
    expect(await words()).toEqual(["answered", "refused"]);
    await page.getByRole("slider", { name: "Minimum evidence for an answer" }).fill("0");
    expect(await words()).toEqual(["answered", "answered"]);
  });

  test("memories are selected on the map by a line and by keys, and the names are of its user", async () => {
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    await goTo(page, "#/map?userId=lena");
    const map = page.getByRole("application", { name: /^Map of 1 memories/ });
    await map.waitFor();
    await until("the names are read", () => asked.some((url) => url.includes("/v1/memories?userId=lena&limit=100")));
    await goTo(page, "#/map");
    await page.getByRole("application", { name: /^Map of 2 memories/ }).focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press(" ");
    await page.getByRole("region", { name: "1 selected" }).getByRole("link").waitFor();
    await page.getByRole("button", { name: "Select points with a lasso" }).click();
    const box = await page.locator("main canvas").boundingBox();
    if (box === null) throw new Error("the map has no place on the page");
    const [right, low] = [box.width - 10, box.height - 10];
    const corners = [
      [20, 20],
      [right, 20],
      [right, low],
      [20, low],
    ] as const;
    const [first, ...others] = corners.map(([x, y]) => [box.x + x, box.y + y] as const);
    await page.mouse.move(...(first as [number, number]));
    await page.mouse.down();
    for (const corner of others) await page.mouse.move(...(corner as [number, number]), { steps: 3 });
    await page.mouse.up();
    const selected = page.getByRole("region", { name: "2 selected" });
    await selected.getByRole("link").nth(1).waitFor();
    // the list and the actions stand beside the map and cover no point
    const map2 = await page.locator("main canvas").boundingBox();
    const list = await selected.boundingBox();
    if (map2 === null || list === null) throw new Error("the selection has no place on the page");
    expect(list.x).toBeGreaterThanOrEqual(map2.x + map2.width);
    const bar = await page.getByRole("toolbar", { name: "Selected memories" }).boundingBox();
    expect(bar?.x).toBeGreaterThanOrEqual(list.x);
    await page.getByRole("toolbar").getByRole("button", { name: "Tag" }).click();
    await page.getByRole("dialog").getByRole("textbox", { name: "Tags" }).fill("from-map");
    await page.getByRole("button", { name: "Add the tags" }).click();
    await until("both have the tag", async () => {
      return (await shown.mneme.call("GET", "/v1/memories/count?tag=from-map")).body.count === 2;
    });
  });

  test("the history names the key that changed a memory, marks the words that changed, and tabs count", async () => {
    const { body } = await shown.mneme.store({ content: "The workshop is in room 114.", userId: "lena" });
    await shown.mneme.call("PUT", `/v1/memories/${body.id}`, { content: "The workshop is in room 220." });
    await shown.mneme.settled(body.id);
    await goTo(page, `#/memories/${body.id}?tab=history`);
    await page.getByText("by the key “operator”").first().waitFor();
    expect(await page.getByRole("main").textContent()).not.toContain("key_");
    expect(await page.locator("ins").allTextContents()).toEqual(["220"]);
    expect(await page.locator("del").allTextContents()).toEqual(["114"]);
    await page.getByRole("tab", { name: "History 2" }).waitFor();
    // the text stands first, and a short one has its history below it
    await page.getByRole("tab", { name: "Text" }).click();
    await page.getByRole("heading", { name: "The workshop is in room 220.", level: 1 }).waitFor();
    const text = page.getByRole("region", { name: "Text", exact: true });
    await text.getByText("The workshop is in room 220.").waitFor();
    await text.getByRole("button", { name: "Copy the text" }).waitFor();
    const [first, next] = [await text.boundingBox(), await page.getByRole("region", { name: "History" }).boundingBox()];
    expect(first?.y).toBeLessThan(next?.y ?? 0);
  });

  test("settings say whether they are saved, and changes can be discarded", async () => {
    await goTo(page, "#/settings");
    const card = page.getByRole("region", { name: "Project", exact: true });
    await card.getByText("Saved", { exact: true }).waitFor();
    await card.getByLabel("Time zone").selectOption("Europe/Berlin");
    await card.getByText("Unsaved changes").waitFor();
    await card.getByRole("button", { name: "Discard" }).click();
    await card.getByText("Saved", { exact: true }).waitFor();
    expect(await card.getByLabel("Time zone").inputValue()).toBe("");
    await card.getByLabel("Time zone").selectOption("Europe/Berlin");
    await card.getByRole("button", { name: "Save" }).click();
    await card.getByText("Saved", { exact: true }).waitFor();
    expect((await shown.mneme.call("GET", "/v1/project")).body.time_zone).toBe("Europe/Berlin");
    await shown.mneme.call("PUT", "/v1/project", { time_zone: null });
    await goTo(page, "#/settings?tab=storage");
    const keeps = page.getByRole("switch", { name: /^Keep the originals/ });
    await keeps.focus();
    await page.keyboard.press(" ");
    await page.getByText("Unsaved changes").waitFor();
    await page.getByRole("button", { name: "Discard" }).click();
    expect(await keeps.isChecked()).toBe(false);
  });

  test("the list of projects says how much each has stored, and why a memory failed stands in its row", async () => {
    await goTo(page, "#/projects");
    const row = page.getByRole("row", { name: /default/ });
    const { documents } = (await shown.mneme.call("GET", "/v1/projects")).body.data.at(-1);
    expect(documents).toBeGreaterThan(0);
    await row.getByText(`${documents}`, { exact: true }).waitFor();
    const upload = new FormData();
    upload.append("file", new File(["%PDF-1.7\nbroken"], "broken.pdf"));
    const headers = { authorization: "Bearer ctx_test_key_0123456789abcdef" };
    const sent = await shown.mneme.send(
      new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers, body: upload }),
    );
    const { body: failed } = await shown.mneme.settled(sent.body.id);
    await goTo(page, "#/memories");
    await page
      .getByRole("row", { name: /broken\.pdf/ })
      .getByText(failed.error.message)
      .waitFor();
    await shown.mneme.call("DELETE", `/v1/memories/${failed.id}`);
  });

  test("two runs over cases show what changed between them", async () => {
    await shown.mneme.call("POST", "/v1/cases", { query: "Who owns the moon?", expected: { not_found: true } });
    const ended = async (id: string) =>
      until("the run has ended", async () => {
        return (await shown.mneme.call("GET", `/v1/cases/runs/${id}`)).body.status === "completed";
      });
    await ended((await shown.mneme.call("POST", "/v1/cases/runs", { modes: ["fast"] })).body.id);
    await shown.mneme.call("PUT", "/v1/project", { superseding: "off" });
    await ended((await shown.mneme.call("POST", "/v1/cases/runs", { modes: ["hybrid"] })).body.id);
    await shown.mneme.call("PUT", "/v1/project", { superseding: "on" });
    await goTo(page, "#/cases");
    await page.getByRole("heading", { name: /^Run 2/ }).waitFor();
    const changes = await page.locator(".run-changes").textContent();
    expect(changes).toContain("fast → hybrid");
    expect(changes).toContain("on → off");
    expect(changes).not.toContain("embedding model");
    await page.getByText("No mode in common with the earlier run").waitFor();
    await ended((await shown.mneme.call("POST", "/v1/cases/runs", { modes: ["hybrid"] })).body.id);
    await goTo(page, "#/home");
    await goTo(page, "#/cases");
    await page.getByText("As good as the earlier run").waitFor();
  });

  test("the view of the server begins with what needs attention, and the rest opens", async () => {
    const upload = new FormData();
    upload.append("file", new File(["%PDF-1.7\nbroken"], "broken.pdf"));
    const headers = { authorization: "Bearer ctx_test_key_0123456789abcdef" };
    const request = new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers, body: upload });
    const { body: failed } = await shown.mneme.settled((await shown.mneme.send(request)).body.id);
    await goTo(page, "#/system");
    const attention = page.getByRole("region", { name: "Needs attention" });
    await attention.getByText("1 memory could not be processed.").waitFor();
    await attention.getByText("There is no backup yet.").waitFor();
    expect(await page.locator("main section").first().getAttribute("aria-label")).toBe("Needs attention");
    const parts = page.getByRole("region", { name: "Parts of the server" });
    expect(await parts.getByText("Searches waiting").isVisible()).toBe(false);
    await parts.getByText("Queues").click();
    await parts.getByText("Searches waiting").waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await attention.getByRole("link", { name: "See why" }).click();
    await page.getByRole("row", { name: /broken\.pdf/ }).waitFor();
    await shown.mneme.call("DELETE", `/v1/memories/${failed.id}`);
  });

  test("a language model is tested before it is saved", async () => {
    const calls: string[] = [];
    const model = Bun.serve({
      ...{ port: 0, hostname: "127.0.0.1" },
      fetch: async (request) => {
        calls.push(await request.text());
        return Response.json({ error: { message: "no" } }, { status: 401 });
      },
    });
    await goTo(page, "#/settings?tab=llm");
    // until a model is named, nothing can be saved, tested or used
    const ingestion = page.getByRole("switch", { name: /^Also use it for ingestion/ });
    expect([await ingestion.isDisabled(), await ingestion.isChecked()]).toEqual([true, false]);
    const main = page.getByRole("main");
    for (const name of ["Connect", "Test connection"])
      expect([name, await main.getByRole("button", { name, exact: true }).isDisabled()]).toEqual([name, true]);
    for (const name of ["Save", "Test without saving"])
      expect([name, await main.getByRole("button", { name }).count()]).toEqual([name, 0]);
    expect(await page.getByText("Saved", { exact: true }).count()).toBe(0);
    await page.getByLabel("Model", { exact: true }).fill("not-stored");
    await page.getByLabel("Address").fill(`http://127.0.0.1:${model.port}/v1`);
    await page.getByRole("button", { name: "Test without saving" }).click();
    await page.getByRole("status").getByText("check the API key").waitFor();
    expect(calls.map((call) => JSON.parse(call).model)).toEqual(["not-stored"]);
    expect((await shown.mneme.call("GET", "/v1/project")).body.llm.model).toBe(null);
    // connecting saves it, and tests it again
    await main.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByText("openai · not-stored writes the answers.").waitFor();
    await page.getByRole("status").getByText("check the API key").waitFor();
    expect(calls.length).toBe(2);
    expect((await shown.mneme.call("GET", "/v1/project")).body.llm.model).toBe("not-stored");

    // why an answer failed is still there when its chat is opened again
    const llm = { base_url: `http://127.0.0.1:${model.port}/v1`, model: "stored" };
    await shown.mneme.call("PUT", "/v1/project", { llm });
    await goTo(page, "#/ask");
    await page.getByRole("textbox", { name: "Question" }).fill("When does Lena like to meet?");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("check the API key").waitFor();
    await page.reload();
    await page.getByRole("alert").getByText("check the API key").waitFor();

    // one that is taken out leaves nothing in the fields
    await goTo(page, "#/settings?tab=llm");
    await page.getByText("openai · stored writes the answers.").waitFor();
    await page.getByRole("button", { name: "Remove the language model" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page.getByText("not connected").waitFor();
    expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe("");
    expect(await page.getByRole("button", { name: "Save" }).count()).toBe(0);
    await model.stop(true);
  });

  test("the list of webhooks shows how the last delivery to each one ended", async () => {
    const receiver = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(null, { status: 202 }) });
    const url = `http://127.0.0.1:${receiver.port}`;
    const add = (path: string) =>
      shown.mneme.call("POST", "/v1/webhooks", { url: url + path, events: ["memory.failed"] });
    await add("/never");
    const { id } = (await add("/called")).body;
    await goTo(page, "#/webhooks");
    const row = (path: string) => page.getByRole("row", { name: path });
    await row("/never").getByText("none yet").waitFor();
    await row("/called").getByRole("button", { name: "Test" }).click();
    const delivery = row("/called").getByRole("link", { name: /delivered/ });
    await delivery.waitFor();
    expect(await delivery.textContent()).toContain("202");
    await delivery.click();
    await page.getByRole("heading", { name: "Deliveries" }).waitFor();
    expect(new URL(page.url()).hash).toBe(`#/webhooks/${id}`);
    await receiver.stop(true);
  });

  test("users are found by name and id, and one that is not in the list is opened by its id", async () => {
    await goTo(page, "#/users");
    const rows = page.getByRole("row").filter({ has: page.getByRole("link") });
    await until("both are listed", async () => (await rows.count()) === 2);
    const field = page.getByRole("searchbox", { name: "Name or id of a user" });
    await field.fill("LEN");
    await until("one is left", async () => (await rows.count()) === 1);
    await field.press("Enter");
    await page.getByRole("heading", { name: "lena" }).waitFor();
    await goTo(page, "#/users");
    await field.fill("nobody");
    await page.getByRole("button", { name: "Open the user “nobody”" }).click();
    await until("it is opened", () => new URL(page.url()).hash === "#/users/nobody");
  });

  test("the palette finds users and entities", async () => {
    await goTo(page, "#/home");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill("lena");
    await page.getByRole("group", { name: "Users" }).getByRole("option", { name: "lena" }).click();
    await page.getByRole("heading", { name: "lena" }).waitFor();
  });

  test("a user is deleted with a receipt of what there was before and after", async () => {
    await goTo(page, "#/users/omar");
    await page.getByRole("button", { name: "Delete" }).click();
    const dialog = page.getByRole("dialog");
    // by default only the entry of the user is deleted
    expect(await dialog.getByRole("radio", { name: /entry only Kept: 1 memory\.$/ }).isChecked()).toBe(true);
    expect(await dialog.getByRole("button", { name: "Delete" }).isDisabled()).toBe(true);
    await dialog.getByRole("radio", { name: /^Also delete.* Deleted for good: 1 memory\.$/ }).check();
    await dialog.getByLabel(/^Type/).fill("omar");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("row", { name: "Memories 1 0" }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: "Save the receipt" }).click(),
    ]);
    const receipt = JSON.parse(readFileSync(await download.path(), "utf8"));
    expect(receipt).toMatchObject({
      ...{ receipt: "mneme-user-deletion", userId: "omar", with_memories_chats_and_events: true },
      ...{ before: { memories: 1, chats: 0, events: 0 }, after: { memories: 0, chats: 0, events: 0 } },
    });
    await dialog.getByRole("button", { name: "Done" }).click();
    await page.getByRole("heading", { name: "Users" }).waitFor();
    expect(await page.getByRole("link", { name: "omar" }).count()).toBe(0);
  });

  test("nothing moves under the finger, no reason is cut, and nothing scrolls inside of a page on a phone", async () => {
    await shown.mneme.store({
      content: "Ingrid Solberg met Omar Haddad, Lena Brandt, Ada Lovelace, Alan Turing and Grace Hopper in Bergen.",
    });
    const upload = new FormData();
    upload.append("file", new File(["%PDF-1.7\nbroken"], "scan of the permit.pdf"));
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    await shown.mneme.send(
      new Request("http://mneme.test/v1/memories/upload", { method: "POST", headers, body: upload }),
    );
    await until("the broken file is read", async () => {
      return (await shown.mneme.call("GET", "/v1/memories/count?status=failed")).body.count === 1;
    });
    const phone = await shown.open({ at: "#/memories", width: 390 });
    const rows = phone.locator(".grid-body [role=row]");
    await rows.filter({ hasText: "scan of the permit.pdf" }).waitFor();
    const places = () => rows.evaluateAll((all) => all.map((row) => Math.round(row.getBoundingClientRect().top)));
    const before = await places();
    await phone
      .getByRole("checkbox", { name: /^Select / })
      .nth(1)
      .check();
    expect(await places()).toEqual(before);
    const reason = rows.locator(".reason");
    expect(await reason.evaluate((one) => one.scrollHeight - one.clientHeight)).toBeLessThanOrEqual(0);
    const tops = [...before].sort((one, other) => one - other);
    const low = await reason.evaluate((one) => one.getBoundingClientRect().bottom);
    expect(tops.filter((top) => top > low).length).toBe(tops.length - 1);

    // the dialog has the same height for a text and for files
    await goTo(page, "#/memories?add=text");
    const dialog = page.getByRole("dialog");
    const heightOf = async (tab: string) => {
      await dialog.getByRole("tab", { name: tab }).click();
      await dialog.getByRole("tab", { name: tab, selected: true }).waitFor();
      return Math.round((await dialog.boundingBox())?.height ?? 0);
    };
    expect(await heightOf("Files")).toBe(await heightOf("Text"));
    await page.keyboard.press("Escape");

    await goTo(phone, "#/graph?q=Ingrid");
    await phone.getByRole("main").getByRole("button", { name: "Ingrid Solberg", exact: true }).click();
    const panel = phone.getByRole("region", { name: "Ingrid Solberg" });
    await panel.getByRole("button", { name: /^All \d/ }).waitFor();
    expect(await panel.locator(".near-list li").count()).toBe(4);
    const parts = "[...document.querySelectorAll('.chosen-entity *')]";
    const inner = await phone.evaluate<number>(
      `${parts}.filter((one) => getComputedStyle(one).overflowY === "auto").length`,
    );
    expect(inner).toBe(0);
    await panel.getByRole("button", { name: /^All \d/ }).click();
    expect(await panel.locator(".near-list li").count()).toBeGreaterThan(4);

    // what a finger cannot point at has its name beside it
    await goTo(phone, "#/playground?q=Who+met+Omar+Haddad%3F&modes=hybrid");
    for (const name of ["Expect this", "Expect no answer"]) {
      const button = phone.getByRole("main").getByText(name, { exact: true }).first();
      await button.waitFor();
      expect((await button.boundingBox())?.width).toBeGreaterThan(60);
    }
    await phone.close();
  });
});
