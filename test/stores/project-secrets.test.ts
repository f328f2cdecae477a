// The migration to opaque ids of chunks: a file of an older version opens, and chat messages in it show the new ids.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { base32, type ChunkId, type ChunkKey, type ProjectId } from "../../src/domain/ids.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { MIGRATIONS } from "../../src/stores/sqlite/migrations.ts";
import { openDatabase } from "../../src/stores/sqlite/open-database.ts";
import { connectStores } from "../../src/stores/sqlite/stores.ts";
import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import { temporaryFolder } from "./temporary-folder.ts";

let folder: ReturnType<typeof temporaryFolder>;
let path: string;
beforeEach(() => {
  folder = temporaryFolder();
  path = join(folder.path, "mneme.sqlite");
});
afterEach(() => folder.remove());

describe("ids of chunks that an older version stored", () => {
  /** The older form of an id: the key in base 32, padded with zeros. */
  const oldId = (key: number) => {
    const bytes = Buffer.alloc(16);
    bytes.writeUIntBE(key, 10, 6);
    return `chunk_${base32(bytes)}`;
  };

  function writeOld(messages: number): void {
    const file = new Database(path, { create: true });
    const before = MIGRATIONS.findIndex((sql) => sql.includes("projects ADD COLUMN secret"));
    for (const sql of MIGRATIONS.slice(0, before)) file.run(sql);
    file.run(`PRAGMA user_version = ${before}`);
    for (const id of ["prj_a", "prj_b"]) {
      file.run("INSERT INTO projects (id, name, plan, is_default, created_at) VALUES (?, 'p', 'free', ?, 5)", [
        id,
        id === "prj_a" ? 1 : 0,
      ]);
    }
    for (const project of [1, 2]) {
      file.run("INSERT INTO chats (id, project_key, title, created_at) VALUES (?, ?, '', 5)", [
        `chat_${project}`,
        project,
      ]);
    }
    const source = (key: number) => ({
      id: oldId(key),
      content: `chunk ${key}`,
      score: 0.123,
      metadata: { n: [null] },
    });
    file.transaction(() => {
      for (let message = 1; message <= messages; message++) {
        file.run("INSERT INTO messages (id, chat_key, role, content, created_at) VALUES (?, ?, 'assistant', 'x', 5)", [
          `msg_${message}`,
          1 + (message % 2),
        ]);
        for (const position of [0, 1]) {
          file.run("INSERT INTO message_sources VALUES (?, ?, 1, ?)", [
            ...[message, position, JSON.stringify(source(2 * message + position))],
          ]);
        }
      }
    })();
    file.run('INSERT INTO message_sources VALUES (?, 9, 1, \'{"id":"chunk_of_another_kind"}\')', [messages]);
    file.close();
  }

  test("become those of the chat's project; nothing else changes", async () => {
    const messages = 1_203;
    writeOld(messages);
    const database = openDatabase(path);
    const accounts = connectStores(database, database, { clock: systemClock, newWebhookSecret }).accounts;
    const [first, second] = [
      await accounts.chunkIds("prj_a" as ProjectId),
      await accounts.chunkIds("prj_b" as ProjectId),
    ];
    const expected = (project: bigint, key: bigint) => (project === 1n ? first : second)?.of(key as ChunkKey);
    const rows = database
      .prepare<{ message_key: bigint; position: bigint; shown: string }>(
        "SELECT message_key, position, shown FROM message_sources ORDER BY message_key, position",
      )
      .all({});
    expect(rows).toHaveLength(2 * messages + 1);
    expect(rows.pop()?.shown).toBe('{"id":"chunk_of_another_kind"}');
    for (const { message_key, position, shown } of rows) {
      const key = 2n * message_key + position;
      expect(JSON.parse(shown)).toEqual({
        ...{ id: expected(1n + (message_key % 2n), key), content: `chunk ${key}`, score: 0.123 },
        metadata: { n: [null] },
      });
    }
    database.close();

    const again = openDatabase(path);
    const kept = await connectStores(again, again, { clock: systemClock, newWebhookSecret }).accounts.chunkIds(
      "prj_a" as ProjectId,
    );
    expect(kept?.of(7n as ChunkKey)).toBe(expected(1n, 7n) as ChunkId);
    again.close();
  });
});
