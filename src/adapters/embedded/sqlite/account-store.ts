// Projects and API keys in mneme.sqlite. Of a key only its SHA-256 is kept.

import { createHash, timingSafeEqual } from "node:crypto";
import { Fault, invariant } from "../../../domain/fault.ts";
import { type KeyId, type ProjectId, timeOrderedId } from "../../../domain/ids.ts";
import type { KeyScope, Principal } from "../../../domain/scope.ts";
import type { Clock } from "../../../kit/clock.ts";
import type { AccountStore } from "../../../ports/account-store.ts";
import type { SqliteDatabase } from "./database.ts";
import { PROJECT_KEY } from "./memory-row.ts";
import { type RandomBytes, systemRandom } from "./random.ts";

const ID_RANDOM_BYTES = 10;

type KeyRow = {
  readonly id: string;
  readonly project_id: string;
  readonly secret_sha256: Uint8Array;
  readonly scopes: string;
};

const FIND_KEY = `SELECT api_keys.id, projects.id AS project_id, api_keys.secret_sha256, api_keys.scopes
  FROM api_keys JOIN projects USING (project_key) WHERE api_keys.secret_sha256 = $hash`;

/** AccountStore on SQLite. */
export class SqliteAccountStore implements AccountStore {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #random: RandomBytes;

  constructor(options: { readonly database: SqliteDatabase; readonly clock: Clock; readonly random?: RandomBytes }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#random = options.random ?? systemRandom;
  }

  defaultProject(): ProjectId {
    return this.#database.transaction(() => {
      const found = this.#database.prepare<{ id: string }>("SELECT id FROM projects WHERE is_default = 1").get({});
      if (found !== null) return found.id as ProjectId;
      const now = this.#clock.now();
      const id = `prj_${timeOrderedId(now, this.#random(ID_RANDOM_BYTES))}`;
      this.#database
        .prepare<never, { id: string; now: number }>(
          `INSERT INTO projects (id, name, plan, is_default, created_at) VALUES ($id, 'default', 'enterprise', 1, $now)`,
        )
        .run({ id, now });
      return id as ProjectId;
    });
  }

  projects(): readonly ProjectId[] {
    return this.#database
      .prepare<{ id: string }>("SELECT id FROM projects ORDER BY project_key")
      .all({})
      .map((row) => row.id as ProjectId);
  }

  hasKeys(projectId: ProjectId): boolean {
    const found = this.#database
      .prepare<{ id: string }, { project: string }>(
        `SELECT id FROM api_keys WHERE project_key = ${PROJECT_KEY} LIMIT 1`,
      )
      .get({ project: projectId });
    return found !== null;
  }

  /** @throws Fault `invalid_request` when the key belongs to another project already */
  addKey(
    projectId: ProjectId,
    key: { readonly secret: string; readonly name: string; readonly scopes: readonly KeyScope[] },
  ): KeyId {
    return this.#database.transaction(() => {
      const known = this.#find(hashOf(key.secret));
      if (known !== null) {
        if (known.project_id === projectId) return known.id as KeyId;
        throw new Fault("invalid_request", "This API key belongs to another project already. Choose another one.");
      }
      const now = this.#clock.now();
      const id = `key_${timeOrderedId(now, this.#random(ID_RANDOM_BYTES))}`;
      const added = this.#database
        .prepare<never, { id: string; project: string; name: string; hash: Uint8Array; scopes: string; now: number }>(
          `INSERT INTO api_keys (id, project_key, name, secret_sha256, scopes, created_at)
           SELECT $id, project_key, $name, $hash, $scopes, $now FROM projects WHERE id = $project`,
        )
        .run({
          id,
          project: projectId,
          name: key.name,
          hash: hashOf(key.secret),
          scopes: JSON.stringify(key.scopes),
          now,
        });
      invariant(added === 1, `a key was made for the unknown project ${projectId}`);
      return id as KeyId;
    });
  }

  authenticate(secret: string): Principal | null {
    const hash = hashOf(secret);
    const row = this.#find(hash);
    // the lookup goes by the hash, whose bytes a caller cannot choose; the comparison that decides takes the same
    // time for every key
    if (row === null || !timingSafeEqual(row.secret_sha256, hash)) return null;
    return {
      keyId: row.id as KeyId,
      projectId: row.project_id as ProjectId,
      scopes: JSON.parse(row.scopes) as readonly KeyScope[],
    };
  }

  #find(hash: Uint8Array): KeyRow | null {
    return this.#database.prepare<KeyRow, { hash: Uint8Array }>(FIND_KEY).get({ hash });
  }
}

function hashOf(secret: string): Uint8Array {
  return createHash("sha256").update(secret, "utf8").digest();
}
