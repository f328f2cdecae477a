// Reads projects and models from the rows of any earlier version, for a check before an upgrade. It only reads, and
// only tables and columns that exist in that version.

/** A project in the rows of an earlier version. */
export interface StoredProject {
  readonly id: string;
  /** Number of passages of its memories. */
  readonly chunks: number;
  /** Id of its embedding model; null if the version did not store it, or no server has opened its index yet. */
  readonly model: string | null;
  /** Whether a person chose the model. */
  readonly isModelChosen: boolean;
  /** Id of the embedding model to which it is being changed; null if it is not being changed. */
  readonly nextModel: string | null;
}

/** Schema version of a store, and the newest one that this program knows. */
export interface SchemaVersions {
  /** 0: the store has no tables yet. */
  readonly found: number;
  readonly supported: number;
}

/** The rows before an upgrade. */
export interface StoredRows {
  readonly schema: SchemaVersions;
  /** Size of the rows on disk, in bytes. */
  readonly bytes: number;
  readonly projects: readonly StoredProject[];
  /** Ids of models that an operator added. */
  readonly addedModels: readonly string[];
}

type Row = Readonly<Record<string, unknown>>;

const PROJECTS = "SELECT project_key, id FROM projects WHERE deleted_at IS NULL ORDER BY project_key";
const CHUNKS = `SELECT project_key, sum(chunk_count) AS chunks FROM memories WHERE deleted_at IS NULL
  GROUP BY project_key`;
const MODELS = "SELECT project_key, live, is_chosen, state, model FROM project_models";
const ADDED_MODELS = "SELECT id FROM installed_models ORDER BY id";

/**
 * Reads projects and models, as far as the tables exist.
 * @param read runs a statement that both databases understand
 */
export async function readProjects(
  tables: ReadonlySet<string>,
  read: (sql: string) => Promise<readonly Row[]>,
): Promise<Pick<StoredRows, "projects" | "addedModels">> {
  if (!tables.has("projects")) return { projects: [], addedModels: [] };
  const byProject = async (sql: string) =>
    new Map((await read(sql)).map((row) => [Number(row.project_key), row] as const));
  const chunks = await byProject(CHUNKS);
  const models = tables.has("project_models") ? await byProject(MODELS) : new Map<number, Row>();
  const added = tables.has("installed_models") ? await read(ADDED_MODELS) : [];
  const projects = (await read(PROJECTS)).map(({ project_key, id }): StoredProject => {
    const model = models.get(Number(project_key));
    return {
      id: String(id),
      chunks: Number(chunks.get(Number(project_key))?.chunks ?? 0),
      model: textOrNull(model?.live),
      isModelChosen: Number(model?.is_chosen ?? 0) === 1,
      nextModel: model?.state === "building" ? textOrNull(model.model) : null,
    };
  });
  return { projects, addedModels: added.map(({ id }) => String(id)) };
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
