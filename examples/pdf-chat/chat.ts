// A chat over a folder of PDFs: uploads what is new or changed, then answers questions with file and passage. Run it
// with the folder as argument; type a question per line, an empty line ends.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Mneme, ProcessingError } from "mneme-client";

const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write("Usage: bun chat.ts FOLDER\n");
  process.exit(2);
}
const mneme = new Mneme(); // MNEME_URL and MNEME_API_KEY
/** Keeps these files apart from what else the project has. */
const agentId = "pdf-chat";
/** Names of the files by the ids of their memories. */
const names = new Map<string, string>();

/** Sends every PDF below the folder. A file that has not changed costs nothing, because its `externalId` is known. */
async function upload(): Promise<void> {
  const found = (await readdir(folder as string, { recursive: true })).filter((name) => /\.pdf$/i.test(name)).sort();
  for (const name of found) {
    const file = new File([await readFile(join(folder as string, name))], name, { type: "application/pdf" });
    try {
      const { id } = await mneme.memories.upload(file, { externalId: `pdf-chat:${name}`, agentId }, { wait: true });
      names.set(id, name);
      process.stdout.write(`read ${name}\n`);
    } catch (error) {
      if (!(error instanceof ProcessingError)) throw error;
      process.stdout.write(`cannot read ${name}: ${error.message}\n`);
    }
  }
}

/** Prints an answer as it comes, then the cited files. */
async function ask(chat: string, question: string): Promise<void> {
  for await (const event of await mneme.chats.stream(chat, question)) {
    if (event.event === "text") process.stdout.write(event.data.content);
    if (event.event === "sources") {
      const cited = event.data.filter(({ cited }) => cited);
      const lines = cited.map(({ memory_id, metadata: { _memory, _chunk } }, at) => {
        const page = _chunk.page === undefined ? "" : `, page ${_chunk.page}`;
        return `  [${at + 1}] ${names.get(memory_id) ?? _memory.title}${page}`;
      });
      process.stdout.write(`\n${lines.join("\n")}${lines.length > 0 ? "\n" : ""}`);
    }
  }
}

await upload();
const chat = await mneme.chats.create({ agentId });
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === "") break;
  await ask(chat.id, line);
}
