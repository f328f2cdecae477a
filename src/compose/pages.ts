// The pages outside /v1 that need no key: health, readiness, metrics, API description, documentation, console.

import type { RateBuckets } from "../account/rate-limits.ts";
import type { LaneStatus } from "../adapters/inference/lane-state.ts";
import type { AppDependencies } from "../api/app.ts";
import { DOCS_CSP, docsPage } from "../api/docs.ts";
import { openApiDocument } from "../api/openapi.ts";
import { type Answer, type Operation, Page } from "../api/operation.ts";
import { type ConsoleAnswer, createConsole } from "../console/page.ts";
import { Fault } from "../domain/fault.ts";
import { once } from "../kit/once.ts";
import { INTERFACE_VERSION } from "../kit/version.ts";
import { METRICS_CONTENT_TYPE, type Metrics } from "../metrics.ts";

/** Status at `/ready` on a full disk. */
const DISK_FULL = "the disk is full: new data is refused; delete memories, or free space on the server's disk";

/** What the pages need. */
export interface PageDependencies {
  readonly operations: readonly Operation[];
  readonly buckets: RateBuckets;
  readonly metrics: Metrics;
  readonly laneStatus: () => readonly LaneStatus[];
  readonly disk: { readonly isFull: boolean };
  /** Whether the server is about to end. */
  readonly isStopping: () => boolean;
}

type Pages = AppDependencies["pages"];

/** The pages by path: those for operators, which every node has, and those for users of the API. */
export function createPages(parts: PageDependencies): { readonly ofOperator: Pages; readonly ofUsers: Pages } {
  const { operations, buckets, metrics, laneStatus, disk, isStopping } = parts;
  // Built at the first request, so that starting the server does not take longer.
  const document = once(() => openApiDocument({ operations, version: INTERFACE_VERSION, buckets }));
  const docs = once(
    () => new Page("text/html; charset=utf-8", docsPage(document()), { "content-security-policy": DOCS_CSP }),
  );
  const console = createConsole();
  const ofOperator: Pages = {
    "/health": () => ({ status: 200, body: { status: "ok" } }),
    "/ready": () => readiness(laneStatus(), { isDiskFull: disk.isFull, isStopping: isStopping() }),
    "/metrics": async () => ({ status: 200, body: new Page(METRICS_CONTENT_TYPE, await metrics.text()) }),
  };
  const ofUsers: Pages = {
    "/openapi.json": () => ({ status: 200, body: document() }),
    "/docs": () => ({ status: 200, body: docs() }),
    "/": async () => sent((await console()).page),
    "/console/:file": async (request, { file = "" }) => {
      const found = (await console()).file(file, acceptsGzip(request));
      if (found === null) throw new Fault("not_found", "The console has no such file. Reload the page.");
      return sent(found);
    },
  };
  return { ofOperator, ofUsers };
}

function sent({ contentType, body, headers }: ConsoleAnswer): Answer {
  return { status: 200, body: new Page(contentType, body, headers) };
}

function acceptsGzip(request: Request): boolean {
  return /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
}

// Whether the server can do all of its work: the models are up, and the disk has space. The stores are open as long as
// the process runs.
function readiness(
  lanes: readonly LaneStatus[],
  { isDiskFull, isStopping }: { readonly isDiskFull: boolean; readonly isStopping: boolean },
): Answer {
  const areModelsUp = lanes.some(({ status }) => status === "up" || status === "draining");
  const lacking = isDiskFull ? DISK_FULL : areModelsUp ? null : "waiting for the models";
  const reason = isStopping ? "stopping" : lacking;
  const warnings = [...new Set(lanes.flatMap(({ gpuFallback }) => gpuFallback ?? []))].map(
    (why) => `the GPU cannot be used, so the CPU computes: ${why}`,
  );
  return {
    status: reason === null ? 200 : 503,
    body: { status: reason ?? "ready", ...(warnings.length > 0 && { warnings }), lanes: lanes.map(laneView) },
  };
}

// The state of a lane as shown to operators. The reason why a lane refused its models is only in the log, because it
// contains a path.
function laneView({ name, status, restarts, rssBytes, provider }: LaneStatus): object {
  return { name, status, restarts, rss_bytes: rssBytes, provider };
}
