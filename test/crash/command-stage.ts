// Backups and restores that are killed: a data directory, its backups, a folder to restore into, and the oracle that
// judges what is restored.

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { type Ended, startMneme } from "../support/command.ts";
import { Faults } from "./faults/faults.ts";
import { type Finding, Oracle } from "./oracle/oracle.ts";
import type { BackupWork, CrashPoint, RestoreWork } from "./points.ts";
import { Stage } from "./stage.ts";

/** Acknowledged changes before each of the two backups. */
const CHANGES = 40;
/** Events that cannot be compressed, so that the second backup has two packs of 16 MiB at most. */
const EVENTS = 2_500;
const EVENT_BYTES = 7_000;
const EVENTS_AT_ONCE = 8;
/** A restore is killed here before "restore again" begins. */
const FIRST_ATTEMPT = { operations: ["rename"], paths: ["restored/memories.duckdb"] } as const;

/** What is known of the backups of a target. */
export interface Listed {
  readonly complete: readonly ("earlier" | "new")[];
  /** Ids of the backups that `mneme restore --check` refuses, with the reason. */
  readonly damaged: readonly string[];
}

/** A data directory with an earlier backup, and the commands that are killed. */
export class CommandStage {
  readonly #home = mkdtempSync(join(tmpdir(), "mneme-commands-"));
  readonly #source: Stage;
  readonly #faults: Faults;
  /** What the earlier backup has, and its id. */
  #earlier = new Oracle();
  #earlierId = "";

  private constructor(seed: number) {
    this.#source = new Stage(seed);
    this.#faults = new Faults(this.#home);
  }

  /** Fills a data directory, makes a backup of it, and changes it. */
  static async create(seed: number): Promise<CommandStage> {
    const stage = new CommandStage(seed);
    const source = stage.#source;
    await source.write(CHANGES);
    await source.judge(); // waits until all memories are completed
    await source.kill();
    await stage.#succeed("backup", stage.#path("kept"), ...stage.#ofSource, "--with-index");
    stage.#earlier = source.oracle.copy();
    stage.#earlierId = readdirSync(stage.#path("kept/manifests"))[0] ?? "";
    await source.write(CHANGES);
    await stage.#addEvents();
    await source.judge();
    await source.kill();
    return stage;
  }

  /** Removes everything. */
  async close(): Promise<void> {
    await this.#source.close();
    this.#faults.close();
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** Kills a backup at a point. Returns whether it was reached. */
  async reachInBackup({ work, ...point }: CrashPoint<BackupWork>): Promise<boolean> {
    this.#remove("target");
    if (work !== "first backup") cpSync(this.#path("kept"), this.#path("target"), { recursive: true });
    if (work !== "last backup") return this.#killed(this.#backup, point);
    writeFileSync(this.#path(`target/packs/${"0".repeat(64)}`), "left by a backup that was killed");
    return this.#killed([...this.#backup, "--keep", "1"], point);
  }

  /** Kills a restore at a point. Returns whether it was reached. */
  async reachInRestore({ work, ...point }: CrashPoint<RestoreWork>): Promise<boolean> {
    this.#remove("restored");
    if (!existsSync(this.#path("whole"))) {
      await this.#succeed("backup", this.#path("whole"), ...this.#ofSource, "--with-index");
    }
    this.#remove("target");
    cpSync(this.#path("whole"), this.#path("target"), { recursive: true });
    if (work === "second restore") await this.#killed(this.#restore, { at: FIRST_ATTEMPT, when: "after" });
    return this.#killed(this.#restore, point);
  }

  /** The complete backups of the target. */
  async listed(): Promise<Listed> {
    const list = await this.#mneme("restore", this.#path("target"), "--list");
    const ids = [...list.stdout.matchAll(/^\d{8}T\d{6}Z-\w+/gm)].map(([id]) => id);
    const damaged: string[] = [];
    for (const id of ids) {
      const { exitCode, stderr } = await this.#mneme("restore", this.#path("target"), "--check", "--backup", id);
      if (exitCode !== 0) damaged.push(`${id}: ${stderr}`);
    }
    return { complete: ids.map((id) => (id === this.#earlierId ? "earlier" : "new")), damaged };
  }

  /** Whether every file of the earlier backup is in the target as it was. */
  hasEarlier(): boolean {
    return readdirSync(this.#path("kept"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .every((path) => {
        const copy = this.#path(join("target", relative(this.#path("kept"), path)));
        return existsSync(copy) && readFileSync(copy).equals(readFileSync(path));
      });
  }

  /** Makes a complete backup. */
  async backUp(): Promise<void> {
    await this.#succeed(...this.#backup);
  }

  /** Restores the newest backup, into the folder as it is. */
  async restore(): Promise<void> {
    await this.#succeed(...this.#restore);
  }

  /** Restores the newest backup of the target, or of another folder, into an empty folder. */
  async restoreNew(from = "target"): Promise<void> {
    this.#remove("restored");
    await this.#succeed("restore", this.#path(from), "--data-dir", this.#path("restored"));
  }

  /** What `mneme serve` says of the folder that was restored into; it must end at once. */
  serve(): Promise<Ended> {
    return this.#mneme("serve", "--port", "0", "--data-dir", this.#path("restored"));
  }

  /** Compares a server on the restored folder with the state of the earlier backup, or of the new one. */
  async judge(state: "earlier" | "new"): Promise<readonly Finding[]> {
    if (existsSync(this.#path("restored/restoring")))
      return [{ kind: "unknown", what: "the folder restoring is left" }];
    const oracle = state === "earlier" ? this.#earlier : this.#source.oracle;
    const restored = new Stage(0, { dataDir: this.#path("restored"), oracle: oracle.copy() });
    try {
      return await restored.judge();
    } finally {
      await restored.close();
    }
  }

  async #killed(argv: readonly string[], { at, when, skip = 0 }: Pick<CrashPoint, "at" | "when" | "skip">) {
    this.#faults.arm({ ...at, action: { kind: "kill", when }, skip });
    await startMneme(argv, this.#home, this.#faults.environment);
    this.#faults.disarm();
    return this.#faults.acted > 0;
  }

  async #addEvents(): Promise<void> {
    const server = await this.#source.server();
    let left = EVENTS;
    const send = async () => {
      while (left-- > 0) {
        const bytes = crypto.getRandomValues(new Uint8Array(EVENT_BYTES));
        const event = { type: "bulk", data: { bytes: Buffer.from(bytes).toString("base64") } };
        const { status } = await server.call("POST", `/v1/users/bulk${left % 10}/events`, event);
        if (status !== 201) throw new Error(`an event was answered with ${status}`);
      }
    };
    await Promise.all(Array.from({ length: EVENTS_AT_ONCE }, send));
  }

  async #succeed(...argv: readonly string[]): Promise<void> {
    const { exitCode, stderr } = await this.#mneme(...argv);
    if (exitCode !== 0) throw new Error(`mneme ${argv.join(" ")} ended with ${exitCode}: ${stderr}`);
  }

  #mneme(...argv: readonly string[]): Promise<Ended> {
    return startMneme(argv, this.#home);
  }

  #path(name: string): string {
    return join(this.#home, name);
  }

  #remove(name: string): void {
    rmSync(this.#path(name), { recursive: true, force: true });
  }

  get #ofSource(): readonly string[] {
    return ["--data-dir", this.#source.dataDir];
  }

  get #backup(): readonly string[] {
    return ["backup", this.#path("target"), ...this.#ofSource, "--with-index"];
  }

  get #restore(): readonly string[] {
    return ["restore", this.#path("target"), "--data-dir", this.#path("restored")];
  }
}
