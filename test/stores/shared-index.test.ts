// The contract of SharedIndex, in memory and on PostgreSQL.

import { sharedIndexContract } from "../contract/shared-index.ts";
import { openInMemoryShared } from "../in-memory/shared-index.ts";
import { openPostgresShared, withPostgres } from "./open-postgres.ts";

sharedIndexContract("In-memory", openInMemoryShared);
withPostgres("SharedIndex", () => sharedIndexContract("PostgreSQL", openPostgresShared));
