// Finds the real documents that some tests read. They are not part of the repository: real-documents.tsv lists them
// with their public sources and licences, and fetch-real-documents.ts downloads them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../support/sources.ts";

/** Folder of the documents. Each of its folders is a kind (`normal`, `malformed`, …). */
export const REAL_DOCUMENTS = process.env.MNEME_TEST_DOCUMENTS_DIR ?? join(ROOT, "../shared/data/documents");

/** Whether the documents are there. */
export const HAS_REAL_DOCUMENTS = existsSync(REAL_DOCUMENTS);

/** Added to the names of tests that are skipped without the documents; empty if they are there. */
export const SKIP_REASON = HAS_REAL_DOCUMENTS
  ? ""
  : " (skipped: run `bun test/documents/fetch-real-documents.ts FOLDER` and set MNEME_TEST_DOCUMENTS_DIR=FOLDER)";

/** Every document as `kind/name`, in alphabetical order; none if they are not there. */
export function realDocumentPaths(): readonly string[] {
  if (!HAS_REAL_DOCUMENTS) return [];
  const kinds = readdirSync(REAL_DOCUMENTS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return kinds
    .flatMap(({ name: kind }) => readdirSync(join(REAL_DOCUMENTS, kind)).map((name) => `${kind}/${name}`))
    .sort();
}

/** The bytes of `kind/name`. */
export function realDocumentBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(join(REAL_DOCUMENTS, path)));
}
