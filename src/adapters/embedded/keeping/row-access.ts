// Rows of mneme.sqlite for the code that keeps data in both databases (stores/rows/keeping).

import { open, stat } from "node:fs/promises";
import { nullIfMissing } from "../../../kit/if-missing.ts";
import type { ExportSource } from "../../../stores/rows/keeping/project-export.ts";
import { paramsIn, type RowReader, type RowWriter, type WriteRows } from "../../../stores/rows/keeping/row-access.ts";
import type { ComparedStores, TextSum } from "../../../stores/rows/keeping/verification.ts";
import type { SqliteDatabase } from "../../../stores/sqlite/database.ts";
import { KEYS } from "../../../stores/sqlite/memory-row.ts";
import type { NamedValues } from "../../../stores/sqlite/statement.ts";
import type { SqliteStores } from "../../../stores/sqlite/stores.ts";
import { clusters, toCondition } from "../duckdb/key-conditions.ts";
import type { Snapshot } from "../snapshot.ts";

/** Size of the pieces of a file in bytes. */
const PIECE_BYTES = 1024 * 1024;
const IDS = "(SELECT value FROM json_each($ids))";

/** The rows that a connection sees. */
export function rowsOf(database: Pick<SqliteDatabase, "prepare">): RowReader {
  return {
    keys: KEYS,
    ids: IDS,
    all: async <Row>(sql: string, params = {}) =>
      database.prepare<Row, NamedValues>(sql).all(paramsIn(sql, params) as NamedValues),
  };
}

/** Runs work in transactions on the writing connection. */
export function writeRows(stores: Pick<SqliteStores, "writeLong">): WriteRows {
  return (work) =>
    stores.writeLong((database) => {
      const rows: RowWriter = { ...rowsOf(database), dialect: "sqlite" };
      return work(rows);
    });
}

/** What a comparison reads of a snapshot. */
export function comparedStoresOf(snapshot: Snapshot): ComparedStores {
  return {
    rows: rowsOf(snapshot.rows),
    lastText: async () => {
      const last = "SELECT ifnull(max(memory_key), 0)::UBIGINT FROM texts";
      for await (const found of snapshot.texts.rows<readonly [bigint]>(last)) return found[0]?.[0] ?? 0n;
      return 0n;
    },
    texts: async (first, last) => {
      const sums: TextSum[] = [];
      const sql = `SELECT memory_key, max(version), sum(strlen(content))::UBIGINT,
          sha256(string_agg(content, '' ORDER BY piece))
        FROM texts WHERE memory_key BETWEEN ${first} AND ${last} GROUP BY memory_key`;
      for await (const rows of snapshot.texts.rows<readonly [bigint, number, bigint, string]>(sql)) {
        for (const [memoryKey, version, bytes, sha256] of rows) {
          sums.push({ memoryKey, version: BigInt(version), bytes, sha256 });
        }
      }
      return sums;
    },
    uploadBytes: async (name) => (await stat(snapshot.pathOf(name)).catch(nullIfMissing))?.size ?? null,
  };
}

/** What an export reads of a snapshot. */
export function exportSourceOf(snapshot: Snapshot, vectors: ExportSource["vectors"]): ExportSource {
  return {
    rows: rowsOf(snapshot.rows),
    contents: async (keys) => {
      const contents = new Map<bigint, string>();
      for (const cluster of clusters(keys)) {
        const sql = `SELECT memory_key, content FROM texts WHERE ${toCondition(cluster)} ORDER BY memory_key, piece`;
        for await (const pieces of snapshot.texts.rows<readonly [bigint, string]>(sql)) {
          for (const [key, piece] of pieces) contents.set(key, (contents.get(key) ?? "") + piece);
        }
      }
      return contents;
    },
    file: (name) => piecesOf(snapshot.pathOf(name)),
    vectors,
  };
}

async function* piecesOf(path: string): AsyncGenerator<Uint8Array> {
  const file = await open(path, "r");
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(new Uint8Array(PIECE_BYTES), 0, PIECE_BYTES);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
