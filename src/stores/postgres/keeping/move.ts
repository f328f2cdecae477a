// A database whose data is moved into it or out of it, by a command and not by a node.

import type { StoreLayout } from "../../../domain/store-copy.ts";
import type { SharedIndex } from "../../../ports/shared-index.ts";
import { Client } from "../client.ts";
import { DatabaseError } from "../database-error.ts";
import { prepareDatabase, readDatabase } from "../opening.ts";
import { PostgresSharedIndex } from "../shared-index.ts";
import { closeDatabase, closingOf, reopenDatabase } from "./closing.ts";
import { readCopy } from "./copy-reader.ts";
import { CopyWriter } from "./copy-writer.ts";
import { beginMove, endMove, type MoveProgress, refuseData, refuseUnfinishedMove } from "./journal.ts";
import {
  countPublications,
  type MovedProject,
  type MovedPublication,
  movedProjects,
  publishedAfter,
  putPublications,
} from "./publications.ts";

/** A database to move from or to. `close` must be called. */
export class MovedDatabase {
  private constructor(
    private readonly client: Client,
    /** Id of the database. */
    readonly id: string,
    private readonly layout: StoreLayout,
  ) {}

  /**
   * Opens a database that gets data. Creates its tables.
   * @throws DatabaseError if it cannot be used
   */
  static async openTarget(url: string, layout: StoreLayout): Promise<MovedDatabase> {
    return MovedDatabase.#open(url, layout, prepareDatabase);
  }

  /**
   * Opens a database that has data. Does not change it.
   * @throws DatabaseError if it cannot be used, or has the tables of another version
   */
  static async openSource(url: string, layout: StoreLayout): Promise<MovedDatabase> {
    return MovedDatabase.#open(url, layout, async (client) => {
      const id = await readDatabase(client);
      await refuseUnfinishedMove(client);
      return id;
    });
  }

  static async #open(
    url: string,
    layout: StoreLayout,
    prepare: (client: Client) => Promise<string>,
  ): Promise<MovedDatabase> {
    const client = new Client(url);
    try {
      return new MovedDatabase(client, await prepare(client), layout);
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** User, host, port and name of the database. */
  get where(): string {
    return this.client.where;
  }

  /** The shared part of the indexes. */
  get shared(): SharedIndex {
    return new PostgresSharedIndex(this.client);
  }

  /** A copy of all rows, texts and unread files at one moment. The parts have to be read to their end, or returned. */
  copy(now: number): ReturnType<typeof readCopy> {
    return readCopy(this.client, this.id, this.layout, now);
  }

  /** @throws DatabaseError `not_empty` if the database has data that no unfinished move has written */
  refuseData(): Promise<void> {
    return refuseData(this.client);
  }

  /** Begins a move into the database, or continues it. @throws DatabaseError `unfinished` or `not_empty` */
  begin(sourceId: string): Promise<MoveProgress> {
    return beginMove(this.client, sourceId);
  }

  /** Creates the writer of the parts of a copy. */
  writer(): Promise<CopyWriter> {
    return CopyWriter.open(this.client, this.layout.tables);
  }

  /** Stores publications. `lastPlace` is the place of the last one. */
  putPublications(publications: readonly MovedPublication[], lastPlace: string): Promise<void> {
    return putPublications(this.client, publications, lastPlace);
  }

  /** Ends the move: from now on nodes may start. */
  async end(): Promise<void> {
    await this.client.executeAlone("ANALYZE");
    await endMove(this.client);
  }

  /** The projects and their models. */
  projects(): Promise<readonly MovedProject[]> {
    return movedProjects(this.client);
  }

  /** Number of publications. */
  countPublications(): Promise<number> {
    return countPublications(this.client);
  }

  /** See `publishedAfter`. */
  publishedAfter(project: MovedProject["id"], after: bigint): ReturnType<typeof publishedAfter> {
    return publishedAfter(this.client, project, after);
  }

  /** Refuses changes on all nodes. Returns an id of this closing; while it stays the same, no row has changed. */
  async closeToChanges(): Promise<string> {
    await closeDatabase(this.client);
    const id = await closingOf(this.client);
    if (id === null) throw new DatabaseError("busy", `The database ${this.where} was opened again meanwhile.`);
    return id;
  }

  /** Allows changes again. */
  reopen(): Promise<void> {
    return reopenDatabase(this.client);
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return this.client.close();
  }
}
