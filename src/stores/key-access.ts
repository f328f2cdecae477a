// Authentication of requests, and the last uses of keys. SQLite answers at once from a cache, because one process uses
// the file; PostgreSQL reads the key of every request, because any node may have removed it. sqlite/ and postgres/
// implement it.

import type { Principal } from "../domain/scope.ts";
import type { Eventually } from "../kit/eventually.ts";
import type { KeyLastUses } from "./rows/key.ts";

/** The part of AccountStore that differs between databases. */
export interface KeyAccess {
  /** See AccountStore.authenticate. */
  authenticate(secret: string, userAgent: string | null): Eventually<Principal | null>;
  /** Stores when and with which client keys were used last. */
  storeUses(uses: KeyLastUses): Promise<void>;
}
