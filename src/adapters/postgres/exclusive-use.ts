// Reserves the database for one server. A second server is refused until several can share a database: its index would
// not see the changes of the first one.

import type { Clock } from "../../kit/clock.ts";
import type { Client, Connection } from "./client.ts";
import { DatabaseError } from "./database-error.ts";

const TAKE = "SELECT pg_try_advisory_lock(hashtextextended('mneme server', 0))::int::bigint AS taken";
/** Interval in milliseconds at which the reservation is checked. The server drops it with its connection. */
const CHECKED_EVERY_MS = 2_000;

/** The reservation of a database. It ends with its connection, even if this process is killed. */
export class ExclusiveUse {
  #connection: Connection | null = null;
  readonly #stopping = new AbortController();

  /** `onLost` is called if another server took the database while the connection was lost. */
  constructor(
    private readonly client: Client,
    private readonly clock: Clock,
    private readonly onLost: (error: unknown) => void,
  ) {}

  /** @throws DatabaseError `in_use` if another server uses the database */
  async take(): Promise<void> {
    await this.#take();
    void this.#check();
  }

  /** Ends the reservation. */
  async end(): Promise<void> {
    this.#stopping.abort();
    await this.#drop();
  }

  async #take(): Promise<void> {
    const connection = await this.client.begin("SELECT 1");
    const [row] = (await connection.query(TAKE, [])).rows;
    if (row?.taken === 1n) {
      this.#connection = connection;
      return;
    }
    await connection.end(true);
    throw new DatabaseError(
      "in_use",
      `Another Mneme server uses the database ${this.client.where}: stop it, or create another database for this one.`,
    );
  }

  async #drop(): Promise<void> {
    const connection = this.#connection;
    this.#connection = null;
    await connection?.end(true);
  }

  async #check(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      await this.clock.sleep(CHECKED_EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        if (this.#connection === null) await this.#take();
        else await this.#connection.execute("SELECT 1");
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof DatabaseError && error.code === "in_use") return this.onLost(error);
        await this.#drop(); // the next round connects again
      }
    }
  }
}
