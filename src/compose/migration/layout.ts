// The layout of copies: what the embedded stores of this version have.

import { PIECE_CHARACTERS_MAX, MIGRATIONS as TEXT_MIGRATIONS } from "../../adapters/embedded/duckdb/schema.ts";
import type { StoreLayout } from "../../domain/store-copy.ts";
import { currentTables } from "../../stores/sqlite/layout.ts";
import { MIGRATIONS } from "../../stores/sqlite/migrations.ts";

/** Tables, schema versions and maximum size of pieces in copies that this version makes. */
export function storeLayout(): StoreLayout {
  return {
    tables: currentTables(),
    rowsVersion: MIGRATIONS.length,
    textsVersion: TEXT_MIGRATIONS.length,
    pieceCharactersMax: PIECE_CHARACTERS_MAX,
  };
}
