// How much does the server's own process grow when files arrive? Texts of the largest size that is taken are uploaded, one and four
// at once; peaks are those of the main process, by the kernel's own count. `bun bench/uploads.ts --help`.

import { isRecord } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { parseCommandLine } from "../src/kit/flags.ts";
import { lines } from "../test/support/forms.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { peakBytes, resetPeak, rssBytes, uploadFile, waitForMemory } from "./lib/uploading.ts";

const HELP = `bun bench/uploads.ts [flags]
  --bytes N   of each file (${LIMITS.uploadBytes}, the most that is taken)
  --record    write bench/results/uploads.json`;
const AT_ONCE = [1, 4];
const MIB = 1024 * 1024;
/** Until the text of a file was read and prepared, or refused. */
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

/** A server of its own each time: what an earlier upload left in memory must not hide what a later one takes. */
async function measure(files: number, bytes: number): Promise<Row> {
  await using server = await startServer({ environment: { MNEME_LOG_LEVEL: "error" } });
  // a small one first, so that code and tables that any upload needs are there
  await prepared(server, await taken(server, "small.txt", 1_000));
  resetPeak(server.pid);
  const before = rssBytes(server.pid);
  const startedAt = performance.now();
  const ids = await Promise.all(Array.from({ length: files }, (_, at) => taken(server, `large ${at}.txt`, bytes)));
  const takenSeconds = (performance.now() - startedAt) / 1000;
  const takenGrowth = peakBytes(server.pid) - before;
  // one large text is in work at a time: the others wait until it is published
  await Promise.any(ids.map((id) => prepared(server, id)));
  const preparedGrowth = peakBytes(server.pid) - before;
  // its texts would be embedded for hours
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
