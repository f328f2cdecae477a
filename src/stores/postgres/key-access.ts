// KeyAccess on PostgreSQL. Every request reads its key from the database, so that a key that was removed through any
// server is refused by all servers at once.

import { timingSafeEqual } from "node:crypto";
import type { Principal } from "../../domain/scope.ts";
import type { StoreContext } from "../context.ts";
import type { KeyAccess } from "../key-access.ts";
import { clientOfUse, type KeyLastUses, noteUse, SECRET_COLUMNS, type SecretRow, toPrincipal } from "../rows/key.ts";
import type { Session } from "../session.ts";

const FIND_SECRETS = `SELECT asked, ${SECRET_COLUMNS}
  FROM unnest($keys::text[]) AS given (asked)
  JOIN key_secrets ON sha256 = decode(asked, 'hex') JOIN api_keys USING (key_key) JOIN projects USING (project_key)
  WHERE (valid_until IS NULL OR valid_until > $now) AND (expires_at IS NULL OR expires_at > $now)
    AND projects.deleted_at IS NULL`;
// skips keys that another transaction changes; a later `flush` stores the time of their next use
const WRITE_LAST_USED = `UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at),
    last_client = CASE WHEN last_used_at > used.at THEN last_client ELSE coalesce(used.client, last_client) END
  FROM (SELECT api_keys.key_key, given.at, given.client FROM api_keys
    JOIN unnest($keys::bigint[], $times::bigint[], $clients::text[]) AS given (key_key, at, client) ON given.key_key = api_keys.key_key
    FOR NO KEY UPDATE OF api_keys SKIP LOCKED) AS used
  WHERE api_keys.key_key = used.key_key`;

/** KeyAccess on PostgreSQL. */
export class PostgresKeyAccess implements KeyAccess {
  /** The callers that share a row get the same object. */
  readonly #principals = new WeakMap<SecretRow, Principal>();

  constructor(
    private readonly session: Session,
    private readonly context: Pick<StoreContext, "clock" | "lastUses">,
  ) {}

  async authenticate(secret: string, userAgent: string | null): Promise<Principal | null> {
    const now = this.context.clock.now();
    const asked = Bun.SHA256.hash(secret, "hex");
    const row = await this.session.getShared<SecretRow>(FIND_SECRETS, asked, { now });
    if (row === null) return null;
    const principal = this.#principalOf(row, asked);
    if (principal !== null) noteUse(this.context.lastUses, row.key_key, { at: now, userAgent });
    return principal;
  }

  #principalOf(row: SecretRow, asked: string): Principal | null {
    const known = this.#principals.get(row);
    if (known !== undefined) return known;
    if (!timingSafeEqual(row.sha256, Buffer.from(asked, "hex"))) return null;
    const principal = toPrincipal(row);
    this.#principals.set(row, principal);
    return principal;
  }

  async storeUses(uses: KeyLastUses): Promise<void> {
    const last = [...uses.values()];
    const times = last.map(({ at }) => BigInt(at));
    await this.session.run(WRITE_LAST_USED, { keys: [...uses.keys()], times, clients: last.map(clientOfUse) });
  }
}
