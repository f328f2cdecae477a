// Measures how much the server process grows when files arrive. Uploads texts of the largest accepted size, first one,
// then four at the same time. The kernel records the peak memory of the server's main process. `bun bench/uploads.ts
// --help`.

import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { isRecord } from "../src/kit/record.ts";
import { lines } from "../test/support/forms.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { peakBytes, resetPeak, rssBytes, uploadFile, waitForMemory } from "./lib/uploading.ts";

const HELP = `bun bench/uploads.ts [flags]
  --bytes N   size of each file (${LIMITS.uploadBytes}, the largest accepted)
  --record    write bench/results/uploads.json`;
const AT_ONCE = [1, 4];
const MIB = 1024 * 1024;
/** Milliseconds until the text of a file must be read and prepared, or refused. */
const READ_MS = 600_000;

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--bytes": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const bytes = Number(flags.get("--bytes") ?? LIMITS.uploadBytes);
  const rows: Row[] = [];
  for (const files of AT_ONCE) rows.push(await measure(files, bytes));
  const header = ["files at once", "seconds until taken", "before MiB", "growth until taken MiB", "until prepared MiB"];
  const shown = rows.map(({ files, takenSeconds, beforeMiB, takenGrowthMiB, preparedGrowthMiB }) =>
    [files, takenSeconds, beforeMiB, takenGrowthMiB, preparedGrowthMiB].map(String),
  );
  process.stdout.write(`${alignRows([header, ...shown], true).join("\n")}\n`);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("uploads", rows)}\n`);
}

/** Measures with a new server each time, so that memory of earlier uploads does not hide what later ones need. */
async function measure(files: number, bytes: number): Promise<Row> {
  await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "error" } });
  // A small upload comes first, so that all code and tables are loaded.
  await prepared(server, await taken(server, "small.txt", 1_000));
  resetPeak(server.pid);
  const before = rssBytes(server.pid);
  const startedAt = performance.now();
  const ids = await Promise.all(Array.from({ length: files }, (_, at) => taken(server, `large ${at}.txt`, bytes)));
  const takenSeconds = (performance.now() - startedAt) / 1000;
  const takenGrowth = peakBytes(server.pid) - before;
  // One large text is processed at a time. The others wait until it is published.
  await Promise.any(ids.map((id) => prepared(server, id)));
  const preparedGrowth = peakBytes(server.pid) - before;
  // The server is killed, because embedding the texts would take hours.
  await server.kill();
  return {
    files,
    mebibytesEach: Math.round(bytes / MIB),
    takenSeconds: Number(takenSeconds.toFixed(1)),
    beforeMiB: Math.round(before / MIB),
    takenGrowthMiB: Math.round(takenGrowth / MIB),
    preparedGrowthMiB: Math.round(preparedGrowth / MIB),
  };
}

async function taken(server: RunningServer, filename: string, bytes: number): Promise<string> {
  const { status, body } = await uploadFile(server, filename, lines(bytes));
  if (status !== 202) throw new Error(`the upload was answered with ${status}: ${JSON.stringify(body)}`);
  return String(body.id);
}

async function prepared(server: RunningServer, id: string): Promise<void> {
  await waitForMemory(
    server,
    id,
    ({ status, progress }) => {
      if (status !== "processing") return true;
      return isRecord(progress) && ["embedding", "publishing"].includes(String(progress.stage));
    },
    READ_MS,
  );
}

await main();
