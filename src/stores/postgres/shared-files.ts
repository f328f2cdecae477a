// Files that wait to be read, and originals, in pieces, so that any node can read them.

import type { SharedFiles } from "../../ports/upload-files.ts";
import type { Client } from "./client.ts";
import { ProjectTurns } from "./project-turns.ts";
import { inWritingSession, ReadingSession, type WritingSession } from "./session.ts";

const PUT = "INSERT INTO kept_files (name, piece, bytes) VALUES ($name, $piece, $bytes)";
const READ = "SELECT bytes FROM kept_files WHERE name = $name AND piece = $piece";
const MISSING = `SELECT given.value AS name FROM unnest($names::text[]) AS given (value)
  WHERE NOT EXISTS (SELECT 1 FROM kept_files WHERE name = given.value)`;
const REMOVE = "DELETE FROM kept_files WHERE name = $name";
const NAMES = `SELECT name FROM kept_files
  WHERE piece = 0 AND kept_at <= now() - make_interval(secs => $ageMs / 1000.0)`;

/** SharedFiles on PostgreSQL. */
export class PostgresFiles implements SharedFiles {
  readonly #reading: ReadingSession;
  readonly #turns = new ProjectTurns();

  constructor(private readonly client: Client) {
    this.#reading = new ReadingSession(client);
  }

  async put(name: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#write(async (session) => {
      let piece = 0;
      for await (const bytes of pieces) await session.run(PUT, { name, piece: piece++, bytes });
    });
  }

  async *read(name: string): AsyncGenerator<Uint8Array> {
    for (let piece = 0; ; piece++) {
      const row = await this.#reading.get<{ readonly bytes: Uint8Array }>(READ, { name, piece });
      if (row === null) return;
      yield row.bytes;
    }
  }

  async missing(names: readonly string[]): Promise<readonly string[]> {
    if (names.length === 0) return [];
    return (await this.#reading.all<{ readonly name: string }>(MISSING, { names })).map(({ name }) => name);
  }

  async remove(name: string): Promise<void> {
    await this.#write((session) => session.run(REMOVE, { name }));
  }

  async names(ageMs: number): Promise<readonly string[]> {
    return (await this.#reading.all<{ readonly name: string }>(NAMES, { ageMs })).map(({ name }) => name);
  }

  async #write(work: (session: WritingSession) => Promise<unknown>): Promise<void> {
    await inWritingSession(this.client, this.#turns, work);
  }
}
