// SQL conditions for memories whose content waits to be processed (jobs), in the dialects of both databases.

import type { Dialect } from "./dialect.ts";
import { LIVE } from "./rows/sql.ts";

// Before a file is read, the size of its text is known only if it is a plain-text file.
const SHORT_ENOUGH = ({ keptFile, mediaType }: Dialect) => `(memories.content_bytes <= $textBytesMax
    OR (${keptFile} IS NOT NULL AND ${mediaType} NOT LIKE 'text/%' AND ${mediaType} <> 'application/json'))`;

/**
 * Condition for jobs whose text has at most `$textBytesMax` bytes, or a size that is not known yet. If `$partsMax` is 0
 * and not 1, memories of files that were found in other files are left out.
 */
export const IS_JOB = (dialect: Dialect) => `memories.status = 'processing' AND ${LIVE} AND ${SHORT_ENOUGH(dialect)}
  AND ($partsMax = 1 OR ${dialect.container} IS NULL)`;

/** Condition for jobs of `IS_JOB` that can be claimed at `$now`. */
export const CLAIMABLE = (dialect: Dialect) => `${IS_JOB(dialect)} AND memories.claimable_at <= $now`;
