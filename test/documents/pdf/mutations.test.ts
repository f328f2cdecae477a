// Reads randomly damaged PDFs: the reader returns a document or a failure within a bounded time, and its process
// survives. MNEME_TEST_MUTATIONS sets the number of mutations per document; MNEME_TEST_SEED sets the seed, to repeat a
// run.

import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { TEST_TIMEOUT_MS } from "../../support/until.ts";
import { HAS_REAL_DOCUMENTS, REAL_DOCUMENTS, realDocumentPaths, SKIP_REASON } from "../real-documents.ts";

const MUTATIONS = Number(process.env.MNEME_TEST_MUTATIONS ?? 15);
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
/** Time limit for one document, in milliseconds. */
const EACH_MS = 10_000;

const SMALL_BYTES = 200_000;

async function outputOf(times: number, files: readonly string[]): Promise<string> {
  const program = join(import.meta.dir, "read-mutated.ts");
  const child = Bun.spawn([process.execPath, program, String(times), String(SEED), ...files], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return (await child.exited) === 0 ? output : `${output}${errors}`;
}

test(
  `a damaged generated PDF is read or refused (${MUTATIONS} times, seed ${SEED})`,
  async () => expect(await outputOf(MUTATIONS, [])).toBe("done\n"),
  Math.max(TEST_TIMEOUT_MS, MUTATIONS * EACH_MS),
);

test.skipIf(!HAS_REAL_DOCUMENTS)(
  `damaged real PDFs are read or refused (seed ${SEED})${SKIP_REASON}`,
  async () => {
    const files = realDocumentPaths()
      .filter((path) => path.startsWith("normal/") && path.endsWith(".pdf"))
      .map((path) => join(REAL_DOCUMENTS, path))
      .filter((file) => statSync(file).size < SMALL_BYTES);
    expect(files.length).toBeGreaterThan(0);
    expect(await outputOf(Math.ceil(MUTATIONS / 20), files)).toBe("done\n");
  },
  Math.max(TEST_TIMEOUT_MS, MUTATIONS * EACH_MS),
);
