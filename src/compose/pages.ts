// The pages outside /v1 that need no key: health, readiness, metrics, API description, documentation, console.

import type { RateBuckets } from "../account/rate-limits.ts";
import type { LaneStatus } from "../adapters/inference/lane-state.ts";
import type { AppDependencies } from "../api/app.ts";
import { type DocsFont, docsPage, docsPolicy } from "../api/docs.ts";
import { openApiDocument } from "../api/openapi.ts";
import { type Answer, FileBody, type Operation, Page } from "../api/operation.ts";
import { type ConsoleAnswer, createConsole } from "../console/page.ts";
import { Fault } from "../domain/fault.ts";
import type { ThreadState } from "../domain/system.ts";
import { createGuide } from "../guide/guide.ts";
import { once } from "../kit/once.ts";
import { INTERFACE_VERSION } from "../kit/version.ts";
import { METRICS_CONTENT_TYPE, type Metrics } from "../metrics.ts";
import type { ModelProblems } from "../ports/models.ts";
import { serverWarnings } from "./server-warnings.ts";

/** Value of `status` at `/ready` on a full disk. */
const DISK_FULL = "the disk is full: new data is refused; delete memories, or free space on the server's disk";

/** What the pages need. */
export interface PageDependencies {
  readonly operations: readonly Operation[];
  readonly buckets: RateBuckets;
  readonly metrics: Metrics;
  readonly laneStatus: () => readonly LaneStatus[];
  /** Models that cannot be used on this node. */
  readonly modelProblems: () => ModelProblems;
  readonly disk: { readonly isFull: boolean };
  /** The threads that answer requests. */
  readonly threads: () => readonly ThreadState[];
  /** Adds what all threads have counted to `metrics`. */
  readonly gatherCounts: () => Promise<void>;
  /** Whether the server is about to end. */
  readonly isStopping: () => boolean;
}

type Pages = AppDependencies["pages"];

/** The pages by path: those for operators, which every node has, and those for users of the API. */
export function createPages(parts: PageDependencies): { readonly ofOperator: Pages; readonly ofUsers: Pages } {
  const { operations, buckets, metrics, laneStatus, modelProblems, threads, disk, isStopping } = parts;
  // Built at the first request, so that starting the server does not take longer.
  const document = once(() => openApiDocument({ operations, version: INTERFACE_VERSION, buckets }));
  const console = createConsole();
  const makeDocs = async () => {
    const fonts = fontsOf((await console()).fileNames);
    const headers = { "content-security-policy": docsPolicy(fonts) };
    return new Page("text/html; charset=utf-8", docsPage(document(), fonts), headers);
  };
  let madeDocs: Promise<Page> | null = null;
  const docs = () => {
    madeDocs ??= makeDocs().catch((error: unknown) => {
      madeDocs = null; // the next request tries again
      throw error;
    });
    return madeDocs;
  };
  const guide = createGuide();
  const guideFile = (request: Request, address: string): Answer => {
    const found = guide({
      address,
      acceptsGzip: acceptsGzip(request),
      noneMatch: request.headers.get("if-none-match"),
    });
    if (found === null) throw new Fault("not_found", "The guide has no such page. It begins at /docs/guide/.");
    const { status, contentType, body, headers } = found;
    return { status, body: status === 304 ? new FileBody(null, headers) : new Page(contentType, body, headers) };
  };
  const ofOperator: Pages = {
    "/health": () => ({ status: 200, body: { status: "ok" } }),
    "/ready": () =>
      readiness(laneStatus(), modelProblems(), threads(), { isDiskFull: disk.isFull, isStopping: isStopping() }),
    "/metrics": async () => {
      await parts.gatherCounts();
      return { status: 200, body: new Page(METRICS_CONTENT_TYPE, await metrics.text()) };
    },
  };
  const ofUsers: Pages = {
    "/openapi.json": () => ({ status: 200, body: document() }),
    "/docs": async () => ({ status: 200, body: await docs() }),
    // a relative address, so that it is also right if a proxy serves Mneme below a path
    "/docs/guide": () => ({ status: 301, body: new FileBody(null, { location: "guide/" }) }),
    "/docs/guide/": (request) => guideFile(request, ""),
    "/docs/guide/:name": (request, { name = "" }) => guideFile(request, name),
    "/docs/guide/:name/:file": (request, { name = "", file = "" }) => guideFile(request, `${name}/${file}`),
    "/": async () => sent((await console()).page),
    "/console/:file": async (request, { file = "" }) => {
      const found = (await console()).file(file, acceptsGzip(request));
      if (found === null) throw new Fault("not_found", "The console has no such file. Reload the page.");
      return sent(found);
    },
  };
  return { ofOperator, ofUsers };
}

/** The files of the console's font, which the reference has too. */
function fontsOf(fileNames: readonly string[]): readonly DocsFont[] {
  return fileNames.flatMap((name) => {
    const weight = /^roboto-latin-(\d+)-normal.*\.woff2$/.exec(name)?.[1];
    return weight === undefined ? [] : [{ weight: weight === "500" ? "500 650" : weight, address: `console/${name}` }];
  });
}

function sent({ contentType, body, headers }: ConsoleAnswer): Answer {
  return { status: 200, body: new Page(contentType, body, headers) };
}

function acceptsGzip(request: Request): boolean {
  return /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
}

// The answer of `/ready`: 200 if the models are up, the disk has space, and the server is not stopping. The stores need
// no check, because they are open as long as the process runs.
function readiness(
  lanes: readonly LaneStatus[],
  problems: ModelProblems,
  threads: readonly ThreadState[],
  { isDiskFull, isStopping }: { readonly isDiskFull: boolean; readonly isStopping: boolean },
): Answer {
  const areModelsUp = lanes.some(({ status }) => status === "up" || status === "draining");
  const lacking = isDiskFull ? DISK_FULL : areModelsUp ? null : "waiting for the models";
  const reason = isStopping ? "stopping" : lacking;
  const warnings = serverWarnings(lanes, problems);
  return {
    status: reason === null ? 200 : 503,
    body: { status: reason ?? "ready", ...(warnings.length > 0 && { warnings }), lanes: lanes.map(laneView), threads },
  };
}

// The state of a lane as shown to operators. The reason why a lane refused its models is only in the log, because it
// contains a path.
function laneView({ name, status, restarts, rssBytes, provider }: LaneStatus): object {
  return { name, status, restarts, rss_bytes: rssBytes, provider };
}
