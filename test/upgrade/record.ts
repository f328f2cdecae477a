// Records a data directory of a version, with its answers, so that later versions are tested on it:
//
//   bun test/upgrade/record.ts CHECKOUT NAME
//
// CHECKOUT is a checkout of that version on which `bun run setup` was run. Writes test/upgrade/kept/NAME.zip and .json.

import { join, resolve } from "node:path";
import { note } from "../crash/notes.ts";
import { SAMPLES } from "../documents/fixtures/samples.ts";
import { formRequest } from "../support/forms.ts";
import { type RunningServer, startServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { type Asked, ask, keep } from "./kept-directory.ts";

const NOTES = 24;
const MODES = ["fast", "balanced", "precise"];
/** Formats of uploaded files. */
const UPLOADED = ["pdf", "docx", "html", "txt"];
const PROCESSED_MS = 120_000;
/** Texts of memories that are stored just before the server is killed. */
const UNFINISHED = [1, 2, 3].map((n) => `The crash came before note ${n} of the lighthouse was indexed.`);

/** Questions about what is stored, and how many memories answer each. */
const QUESTIONS: readonly (readonly [query: string, limit: number])[] = [
  ...[3, 11, 19].map((n) => [note(n), 1] as const),
  ["Which tea does Ada drink in the morning?", 1],
  ["When was the harbour built?", UPLOADED.length],
];

async function main([checkout, name]: readonly string[]): Promise<void> {
  if (checkout === undefined || name === undefined) throw new Error("usage: bun test/upgrade/record.ts CHECKOUT NAME");
  const root = resolve(checkout);
  await using server = await startServer({
    command: [process.execPath, join(root, "src/main.ts")],
    workingDirectory: root,
  });
  const asked = await fill(server);
  const answers = await ask(server, { ...asked, about: await aboutOf(root, name) });
  await send(server, "POST", "/v1/memories/batch", { memories: UNFINISHED.map((content) => ({ content })) });
  await server.kill();
  process.stdout.write(`${name}: ${keep(name, server.dataDir, answers)} bytes\n`);
}

/** Stores something of each kind, and waits until it is processed. */
async function fill(server: RunningServer): Promise<Omit<Asked, "about">> {
  const notes = Array.from({ length: NOTES }, (_, n) => ({ content: note(n), metadata: { n, tags: [`t${n % 3}`] } }));
  const stored = (await send(server, "POST", "/v1/memories/batch", { memories: notes })) as {
    readonly data: readonly { readonly memory: { readonly id: string } }[];
  };
  const ids = stored.data.map(({ memory }) => memory.id);
  const ofAda = { userId: "ada", externalId: "tea", tags: ["food"], title: "Tea" };
  await send(server, "POST", "/v1/memories", { ...ofAda, content: "In the morning Ada drinks Assam tea with milk." });
  for (const extension of UPLOADED) {
    const sample = SAMPLES.find(({ filename }) => filename.endsWith(`.${extension}`));
    if (sample === undefined) throw new Error(`there is no sample of ${extension}`);
    await upload(server, sample.filename, sample.bytes);
  }
  await upload(server, "broken.pdf", `%PDF-1.4\n${"damaged ".repeat(99)}`);
  await settled(server);
  await send(server, "PUT", `/v1/memories/${ids[0]}`, { content: `${note(0)} It was moved to the loft.` });
  await send(server, "PUT", `/v1/memories/${ids[1]}`, { metadata: { n: 1, changed: true } });
  for (const query of ["", "", "?purge=true"]) await send(server, "DELETE", `/v1/memories/${ids.pop()}${query}`);
  await settled(server);
  const deleted = stored.data.map(({ memory }) => memory.id).filter((id) => !ids.includes(id));

  await send(server, "POST", "/v1/users", { id: "ada", name: "Ada" });
  for (const step of [1, 2, 3]) await send(server, "POST", "/v1/users/ada/events", { type: "step", data: { step } });
  const { id: chat } = await send(server, "POST", "/v1/chats", { title: "Harbour" });
  for (const message of ["When was the harbour built?", "Where does the anchor stand?"]) {
    await send(server, "POST", `/v1/chats/${chat}/messages`, { message });
  }
  await send(server, "POST", "/v1/keys", { name: "reader", scopes: ["memories:read"] });
  await send(server, "PUT", "/v1/project", { retention_days: 3_650 });
  const searches = QUESTIONS.flatMap(([query, limit]) => MODES.map((mode) => ({ query, mode, limit })));
  return { deleted, unfinished: UNFINISHED, searches, chats: [String(chat)], users: ["ada"] };
}

async function send(server: RunningServer, method: string, path: string, body?: unknown) {
  const answer = await server.call(method, path, body);
  if (answer.status >= 300) {
    throw new Error(`${method} ${path} was answered with ${answer.status}: ${JSON.stringify(answer.body)}`);
  }
  return (answer.body ?? {}) as Readonly<Record<string, unknown>>;
}

async function upload(server: RunningServer, filename: string, content: string | Uint8Array): Promise<void> {
  const request = formRequest(`${server.url}/v1/memories/upload`, [{ name: "file", filename, content }], {
    headers: { authorization: `Bearer ${server.key}` },
  });
  const response = await fetch(request);
  if (response.status !== 202) throw new Error(`${filename} was answered with ${response.status}`);
}

async function settled(server: RunningServer): Promise<void> {
  const isDone = async () => {
    const { data } = await send(server, "GET", "/v1/memories?status=processing&limit=1");
    return (data as readonly unknown[]).length === 0;
  };
  await until("no memory is being processed", isDone, PROCESSED_MS);
}

async function aboutOf(root: string, name: string): Promise<string> {
  const { version } = await Bun.file(join(root, "package.json")).json();
  const commit = Bun.spawnSync(["git", "log", "-1", "--format=%h of %cs"], { cwd: root }).stdout.toString().trim();
  return `${name}: version ${version}, commit ${commit}`;
}

await main(process.argv.slice(2));
