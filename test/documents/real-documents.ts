// Finds the real documents that some tests read. They are not part of the repository: real-documents.tsv lists them
// with their public sources and licences, and fetch-real-documents.ts downloads them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/sources.ts";

/** Folder of the documents. Each of its folders is a kind (`normal`, `malformed`, …). */
export const REAL_DOCUMENTS = process.env.MNEME_TEST_DOCUMENTS_DIR ?? join(ROOT, "../shared/data/documents");

/** Whether the documents have been downloaded. */
export const HAS_REAL_DOCUMENTS = existsSync(REAL_DOCUMENTS);

/**
 * Text that is added to the names of tests that are skipped because the documents are missing; empty if the documents
 * are there.
 */
export const SKIP_REASON = HAS_REAL_DOCUMENTS
  ? ""
  : " (skipped: run `bun test/documents/fetch-real-documents.ts FOLDER` and set MNEME_TEST_DOCUMENTS_DIR=FOLDER)";

/** Paths of all documents, as `kind/name`, in alphabetical order; empty if the documents are missing. */
export function realDocumentPaths(): readonly string[] {
  if (!HAS_REAL_DOCUMENTS) return [];
  const kinds = readdirSync(REAL_DOCUMENTS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return kinds
    .flatMap(({ name: kind }) => readdirSync(join(REAL_DOCUMENTS, kind)).map((name) => `${kind}/${name}`))
    .sort();
}

/** The bytes of the document `kind/name`. */
export function realDocumentBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(join(REAL_DOCUMENTS, path)));
}
