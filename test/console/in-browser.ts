// A server with a socket and a browser that opens its console. The same server also answers below `/mneme/`, as behind
// a proxy, and can refuse to answer.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { type ServiceOptions, startService, TEST_KEY, type TestService } from "../support/service.ts";
import { ROOT } from "../support/sources.ts";

/** Where distributions put Chromium; MNEME_TEST_CHROMIUM names another one. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const place = [process.env.MNEME_TEST_CHROMIUM ?? "", ...PLACES].find((path) => path !== "" && existsSync(path));
/** Why there is no browser; null: there is one. */
export const NO_BROWSER =
  place === undefined ? "install Chromium (apt-get install chromium), or name it in MNEME_TEST_CHROMIUM" : null;

/** How long the browser waits for a page or an element: far longer than a busy machine takes. */
const PATIENCE_MS = 180_000;

/** The console in a browser. */
export interface InBrowser {
  readonly mneme: TestService;
  /** Address of the page. */
  readonly url: string;
  /** Address of the page below a path. */
  readonly urlBelow: string;
  /** Problems that the pages had: errors of scripts, blocked content, requests to other hosts. */
  readonly problems: string[];
  /** Requests that the server refused because the key lacks a right. */
  readonly refused: string[];
  /** Number of requests that the server answered. */
  requests: number;
  /** Whether the server answers at the moment. */
  isAway: boolean;
  /** Opens the page and signs in. */
  open(options?: OpenOptions): Promise<Page>;
  stop(): Promise<void>;
}

/** How a page is opened. */
export interface OpenOptions {
  /** Key to sign in with; null: nobody signs in. Default: the admin key. */
  readonly key?: string | null;
  /** What stands behind `#` in the address. */
  readonly at?: string;
  readonly width?: number;
  readonly theme?: "light" | "dark";
  readonly isBelow?: boolean;
  /** Whether the test moves the page's clock. */
  readonly hasClock?: boolean;
}

/** Starts a service, a server in front of it, and a browser. */
export async function startInBrowser(options: ServiceOptions = {}): Promise<InBrowser> {
  const mneme = await startService(options);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: async (request) => {
      if (state.isAway) return new Response("Bad gateway", { status: 502 });
      state.requests += 1;
      const address = new URL(request.url);
      const path = address.pathname.startsWith("/mneme/") ? address.pathname.slice("/mneme".length) : address.pathname;
      return mneme.service.handle(new Request(new URL(path + address.search, address).href, request));
    },
  });
  const browser: Browser = await chromium.launch({
    ...(place !== undefined && { executablePath: place }),
    args: ["--no-sandbox"],
    timeout: PATIENCE_MS,
  });
  const contexts: BrowserContext[] = [];
  const url = `http://127.0.0.1:${server.port}/`;
  const state: InBrowser = {
    mneme,
    url,
    urlBelow: `${url}mneme/`,
    problems: [],
    refused: [],
    requests: 0,
    isAway: false,
    open: async ({
      key = TEST_KEY,
      at = "",
      width = 1280,
      theme = "light",
      isBelow = false,
      hasClock = false,
    } = {}) => {
      const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: theme });
      contexts.push(context);
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      if (hasClock) await page.clock.install();
      page.on("pageerror", (error) => state.problems.push(`${page.url()}: ${error.message}`));
      page.on("console", (message) => {
        if (/content security policy|refused to/i.test(message.text())) state.problems.push(message.text());
      });
      page.on("dialog", (dialog) => {
        state.problems.push(`a script opened a dialog: ${dialog.message()}`);
        void dialog.dismiss();
      });
      page.on("response", (response) => {
        if (response.status() === 403) state.refused.push(`${response.request().method()} ${response.url()}`);
      });
      page.on("request", (request) => {
        const target = request.url();
        if (!target.startsWith(url) && !/^(data|blob):/.test(target)) state.problems.push(`asked ${target}`);
      });
      await page.goto(isBelow ? state.urlBelow : url);
      if (key !== null) await signIn(page, key);
      if (at !== "") await goTo(page, at);
      return page;
    },
    stop: async () => {
      for (const context of contexts) await context.close();
      await browser.close();
      await server.stop(true);
      await mneme.stop();
    },
  };
  return state;
}

/** Signs in with a key. */
export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".shell").waitFor();
}

/** Goes to a view and waits until it has loaded. */
export async function goTo(page: Page, at: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(at)}`);
  await page.locator("main h1").first().waitFor();
  await page.locator("main .skeleton").first().waitFor({ state: "hidden" });
}

/** Violations of accessibility that axe finds in the page, each with its element. @param rule null: all rules */
export async function violationsOf(page: Page, rule: string | null = null): Promise<readonly string[]> {
  // the policy of the page lets no script in, but the protocol of developer tools is not bound by it
  const protocol = await page.context().newCDPSession(page);
  const axe = await Bun.file(join(ROOT, "node_modules/axe-core/axe.min.js")).text();
  await protocol.send("Runtime.evaluate", { expression: axe });
  const { result } = await protocol.send("Runtime.evaluate", {
    expression: `axe.run(document, ${rule === null ? "{}" : JSON.stringify({ runOnly: [rule] })}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value;
}
