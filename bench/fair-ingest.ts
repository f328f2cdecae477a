// How long a short text waits until it can be found while the server has other work: from its 202 until its memory is
// `completed`. Each situation has a server of its own. `bun bench/fair-ingest.ts --help` lists the flags.

import { Client } from "../src/cli/client.ts";
import { alignRows } from "../src/cli/terminal.ts";
import { LIMITS } from "../src/domain/limits.ts";
import { systemClock } from "../src/kit/clock.ts";
import { parseCommandLine, UsageError } from "../src/kit/flags.ts";
import { isRecord } from "../src/kit/record.ts";
import { type RunningServer, startServer } from "../test/support/server.ts";
import { percentile } from "./lib/metrics.ts";
import { type Row, writeRows } from "./lib/record.ts";
import { uploadFile } from "./lib/uploading.ts";

const HELP = `bun bench/fair-ingest.ts [flags]

Measures the time from the 202 of a short text until it can be found, while the server has other work.

  --only NAMES   situations, with commas between them: nothing, text, whole, several, deleted,
                 import, upload (default: all)
  --seconds N    time during which short texts are sent (default: 40); for whole: until the large text is completed
  --text MIB     size of the large text of "text" (default: 60)
  --whole MIB    size of the text of "whole" (default: 4)
  --several MIB  size of each of the four texts of "several" (default: 3)
  --deleted MIB  size of the text of "deleted" (default: 99)
  --upload MIB   size of the HTML file of "upload" (default: 20)
  --notes N      notes of the import into another project (default: 5000)
  --record       write bench/results/fair-ingest.json`;
const MIB = 1024 * 1024;
const SEVERAL_TEXTS = 4;
/** Time between two short texts. */
const NOTE_EVERY_MS = 500;
const POLL_MS = 20;
/** Maximum time until a short text can be found. */
const NOTE_MS_MAX = 300_000;
/** The large text is deleted this long after its 202. */
const DELETE_AFTER_MS = 1_000;
const WORDS = `the committee agreed that river levels near old harbour would rise before winter because engineers who
  measured each gauge reported unusual flow while farmers along upper valley had already moved cattle to higher ground`
  .split(/\s+/)
  .filter((word) => word !== "");

/** Other work of the server. `isDone` says when it has ended; null: it goes on for longer than the measurement. */
interface Situation {
  readonly name: string;
  /** Whether all short texts belong to another project than the other work; otherwise only every second one does. */
  readonly isOfOneProject?: boolean;
  start(server: RunningServer): Promise<{ isDone: () => Promise<boolean> } | null>;
}

async function main(): Promise<void> {
  const { flags } = parseCommandLine(process.argv.slice(2), {
    "--help": "switch",
    "--only": "value",
    "--seconds": "value",
    "--text": "value",
    "--whole": "value",
    "--several": "value",
    "--deleted": "value",
    "--upload": "value",
    "--notes": "value",
    "--record": "switch",
  });
  if (flags.has("--help")) return void process.stdout.write(`${HELP}\n`);
  const number = (flag: string, otherwise: number) => Number(flags.get(flag) ?? otherwise);
  const all: readonly Situation[] = [
    { name: "nothing", start: async () => null },
    { name: "text", start: (server) => sendText(server, number("--text", 60)) },
    { name: "whole", start: (server) => sendWhole(server, number("--whole", 4)) },
    { name: "several", start: (server) => sendSeveral(server, number("--several", 3)) },
    { name: "deleted", start: (server) => sendAndDelete(server, number("--deleted", 99)) },
    { name: "import", isOfOneProject: true, start: (server) => importNotes(server, number("--notes", 5_000)) },
    { name: "upload", start: (server) => upload(server, number("--upload", 20)) },
  ];
  const wanted = flags.get("--only")?.split(",") ?? all.map(({ name }) => name);
  const unknown = wanted.find((name) => !all.some((situation) => situation.name === name));
  if (unknown !== undefined) throw new UsageError(`--only: '${unknown}' is no situation; see --help.`);
  const rows: Row[] = [];
  for (const situation of all.filter(({ name }) => wanted.includes(name))) {
    rows.push(await measure(situation, number("--seconds", 40) * 1_000));
    const { name, texts, p50Ms, p95Ms, maxMs } = rows.at(-1) ?? {};
    process.stderr.write(`${name}: ${texts} texts, p50 ${p50Ms} ms, p95 ${p95Ms} ms, max ${maxMs} ms\n`);
  }
  const columns = ["name", "texts", "p50Ms", "p95Ms", "maxMs", "acceptP95Ms", "otherSeconds"];
  const shown = rows.map((row) => columns.map((column) => String(row[column])));
  process.stdout.write(`${alignRows([columns, ...shown], true).join("\n")}\n`);
  if (flags.has("--record")) process.stdout.write(`written to ${writeRows("fair-ingest", rows)}\n`);
}

async function measure({ name, isOfOneProject = false, start }: Situation, durationMs: number): Promise<Row> {
  await using server = await startServer({
    environment: { MNEME_LOG_LEVEL: "error", MNEME_RATE_LIMITS: "off" },
  });
  const other = await otherProject(server);
  await sendNote(new Client(server.url, server.key)); // loads the models
  const work = await start(server);
  const startedAt = performance.now();
  const sent: Promise<Note>[] = [];
  let otherSeconds = Number.NaN;
  for (;;) {
    const isOfOther = isOfOneProject || sent.length % 2 === 1;
    sent.push(sendNote(isOfOther ? other : new Client(server.url, server.key)));
    await systemClock.sleep(NOTE_EVERY_MS);
    const elapsedMs = performance.now() - startedAt;
    if (work !== null && Number.isNaN(otherSeconds) && (await work.isDone())) otherSeconds = elapsedMs / 1_000;
    if (work === null ? elapsedMs >= durationMs : !Number.isNaN(otherSeconds)) break;
  }
  const notes = await Promise.all(sent);
  await server.kill(); // the other work would take minutes to end
  const times = notes.map(({ ms }) => ms);
  return {
    name,
    texts: notes.length,
    p50Ms: Math.round(percentile(0.5, times)),
    p95Ms: Math.round(percentile(0.95, times)),
    maxMs: Math.round(Math.max(...times)),
    acceptP95Ms: Math.round(
      percentile(
        0.95,
        notes.map(({ acceptMs }) => acceptMs),
      ),
    ),
    otherSeconds: Number.isNaN(otherSeconds) ? "-" : Math.round(otherSeconds),
  };
}

/** A short text: milliseconds from the request to the 202, and from the 202 until it is completed. */
interface Note {
  readonly acceptMs: number;
  readonly ms: number;
}

let noteNumber = 0;

async function sendNote(client: Client): Promise<Note> {
  noteNumber += 1;
  const startedAt = performance.now();
  const { id } = await client.send("POST", "/v1/memories", {
    content: `Note ${noteNumber}: the plumber comes on day ${noteNumber} and needs the key of the cellar.`,
  });
  const acceptedAt = performance.now();
  for (;;) {
    const { status } = await client.send("GET", `/v1/memories/${id}`);
    const ms = performance.now() - acceptedAt;
    if (status === "completed") return { acceptMs: acceptedAt - startedAt, ms };
    if (status === "failed" || ms > NOTE_MS_MAX) throw new Error(`a short text is ${status} after ${ms} ms`);
    await systemClock.sleep(POLL_MS);
  }
}

async function otherProject(server: RunningServer): Promise<Client> {
  const created = await server.call("POST", "/v1/projects", { name: "Other", plan: "enterprise" });
  const { key } = isRecord(created.body) ? created.body : {};
  const secret = isRecord(key) ? (key.secret ?? key.key) : key;
  if (typeof secret !== "string") throw new Error(`no key in ${JSON.stringify(created.body)}`);
  return new Client(server.url, secret);
}

async function sendText(server: RunningServer, mebibytes: number) {
  await postText(server, mebibytes);
  return null;
}

async function sendWhole(server: RunningServer, mebibytes: number) {
  const id = await postText(server, mebibytes);
  return { isDone: async () => isCompleted(server, id) };
}

async function sendSeveral(server: RunningServer, mebibytes: number) {
  for (let text = 0; text < SEVERAL_TEXTS; text++) await postText(server, mebibytes);
  return null;
}

async function sendAndDelete(server: RunningServer, mebibytes: number) {
  const id = await postText(server, mebibytes);
  void systemClock.sleep(DELETE_AFTER_MS).then(() => server.call("DELETE", `/v1/memories/${id}`));
  return null;
}

async function importNotes(server: RunningServer, count: number) {
  const client = new Client(server.url, server.key);
  for (let first = 0; first < count; first += LIMITS.memoriesPerBatch) {
    const memories = Array.from({ length: Math.min(LIMITS.memoriesPerBatch, count - first) }, (_, at) => ({
      content: `Entry ${first + at}. ${prose(1_000, first + at)}`,
    }));
    await client.send("POST", "/v1/memories/batch", { memories });
  }
  return null;
}

async function upload(server: RunningServer, mebibytes: number) {
  const paragraphs = Array.from({ length: mebibytes * 1024 }, (_, at) => `<p>${prose(1_000, at)}</p>`);
  const { status, body } = await uploadFile(
    server,
    "report.html",
    `<html><body>${paragraphs.join("\n")}</body></html>`,
  );
  if (status !== 202) throw new Error(`the upload was answered with ${status}: ${JSON.stringify(body)}`);
  return null;
}

async function postText(server: RunningServer, mebibytes: number): Promise<string> {
  const paragraphs = Array.from({ length: Math.floor((mebibytes * MIB) / 1_002) }, (_, at) => prose(1_000, at));
  const { status, body } = await server.call("POST", "/v1/memories", { content: paragraphs.join("\n\n") });
  if (status !== 202 || !isRecord(body)) throw new Error(`the text was answered with ${status}`);
  return String(body.id);
}

async function isCompleted(server: RunningServer, id: string): Promise<boolean> {
  const { body } = await server.call("GET", `/v1/memories/${id}?content=false`);
  return isRecord(body) && body.status === "completed";
}

/** Sentences of `length` characters, different for each seed. */
function prose(length: number, seed: number): string {
  let text = "";
  let state = (seed * 2_654_435_761) >>> 0;
  while (text.length < length) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const word = WORDS[(state >>> 8) % WORDS.length] ?? "";
    text += state % 11 === 0 ? `${word}. ` : `${word} `;
  }
  return `${text.slice(0, length - 1)}.`;
}

await main();
