// Rows of this database for the code that keeps data in both databases (stores/rows/keeping).

import { createHash } from "node:crypto";
import type { ExportSource } from "../../rows/keeping/project-export.ts";
import { listOf, type RowReader, type RowWriter, type WriteRows } from "../../rows/keeping/row-access.ts";
import type { ComparedStores } from "../../rows/keeping/verification.ts";
import type { Client } from "../client.ts";
import type { DatabaseSnapshot } from "./snapshot.ts";
import { inTransaction, rowsOf } from "./transaction.ts";

const KEYS = "(SELECT value::bigint FROM json_array_elements_text($keys::text::json) AS given (value))";
const IDS = "(SELECT value FROM json_array_elements_text($ids::text::json) AS given (value))";
const CONTENTS = `SELECT memory_key, content FROM texts WHERE memory_key IN ${KEYS}`;
const PIECES = "SELECT piece FROM kept_files WHERE name = $name ORDER BY piece";
const PIECE = "SELECT bytes FROM kept_files WHERE name = $name AND piece = $piece";
const LAST_TEXT = "SELECT coalesce(max(memory_key), 0) AS key FROM texts";
// a text with U+0001 may be stored with an escape (text-coding.ts), so its sum is computed of the decoded text
const SUMS = `SELECT memory_key, version, octet_length(content)::bigint AS bytes,
    encode(sha256(convert_to(content, 'UTF8')), 'hex') AS sha256,
    CASE WHEN position(chr(1) IN content) > 0 THEN content END AS encoded
  FROM texts WHERE memory_key BETWEEN $first AND $last`;
const FILE_BYTES = "SELECT sum(octet_length(bytes))::bigint AS bytes FROM kept_files WHERE name = $name";

/** Runs work in transactions. */
export function writeRows(client: Client): WriteRows {
  return (work) =>
    inTransaction(client, (connection) => {
      const rows: RowWriter = {
        keys: KEYS,
        ids: IDS,
        dialect: "postgres",
        all: (sql, params = {}) => rowsOf(connection, sql, params),
      };
      return work(rows);
    });
}

/** What an export reads of a snapshot. */
export function exportSourceOf(snapshot: DatabaseSnapshot, vectors: ExportSource["vectors"]): ExportSource {
  return {
    rows: readerOf(snapshot),
    contents: async (keys) => {
      type Row = { readonly memory_key: bigint; readonly content: string };
      const rows = await snapshot.all<Row>(CONTENTS, { keys: listOf(keys) });
      return new Map(rows.map(({ memory_key, content }) => [memory_key, content]));
    },
    file: (name) => keptPieces(snapshot, name),
    vectors,
  };
}

/** What a comparison reads of a snapshot. */
export function comparedStoresOf(snapshot: DatabaseSnapshot): ComparedStores {
  return {
    rows: readerOf(snapshot),
    lastText: async () => (await snapshot.all<{ readonly key: bigint }>(LAST_TEXT))[0]?.key ?? 0n,
    texts: async (first, last) => {
      type Row = {
        readonly [Name in "memory_key" | "version" | "bytes"]: bigint;
      } & { readonly sha256: string; readonly encoded: string | null };
      const rows = await snapshot.all<Row>(SUMS, { first, last });
      return rows.map(({ memory_key: memoryKey, version, bytes, sha256, encoded }) => {
        if (encoded === null) return { memoryKey, version, bytes, sha256 };
        const content = Buffer.from(encoded);
        const sum = createHash("sha256").update(content).digest("hex");
        return { memoryKey, version, bytes: BigInt(content.length), sha256: sum };
      });
    },
    uploadBytes: async (name) => {
      const [row] = await snapshot.all<{ readonly bytes: bigint | null }>(FILE_BYTES, { name });
      return row?.bytes == null ? null : Number(row.bytes);
    },
  };
}

/** The pieces of a kept file; none if it is missing. */
export async function* keptPieces(snapshot: DatabaseSnapshot, name: string): AsyncGenerator<Uint8Array> {
  for (const { piece } of await snapshot.all<{ readonly piece: bigint }>(PIECES, { name })) {
    const [found] = await snapshot.all<{ readonly bytes: Uint8Array }>(PIECE, { name, piece });
    if (found !== undefined) yield found.bytes;
  }
}

function readerOf(snapshot: DatabaseSnapshot): RowReader {
  return { keys: KEYS, ids: IDS, all: (sql, params = {}) => snapshot.all(sql, params) };
}
