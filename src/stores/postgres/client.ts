// Connections to PostgreSQL. The only file that uses the driver, Bun.SQL.

import { SQL } from "bun";
import { within } from "../../kit/eventually.ts";
import type { Value } from "../session.ts";
import { DatabaseError, databaseError, toDatabaseError } from "./database-error.ts";
import { decodedRow, encodedText } from "./text-coding.ts";

/** Time limit for connecting in seconds. */
const CONNECT_SECONDS_MAX = 10;
/**
 * Time limit for the answer to one statement in milliseconds. A server that lost its quorum or is frozen never answers,
 * and `statement_timeout` does not end a commit that waits for standbys.
 */
const ANSWER_MS_MAX = 30_000;
/** Connections for writing. Only one at a time writes to a project, so more would rarely be used. */
const WRITING_CONNECTIONS_MAX = 8;
/** Connections for reading. They are separate from those for writing, so that reads never wait for transactions. */
const READING_CONNECTIONS_MAX = 8;

/** Result of a statement: its rows, and the number of rows that it changed or returned. */
export interface Result {
  readonly rows: readonly Record<string, unknown>[];
  readonly count: number;
}

/** One connection. `end` must be called. */
export interface Connection {
  /** Runs a statement with `$1`, `$2`, … as parameters. */
  query(sql: string, values: readonly Value[]): Promise<Result>;
  /** Runs statements without parameters, one after the other. */
  execute(sql: string): Promise<void>;
  /** Gives the connection back. With `isBroken`, it is closed instead, and the server ends its transaction. */
  end(isBroken: boolean): Promise<void>;
}

/** Connections to one database. */
export class Client {
  readonly #writing: SQL;
  readonly #reading: SQL;
  readonly #answerMsMax: number;
  /** User, host, port and name of the database, for messages. */
  readonly where: string;

  /**
   * Connects when the first statement needs it.
   * @throws DatabaseError `invalid_url`
   */
  constructor(url: string, { answerMsMax = ANSWER_MS_MAX }: { readonly answerMsMax?: number } = {}) {
    this.where = checkedUrl(url);
    this.#answerMsMax = answerMsMax;
    const options = { url, bigint: true, connectionTimeout: CONNECT_SECONDS_MAX, idleTimeout: 0 };
    this.#writing = new SQL({ ...options, max: WRITING_CONNECTIONS_MAX });
    this.#reading = new SQL({ ...options, max: READING_CONNECTIONS_MAX });
  }

  /**
   * Runs a statement that only reads, on any connection. If the server has ended that connection, tries another one.
   */
  async read(sql: string, values: readonly Value[]): Promise<Result> {
    return this.#pastEnded(READING_CONNECTIONS_MAX, async () => {
      const running = this.#reading.unsafe(sql, values.map(encoded));
      try {
        return resultOf(await this.#answer(running));
      } catch (error) {
        running.cancel();
        throw error;
      }
    });
  }

  /** Runs one statement outside of transactions. */
  async executeAlone(sql: string): Promise<void> {
    try {
      await this.#writing.unsafe(sql);
    } catch (error) {
      throw toDatabaseError(this.where, error);
    }
  }

  /**
   * Reserves a connection and runs the first statements on it, which begin a transaction. Waits until a connection is
   * free. If the server has ended that connection, tries another one.
   */
  begin(sql: string): Promise<Connection> {
    return this.#pastEnded(WRITING_CONNECTIONS_MAX, async () => {
      const connection = await this.#connect();
      try {
        await connection.execute(sql);
        return connection;
      } catch (error) {
        await connection.end(true);
        throw error;
      }
    });
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    await Promise.all([this.#reading.close({ timeout: 0 }), this.#writing.close({ timeout: 0 })]);
  }

  async #connect(): Promise<Connection> {
    const reserved = await this.#writing.reserve();
    const attempt = async <T>(running: Promise<T>): Promise<T> => {
      try {
        return await this.#answer(running);
      } catch (error) {
        throw toDatabaseError(this.where, error);
      }
    };
    return {
      query: async (sql, values) => resultOf(await attempt(reserved.unsafe(sql, values.map(encoded)))),
      execute: async (sql) => void (await attempt(reserved.unsafe(sql))),
      end: async (isBroken) => {
        if (isBroken) await reserved.close({ timeout: 0 });
        else reserved.release();
      },
    };
  }

  /**
   * Runs `work`, which changes nothing. If its connection had already ended, runs it again. After a restart of the
   * server, this happens with each connection of the pool.
   */
  async #pastEnded<T>(connections: number, work: () => Promise<T>): Promise<T> {
    for (let left = connections; ; left--) {
      try {
        return await work();
      } catch (error) {
        const known = toDatabaseError(this.where, error);
        const hasEnded = known instanceof DatabaseError && known.code === "lost" && !isOverdue(known.cause);
        if (!hasEnded || left === 0) throw known;
      }
    }
  }

  async #answer<T>(running: Promise<T>): Promise<T> {
    try {
      return await within(running, this.#answerMsMax, OVERDUE);
    } catch (error) {
      if (isOverdue(error)) throw databaseError("lost", this.where, error);
      throw error;
    }
  }
}

const OVERDUE = "the server did not answer in time";

function isOverdue(error: unknown): boolean {
  return error instanceof Error && error.message === OVERDUE;
}

function encoded(value: Value): unknown {
  if (typeof value === "string") return encodedText(value);
  return Array.isArray(value) ? value.map((item) => (typeof item === "string" ? encodedText(item) : item)) : value;
}

function resultOf(result: readonly Record<string, unknown>[] & { readonly count?: number | null }): Result {
  return { rows: result.map(decodedRow), count: result.count ?? 0 };
}

function checkedUrl(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const name = parsed?.pathname.slice(1) ?? "";
  if (parsed === null || !/^postgres(ql)?:$/.test(parsed.protocol) || parsed.hostname === "" || name === "") {
    throw new DatabaseError(
      "invalid_url",
      "The address of the database must look like postgres://user:password@host:5432/name.",
    );
  }
  return `${decodeURIComponent(parsed.username) || "(no user)"}@${parsed.hostname}:${parsed.port || 5432}/${name}`;
}
