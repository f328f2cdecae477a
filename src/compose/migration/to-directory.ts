// Moves the data of a database into an empty data directory. All nodes can read the source meanwhile, and none can
// change it. If a move is interrupted, the next run continues it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DirectoryWriter } from "../../adapters/embedded/copies/writer.ts";
import { chunkKeysOf, loadedForNative, loadingGroups } from "../../adapters/embedded/publication.ts";
import { fingerprintOf, readModels } from "../../adapters/inference/model-files.ts";
import { addon } from "../../adapters/native/addon.ts";
import type { NativeIndex } from "../../adapters/native/addon-types.ts";
import { nativeChunks } from "../../adapters/native/chunks.ts";
import type { Config } from "../../config.ts";
import { UsageError } from "../../kit/flags.ts";
import type { Log } from "../../kit/log.ts";
import type { IndexModel } from "../../ports/chunk-index.ts";
import type { LoadedPublication, WantedPublication } from "../../ports/shared-index.ts";
import { copyOf } from "../../stores/copies/copies.ts";
import type { Client } from "../../stores/postgres/client.ts";
import { closeDatabase, reopenDatabase } from "../../stores/postgres/copies/closing.ts";
import { openSource } from "../../stores/postgres/copies/move.ts";
import {
  countPublications,
  type MovedProject,
  movedProjects,
  publishedAfter,
} from "../../stores/postgres/copies/publications.ts";
import { DatabaseSnapshot } from "../../stores/postgres/copies/snapshot.ts";
import { PostgresSharedIndex } from "../../stores/postgres/shared-index.ts";
import { inEmptyDirectory } from "../restore.ts";
import { storeLayout } from "./layout.ts";
import { type Moved, type MoveOptions, type MovePace, move } from "./move.ts";

/** Name under which the writer notes the last memory whose vectors are written, as `<project>/<memory key>`. */
const LAST_PUBLICATION = "last publication";

/**
 * Moves everything from the database at `url` to the data directory of `config`.
 * @throws UsageError, DatabaseError, StoreError or Error with a message for the operator; then the source stays closed
 *   to changes, and another call continues the move
 */
export function moveToDirectory(config: Config, url: string, log: Log, options: MoveOptions): Promise<Moved> {
  const { dataDir, modelsDir } = config;
  return inEmptyDirectory(dataDir, async () => {
    const { client, id } = await openSource(url);
    try {
      const modelsOf = installedModels(modelsDir);
      const projects = await movedProjects(client);
      for (const project of projects) modelsOf(project); // refuses a model that is missing before anything is done
      const sourceId = `${id}-${await closeDatabase(client)}`;
      const snapshot = await DatabaseSnapshot.take(client, id, storeLayout());
      const { summary, parts } = await copyOf(snapshot, options.clock.now());
      const writer = await DirectoryWriter.create(dataDir, { ...summary, has_index: true }, log, sourceId);
      return await move({ summary, parts }, writer, options, async (pace) => {
        const filling = new IndexFilling(client, writer, pace, await countPublications(client));
        for (const project of projects) await filling.fill(project, modelsOf(project));
        return { publications: filling.done, skipped: 0 };
      });
    } finally {
      await client.close();
    }
  });
}

/** Allows changes of a database again. @throws DatabaseError if it cannot be used */
export async function reopenSource(url: string): Promise<void> {
  const { client } = await openSource(url);
  try {
    await reopenDatabase(client);
  } finally {
    await client.close();
  }
}

/** The models of an index: the one of its searches, and one whose vectors are being built. */
interface ProjectModels {
  readonly live: IndexModel;
  readonly building: IndexModel | null;
}

/** Returns a function that finds the models of a project among the installed ones; null if it has no vectors. */
function installedModels(modelsDir: string): (project: MovedProject) => ProjectModels | null {
  const { embedders } = readModels(modelsDir);
  const modelOf = (project: MovedProject, id: string): IndexModel => {
    const found = embedders.get(id);
    if (found !== undefined) return { fingerprint: fingerprintOf(found), dimensions: found.dimensions };
    throw new UsageError(
      `The model ${id} of project ${project.id} is not in ${modelsDir}: put it there, or name its folder with --models-dir.`,
    );
  };
  return (project) => {
    const { live, building } = project;
    if (live === null) return null;
    return { live: modelOf(project, live), building: building === null ? null : modelOf(project, building) };
  };
}

/** Writes the publications of projects into their indexes, and compares what the indexes have stored. */
class IndexFilling {
  /** Number of memories that were written so far. */
  done = 0;

  constructor(
    private readonly client: Client,
    private readonly writer: DirectoryWriter,
    private readonly pace: MovePace,
    private readonly total: number,
  ) {}

  /** Fills the index of a project, from where an earlier run stopped. @param models null: the project has no vectors */
  async fill({ id }: MovedProject, models: ProjectModels | null): Promise<void> {
    if (models === null) return;
    const [lastProject = "", lastKey = "0"] = (this.writer.progressOf(LAST_PUBLICATION) ?? "").split("/");
    let after = id < lastProject ? null : id === lastProject ? BigInt(lastKey) : 0n;
    if (after === null) return;
    const directory = join(this.writer.indexFolder, id);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const { live, building } = models;
    const index = await addon().openProject({ directory, newModel: live });
    try {
      if (building !== null && index.models().building === null) await index.beginModel(building);
      for (;;) {
        const page = await publishedAfter(this.client, id, after);
        for (const group of loadingGroups(page)) {
          await this.#load(index, group, models);
          after = group.at(-1)?.memoryKey ?? after;
          this.writer.note(LAST_PUBLICATION, `${id}/${after}`);
        }
        if (page.length === 0) return;
      }
    } finally {
      await index.close();
    }
  }

  async #load(index: NativeIndex, wanted: readonly WantedPublication[], models: ProjectModels): Promise<void> {
    const fingerprints = [models.live, models.building].flatMap((model) => model?.fingerprint ?? []);
    const found = await new PostgresSharedIndex(this.client).publications(wanted, fingerprints);
    const usable = found.filter(({ vectors }) => vectors[0]?.fingerprint === models.live.fingerprint);
    for (const same of Map.groupBy(usable, ({ vectors }) => vectors.length).values()) {
      const { memories, chunks, vectors } = loadedForNative(same);
      await index.publish(memories, await nativeChunks(chunks), vectors);
      await compareVectors(index, same);
    }
    this.done += usable.length;
    const bytes = usable.reduce(
      (sum, { vectors }) => sum + vectors.reduce((all, each) => all + each.vectors.length * 2, 0),
      0,
    );
    await this.pace.take("vectors", bytes, Math.min(1, this.done / Math.max(1, this.total)));
  }
}

/** @throws Error if the index has stored other vectors than it was given */
async function compareVectors(index: NativeIndex, publications: readonly LoadedPublication[]): Promise<void> {
  for (const publication of publications) {
    const { chunkKeys, memoryKeys } = chunkKeysOf(publication);
    for (const { fingerprint, vectors: given } of publication.vectors) {
      const stored = await index.storedVectors(fingerprint, chunkKeys, memoryKeys);
      if (stored.length === given.length && stored.every((value, at) => value === given[at])) continue;
      throw new Error(
        `The index has stored other vectors of memory ${publication.memoryKey} than it was given: run it again.`,
      );
    }
  }
}
