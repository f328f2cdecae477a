// Backups in one target. Each backup has a manifest, which is written last, so a backup that was cut off does not
// count. The parts are in packs, whose names are hashes; a part that an earlier backup has is not stored again.
//
//   mneme-backups.json      version, encryption
//   packs/<sha256>          parts, compressed and encrypted one by one
//   manifests/<id>          SHA-256, then summary and list of parts, compressed and encrypted
//   locks/<id>              held by the backup that is being made (lock.ts)

import { createHash, randomBytes } from "node:crypto";
import type { FilledPart, StorePart, StoreSummary } from "../domain/store-copy.ts";
import { isoTime } from "../kit/clock.ts";
import { UsageError } from "../kit/flags.ts";
import type { TargetLock } from "./lock.ts";
import { type Encryption, type KeySource, Seal } from "./seal.ts";
import type { Target } from "./target.ts";

const CONFIG = "mneme-backups.json";
const FORMAT = "mneme-backups";
/** Version of the format of backups. */
const FORMAT_VERSION = 1;
const MANIFESTS = "manifests/";
const PACKS = "packs/";
const HASH_BYTES = 32;
/** A pack is stored when it is this large. */
const PACK_BYTES = 16 * 1024 * 1024;
/** Number of packs that a restore keeps in memory. */
const PACKS_HELD = 4;
/** Number of earlier backups whose parts are not stored again. */
const KNOWN_BACKUPS = 10;

/** A part and where its bytes are. */
export interface KeptPart {
  readonly part: StorePart;
  /** SHA-256 of the bytes, in hexadecimal digits, and their number. */
  readonly sha256: string;
  readonly bytes: number;
  readonly pack: string;
  /** Place in the pack, compressed and encrypted. */
  readonly offset: number;
  readonly length: number;
}

/** A backup. */
export interface Manifest {
  readonly id: string;
  readonly summary: StoreSummary;
  readonly parts: readonly KeptPart[];
}

/** An object of a backup is missing or was changed. `message` names it. */
export class DamagedBackup extends Error {
  override readonly name = "DamagedBackup";
}

/** What a backup stored. */
export interface BackupResult {
  readonly id: string;
  /** Size of all parts, and of those that no earlier backup has. */
  readonly bytes: number;
  readonly newBytes: number;
  /** Bytes that were written to the target. */
  readonly storedBytes: number;
}

/** The backups of one target. */
export class Repository {
  private constructor(
    private readonly target: Target,
    private readonly seal: Seal,
    readonly isEncrypted: boolean,
  ) {}

  /**
   * Opens the backups of a target, or prepares an empty target for its first backup.
   * @param key null: not encrypted
   * @throws UsageError if the key is wrong or of the wrong kind, the backups have another version, or the target has
   *   something else; DamagedBackup if `mneme-backups.json` is damaged
   */
  static async openOrCreate(target: Target, key: KeySource | null): Promise<Repository> {
    if ((await target.read(CONFIG)) !== null) return Repository.open(target, key);
    const created = key === null ? null : Seal.create(key);
    const config = { format: FORMAT, version: FORMAT_VERSION, encryption: created?.encryption ?? null };
    await target.write(CONFIG, new TextEncoder().encode(`${JSON.stringify(config, null, 2)}\n`));
    return new Repository(target, created?.seal ?? Seal.plain(), created !== null);
  }

  /**
   * @throws UsageError if there are no backups, the key is wrong or of the wrong kind, or the backups have another
   *   version; DamagedBackup if `mneme-backups.json` is damaged
   */
  static async open(target: Target, key: KeySource | null): Promise<Repository> {
    const bytes = await target.read(CONFIG);
    if (bytes === null) throw new UsageError(`There are no backups in ${target.description}.`);
    let config: { readonly format?: unknown; readonly version?: unknown; readonly encryption?: Encryption | null };
    try {
      config = JSON.parse(new TextDecoder().decode(bytes));
    } catch (cause) {
      throw new DamagedBackup(`${CONFIG} in ${target.description} is damaged.`, { cause });
    }
    if (config.format !== FORMAT) throw new UsageError(`${target.description} has something else than backups.`);
    if (config.version !== FORMAT_VERSION) {
      throw new UsageError(`The backups have version ${config.version}, and this program reads ${FORMAT_VERSION}.`);
    }
    const encryption = config.encryption ?? null;
    if (encryption === null && key !== null) {
      throw new UsageError("The backups are not encrypted: leave the key out, or use an empty target.");
    }
    const seal = encryption === null ? Seal.plain() : Seal.open(encryption, key);
    return new Repository(target, seal, encryption !== null);
  }

  /** Ids of all backups, oldest first. */
  async ids(): Promise<readonly string[]> {
    return (await this.target.list(MANIFESTS)).map((name) => name.slice(MANIFESTS.length));
  }

  /** @throws DamagedBackup, or UsageError if there is no such backup */
  async manifest(id: string): Promise<Manifest> {
    const name = MANIFESTS + id;
    const bytes = await this.target.read(name);
    if (bytes === null) throw new UsageError(`There is no backup ${id} in ${this.target.description}.`);
    const [hash, sealed] = [bytes.subarray(0, HASH_BYTES), bytes.subarray(HASH_BYTES)];
    if (!sha256(sealed).equals(hash)) throw this.#damaged(name);
    try {
      return JSON.parse(new TextDecoder().decode(await this.seal.open(sealed)));
    } catch (cause) {
      throw this.#damaged(name, cause);
    }
  }

  /**
   * Stores a backup.
   * @param lock the right to write into the target
   * @param onPart called with the size of each part
   * @throws Error if the lock is lost; no backup was stored then
   */
  async store(
    lock: TargetLock,
    summary: StoreSummary,
    parts: AsyncIterable<FilledPart>,
    onPart: (bytes: number) => Promise<void>,
  ): Promise<BackupResult> {
    const known = await this.#knownParts();
    const kept: KeptPart[] = [];
    const total = { bytes: 0, newBytes: 0, storedBytes: 0 };
    let pack = new Pack();
    /** Parts of the pack that is not stored yet: its name is not known. */
    let open: Omit<KeptPart, "pack">[] = [];
    const order: (Omit<KeptPart, "pack"> | KeptPart)[] = [];
    const packs = new Map<unknown, string>();
    const storePack = async () => {
      if (open.length === 0) return;
      const bytes = pack.bytes();
      const name = sha256(bytes).toString("hex");
      await this.target.write(PACKS + name, bytes);
      total.storedBytes += bytes.length;
      for (const part of open) {
        packs.set(part, name);
        known.set(part.sha256, { ...part, pack: name });
      }
      [pack, open] = [new Pack(), []];
    };

    const pending = new Map<string, Omit<KeptPart, "pack">>();
    for await (const { part, bytes } of parts) {
      const hash = sha256(bytes).toString("hex");
      total.bytes += bytes.length;
      const before = known.get(hash);
      const waiting = pending.get(hash);
      if (before !== undefined) order.push({ ...before, part });
      else if (waiting !== undefined) {
        const again = { ...waiting, part };
        order.push(again);
        open.push(again);
      } else {
        const place = pack.add(await this.seal.close(bytes));
        const added = { part, sha256: hash, bytes: bytes.length, ...place };
        total.newBytes += bytes.length;
        order.push(added);
        open.push(added);
        pending.set(hash, added);
        if (pack.size >= PACK_BYTES) {
          await storePack();
          pending.clear();
        }
      }
      await onPart(bytes.length);
    }
    await storePack();
    for (const part of order) kept.push("pack" in part ? part : { ...part, pack: packs.get(part) ?? "" });

    const id = `${summary.taken_at.replace(/[-:]|\.\d+/g, "")}-${randomBytes(3).toString("hex")}`;
    const manifest: Manifest = { id, summary, parts: kept };
    const sealed = await this.seal.close(new TextEncoder().encode(JSON.stringify(manifest)));
    const bytes = Buffer.concat([sha256(sealed), sealed]);
    await lock.assertHeld(); // another backup could remove packs that this one needs
    await this.target.write(MANIFESTS + id, bytes);
    return { id, ...total, storedBytes: total.storedBytes + bytes.length };
  }

  /**
   * The parts of a backup, checked.
   * @throws DamagedBackup that names the object that is missing or was changed
   */
  async *parts({ parts }: Manifest): AsyncGenerator<FilledPart> {
    const packs = new Map<string, Uint8Array>();
    for (const kept of parts) {
      const pack = packs.get(kept.pack) ?? (await this.#readPack(kept.pack));
      packs.delete(kept.pack);
      packs.set(kept.pack, pack); // the last in the map is the one that was used last
      const [oldest] = packs.keys();
      if (packs.size > PACKS_HELD && oldest !== undefined) packs.delete(oldest);
      let bytes: Uint8Array;
      try {
        bytes = await this.seal.open(pack.subarray(kept.offset, kept.offset + kept.length));
      } catch (cause) {
        throw this.#damaged(PACKS + kept.pack, cause);
      }
      if (sha256(bytes).toString("hex") !== kept.sha256) throw this.#damaged(PACKS + kept.pack);
      yield { part: kept.part, bytes };
    }
  }

  /**
   * Removes all backups but the newest `count`, and what no backup needs: packs, and half-written objects. Returns the
   * ids of the removed backups.
   * @throws Error if the lock is lost; DamagedBackup if the manifest of a backup that stays is damaged
   */
  async keepNewest(lock: TargetLock, count: number): Promise<readonly string[]> {
    const ids = await this.ids();
    const removed = ids.slice(0, Math.max(0, ids.length - count));
    const needed = new Set<string>();
    for (const id of ids.slice(removed.length))
      for (const { pack } of (await this.manifest(id)).parts) needed.add(pack);
    const remove = async (name: string) => {
      await lock.assertHeld();
      await this.target.remove(name);
    };
    for (const id of removed) await remove(MANIFESTS + id);
    for (const name of await this.target.list(PACKS)) {
      if (!needed.has(name.slice(PACKS.length))) await remove(name);
    }
    await lock.assertHeld();
    await this.target.removePartial();
    return removed;
  }

  async #readPack(name: string): Promise<Uint8Array> {
    const bytes = await this.target.read(PACKS + name);
    if (bytes === null) throw new DamagedBackup(`${PACKS}${name} is missing in ${this.target.description}.`);
    if (sha256(bytes).toString("hex") !== name) throw this.#damaged(PACKS + name);
    return bytes;
  }

  /** Parts of the newest backups by their hash, as far as their packs exist. A damaged manifest is left out. */
  async #knownParts(): Promise<Map<string, KeptPart>> {
    const known = new Map<string, KeptPart>();
    const ids = (await this.ids()).slice(-KNOWN_BACKUPS);
    if (ids.length === 0) return known;
    const packs = new Set((await this.target.list(PACKS)).map((name) => name.slice(PACKS.length)));
    for (const id of ids) {
      const manifest = await this.manifest(id).catch((error: unknown) => {
        if (error instanceof DamagedBackup) return null; // `mneme restore --check` reports it
        throw error;
      });
      for (const part of manifest?.parts ?? []) if (packs.has(part.pack)) known.set(part.sha256, part);
    }
    return known;
  }

  #damaged(name: string, cause?: unknown): DamagedBackup {
    const what = `${name} in ${this.target.description} is damaged: its content is not what was stored.`;
    return new DamagedBackup(what, { cause });
  }
}

/** When a backup was made, in ISO 8601 without fractions of a second. */
export function takenAt({ summary }: Manifest): string {
  return isoTime(Date.parse(summary.taken_at)).replace(/\.\d+Z$/, "Z");
}

class Pack {
  readonly #pieces: Uint8Array[] = [];
  size = 0;

  add(piece: Uint8Array): { readonly offset: number; readonly length: number } {
    const offset = this.size;
    this.#pieces.push(piece);
    this.size += piece.length;
    return { offset, length: piece.length };
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.#pieces);
  }
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}
