// Where the documents of real programs are, which the tests here upload, and how one is uploaded. They are not part of the
// repository: what each is and where it comes from stands in the ORIGIN.tsv beside them.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileForm, formRequest } from "../../support/forms.ts";
import { type Answered, TEST_KEY, type TestService } from "../../support/service.ts";
import { ROOT } from "../../support/sources.ts";

/** The folder of the documents; each of its folders is a kind (`normal`, `malformed`, …). */
export const DOCUMENTS = join(ROOT, "../shared/data/documents");

/** Whether the documents are there. */
export const HAS_DOCUMENTS = existsSync(DOCUMENTS);

/** What the name of a test says that is skipped because they are not; empty where they are. */
export const SKIPPED = HAS_DOCUMENTS ? "" : ` (no documents in ${DOCUMENTS})`;

/** Every document as `kind/name`, in the order of the alphabet; none where they are absent. */
export function documentPaths(): readonly string[] {
  if (!HAS_DOCUMENTS) return [];
  const kinds = readdirSync(DOCUMENTS, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return kinds.flatMap(({ name: kind }) => readdirSync(join(DOCUMENTS, kind)).map((name) => `${kind}/${name}`)).sort();
}

/** The bytes of `kind/name`. */
export function documentBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(join(DOCUMENTS, path)));
}

/** The name under which `kind/name` is uploaded. */
export function uploadName(path: string): string {
  return path.slice(path.indexOf("/") + 1);
}

/** Uploads a file as a form; the answer is the one of uploadMemory. */
export function upload(service: TestService, filename: string, bytes: Uint8Array): Promise<Answered> {
  return service.send(
    formRequest("http://mneme.test/v1/memories/upload", fileForm(filename, bytes), {
      headers: { authorization: `Bearer ${TEST_KEY}` },
    }),
  );
}
