// Finds out what this version will do with a data directory or database, before a server of this version opens it.
// Changes nothing, and works while a server of an earlier version runs.

import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { readTextsBeforeUpgrade } from "../adapters/embedded/duckdb/record.ts";
import { freeSpace } from "../adapters/embedded/free-space.ts";
import { fingerprintOnDisk } from "../adapters/embedded/index-model.ts";
import { fingerprintOf, type ModelCatalogue, readModels } from "../adapters/inference/model-files.ts";
import type { Config } from "../config.ts";
import { spaceOfVectors } from "../ingest/model-space.ts";
import type { SchemaVersions, StoredProject, StoredRows } from "../stores/before-upgrade.ts";
import { readDatabaseBeforeUpgrade } from "../stores/postgres/before-upgrade.ts";
import { readRowsBeforeUpgrade } from "../stores/sqlite/before-upgrade.ts";
import { StoreError } from "../stores/store-error.ts";
import { absentModels, pullCommand } from "./absent-models.ts";
import { checkHasData } from "./data-directory.ts";
import { lastBackup } from "./last-backup.ts";

/**
 * A migration that rebuilds a table writes it to the log and then to the file, so the rows take twice their space for a
 * moment.
 */
const MIGRATION_FACTOR = 2;

/** A store of record, and how many migrations it needs. */
export interface StoreUpgrade extends SchemaVersions {
  /** `rows`: mneme.sqlite or the database. `texts`: memories.duckdb. */
  readonly store: "rows" | "texts";
  /** Path of the file, or the address of the database without its password. */
  readonly where: string;
}

/** An embedding model that projects use, and that is not on this machine. */
export interface AbsentModel {
  readonly id: string;
  readonly projects: readonly string[];
  /** The command that installs it; null if the program does not know the model: then the server does not start. */
  readonly command: string | null;
}

/** A project that gets vectors of another model in the background. */
export interface ReembeddedProject {
  readonly project: string;
  readonly from: string;
  readonly to: string;
  readonly chunks: number;
  /** Whether the change was asked for before, and not by this start. */
  readonly isUnderWay: boolean;
}

/** What an upgrade will do. */
export interface UpgradePlan {
  readonly stores: readonly StoreUpgrade[];
  /** Whether the texts could not be read, because a server uses them. */
  readonly areTextsInUse: boolean;
  readonly projects: number;
  readonly absentModels: readonly AbsentModel[];
  readonly reembedded: readonly ReembeddedProject[];
  /** Bytes that the upgrade may need on the disk of the data directory, at most. */
  readonly neededBytes: number;
  readonly freeBytes: number;
  /** Unix milliseconds; null: none is known. */
  readonly lastBackupAt: number | null;
}

/**
 * @throws UsageError if the directory has no data; StoreError or DatabaseError if it cannot be read; ModelFilesError if
 * the models of this program cannot be read
 */
export async function planUpgrade(config: Config): Promise<UpgradePlan> {
  checkHasData(config);
  const { dataDir, store } = config;
  const rowsPath = join(dataDir, "mneme.sqlite");
  const rows = store === null ? await readRowsBeforeUpgrade(rowsPath) : await readDatabaseBeforeUpgrade(store);
  const where = store === null ? rowsPath : withoutPassword(store);
  const textsPath = store === null ? join(dataDir, "memories.duckdb") : null;
  const texts = textsPath !== null && existsSync(textsPath) ? await readTexts(textsPath) : null;
  const models = readModels(config.modelsDir);
  const absent = absentModels(config, models);
  const projects = await withModels(config, rows, models);
  const reembedded = reembeddedOf(config, projects, absent);
  const stores: readonly StoreUpgrade[] = [
    { store: "rows", where, ...rows.schema },
    ...(texts === null || texts === "in use" ? [] : [{ store: "texts" as const, where: textsPath ?? "", ...texts }]),
  ];
  return {
    ...{ stores, projects: projects.length, reembedded, areTextsInUse: texts === "in use" },
    absentModels: absentOf(projects, new Set([...models.embedders.keys(), ...rows.addedModels]), absent),
    neededBytes: neededBytes(config.store === null, rows, stores, reembedded, models),
    freeBytes: (await freeSpace(nearestExisting(dataDir))).diskBytes,
    lastBackupAt: lastBackup(dataDir),
  };
}

async function readTexts(path: string): Promise<SchemaVersions | "in use"> {
  try {
    return await readTextsBeforeUpgrade(path);
  } catch (error) {
    if (error instanceof StoreError && error.code === "locked") return "in use";
    throw error;
  }
}

/** The projects with the models of their vectors; for a model that the program does not know, its fingerprint. */
async function withModels(
  { dataDir }: Config,
  { projects }: StoredRows,
  { embedders }: ModelCatalogue,
): Promise<readonly StoredProject[]> {
  const known = new Map([...embedders.values()].map((model) => [fingerprintOf(model), model.id]));
  const found = projects.map(async (project): Promise<StoredProject> => {
    if (project.model !== null) return project;
    const fingerprint = await fingerprintOnDisk(join(dataDir, "projects", project.id));
    return { ...project, model: fingerprint === null ? null : (known.get(fingerprint) ?? fingerprint) };
  });
  return Promise.all(found);
}

function absentOf(
  projects: readonly StoredProject[],
  known: ReadonlySet<string>,
  absent: readonly string[],
): readonly AbsentModel[] {
  const used = Map.groupBy(projects, ({ model }) => model);
  return [...used].flatMap(([id, of]) => {
    if (id === null || (known.has(id) && !absent.includes(id))) return [];
    return [{ id, projects: of.map((project) => project.id), command: known.has(id) ? pullCommand(id) : null }];
  });
}

/** Changes in progress, and those that the setting `embedderUpgrade` asks for. */
function reembeddedOf(
  config: Config,
  projects: readonly StoredProject[],
  absent: readonly string[],
): readonly ReembeddedProject[] {
  return projects.flatMap(({ id: project, chunks, model: from, nextModel, isModelChosen }) => {
    if (from === null) return [];
    const isUpgraded = config.embedderUpgrade === "auto" && !isModelChosen && !absent.includes(from);
    const to = nextModel ?? (isUpgraded ? config.embedder : from);
    return to === from ? [] : [{ project, from, to, chunks, isUnderWay: nextModel !== null }];
  });
}

function neededBytes(
  isEmbedded: boolean,
  rows: StoredRows,
  stores: readonly StoreUpgrade[],
  reembedded: readonly ReembeddedProject[],
  { embedders }: ModelCatalogue,
): number {
  const vectors = reembedded.reduce((sum, { to, chunks }) => {
    return sum + spaceOfVectors(chunks, embedders.get(to)?.dimensions ?? 0).diskBytes;
  }, 0);
  const migrated = stores
    .filter(({ found, supported }) => found > 0 && found < supported)
    .reduce((sum, one) => sum + sizeOf(one, rows, isEmbedded) * MIGRATION_FACTOR, 0);
  return migrated + vectors;
}

/** Bytes of a store on the disk of the data directory. */
function sizeOf({ store, where }: StoreUpgrade, rows: StoredRows, isEmbedded: boolean): number {
  if (store === "rows") return isEmbedded ? rows.bytes : 0;
  return statSync(where).size;
}

function withoutPassword(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname}:${port || 5432}${pathname}`;
}

function nearestExisting(path: string): string {
  return existsSync(path) ? path : nearestExisting(dirname(path));
}
