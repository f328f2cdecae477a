// Compares two copies of the same stores by the number and the hash of their rows, table by table.

import type { FilledPart } from "../../domain/store-copy.ts";

/** Tables that are not compared, because stores with the same data may differ in them: counters, progress of a copy. */
const NOT_COMPARED = [
  ...["rows sequences", "rows sqlite_sequence", "rows store", "texts store", "texts meta"],
  ...["rows restoring_progress", "rows restoring_triggers"],
];

/** Hashes of the tables and files of a copy. Parts must be added in the same order to both copies. */
export class CopyDigest {
  readonly #tables = new Map<string, { rows: number; readonly hash: Bun.CryptoHasher }>();

  add({ part, bytes }: FilledPart): void {
    const name = part.kind === "rows" || part.kind === "texts" ? `${part.kind} ${part.table}` : part.kind;
    const table = this.#tables.get(name) ?? { rows: 0, hash: new Bun.CryptoHasher("sha256") };
    this.#tables.set(name, table);
    table.rows += "rows" in part ? part.rows : 1;
    table.hash.update("name" in part ? `${part.name} ${part.offset}\n` : "");
    table.hash.update(bytes);
  }

  /** The tables in which the other copy differs, each with both numbers of rows; empty if there are none. */
  differencesTo(other: CopyDigest): readonly string[] {
    const [own, others] = [this.#summaries(), other.#summaries()];
    const names = [...new Set([...own.keys(), ...others.keys()])].filter((name) => !NOT_COMPARED.includes(name));
    return names.flatMap((name) => {
      const [one, two] = [own.get(name), others.get(name)];
      if (one?.sha256 === two?.sha256) return [];
      return [`${name.split(" ").at(-1)} (${one?.rows ?? 0} and ${two?.rows ?? 0} rows)`];
    });
  }

  #summaries(): ReadonlyMap<string, { readonly rows: number; readonly sha256: string }> {
    return new Map(
      [...this.#tables].map(([name, { rows, hash }]) => [name, { rows, sha256: hash.copy().digest("hex") }]),
    );
  }
}
