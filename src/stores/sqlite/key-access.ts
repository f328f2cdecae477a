// KeyAccess on SQLite. Successful authentications are cached until keys or projects change. A command that runs at the
// same time as the server may change keys too. The server notices such a change within 10 ms.

import { timingSafeEqual } from "node:crypto";
import type { Principal } from "../../domain/scope.ts";
import type { StoreContext } from "../context.ts";
import type { KeyAccess } from "../key-access.ts";
import {
  clientOfUse,
  hashOf,
  type KeyLastUses,
  noteUse,
  SECRET_COLUMNS,
  type SecretRow,
  toPrincipal,
} from "../rows/key.ts";
import type { Session } from "../session.ts";
import type { SqliteDatabase } from "./database.ts";

/** How long the cache is used before the file is checked for changes by other processes, in milliseconds. */
const ACCESS_TRUSTED_MS = 10;
/** Maximum number of cached secrets. A full cache is emptied. */
const CACHED_SECRETS_MAX = 10_000;

type FoundSecret = SecretRow & { readonly until: bigint | null };

/** Result of a successful authentication. */
interface Authentication {
  readonly key: bigint;
  readonly principal: Principal;
  /** Unix milliseconds. From then on the secret is refused. */
  readonly until: number;
}

const ACCESS = "SELECT next FROM sequences WHERE name = 'access'";
const FIND_SECRET = `SELECT ${SECRET_COLUMNS},
    min(coalesce(valid_until, expires_at), coalesce(expires_at, valid_until)) AS until
  FROM key_secrets JOIN api_keys USING (key_key) JOIN projects USING (project_key)
  WHERE sha256 = $hash AND (valid_until IS NULL OR valid_until > $now) AND (expires_at IS NULL OR expires_at > $now)
    AND projects.deleted_at IS NULL`;
const WRITE_LAST_USED = `UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), $at),
  last_client = CASE WHEN coalesce(last_used_at, 0) > $at THEN last_client ELSE coalesce($client, last_client) END
  WHERE key_key = $key`;

/** KeyAccess on SQLite. */
export class SqliteKeyAccess implements KeyAccess {
  /**
   * Cache of authentications, by SHA-256 of the secret in hexadecimal. It is valid while the access counter is
   * `#accessCount`. A query per request would take ten times as long as a look-up here.
   */
  readonly #authentications = new Map<string, Authentication>();
  #accessCount = 0n;
  #changesSeen = -1;
  #accessReadAt = Number.NEGATIVE_INFINITY;

  /** `session` runs on `database`. */
  constructor(
    private readonly database: SqliteDatabase,
    private readonly session: Session,
    private readonly context: Pick<StoreContext, "clock" | "lastUses">,
  ) {}

  authenticate(secret: string, userAgent: string | null): Principal | null {
    const now = this.context.clock.now();
    const found = this.#authenticationOf(secret, now);
    if (found === null) return null;
    noteUse(this.context.lastUses, found.key, { at: now, userAgent });
    return found.principal;
  }

  #authenticationOf(secret: string, now: number): Authentication | null {
    this.#clearIfAccessChanged();
    // the look-up needs no constant time: a caller cannot choose the bytes of the hash, so its duration reveals nothing
    // about stored secrets
    const hashText = Bun.SHA256.hash(secret, "hex");
    const known = this.#authentications.get(hashText);
    if (known !== undefined) return known.until > now ? known : null;

    const hash = hashOf(secret);
    const row = this.database.prepare<FoundSecret, { hash: Uint8Array; now: number }>(FIND_SECRET).get({ hash, now });
    if (row === null || !timingSafeEqual(row.sha256, hash)) return null;
    const found: Authentication = {
      key: row.key_key,
      principal: toPrincipal(row),
      until: row.until === null ? Number.POSITIVE_INFINITY : Number(row.until),
    };
    this.#authentications.set(hashText, found);
    return found;
  }

  // Empties the cache if the access counter has changed. A change by this process is seen at once, a change by another
  // process after a few milliseconds: reading the file for every request would take longer than the rest of
  // authentication.
  #clearIfAccessChanged(): void {
    const changes = this.database.changes.value;
    const now = performance.now();
    if (changes === this.#changesSeen && now - this.#accessReadAt < ACCESS_TRUSTED_MS) return;
    this.#changesSeen = changes;
    this.#accessReadAt = now;
    const accessCount = this.database.prepare<{ next: bigint }>(ACCESS).get({})?.next ?? 0n;
    if (accessCount !== this.#accessCount || this.#authentications.size >= CACHED_SECRETS_MAX)
      this.#authentications.clear();
    this.#accessCount = accessCount;
  }

  async storeUses(uses: KeyLastUses): Promise<void> {
    for (const [key, use] of uses) {
      await this.session.run(WRITE_LAST_USED, { key, at: use.at, client: clientOfUse(use) });
    }
  }
}
