// PDFs that were damaged at random: whatever is done to one, the reader answers with a document or a failure, soon, and its
// process lives on. MNEME_TEST_MUTATIONS sets how many per document, MNEME_TEST_SEED replays a run.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../support/sources.ts";

const MUTATIONS = Number(process.env.MNEME_TEST_MUTATIONS ?? 15);
const SEED = Number(process.env.MNEME_TEST_SEED ?? 20_261_121);
/** What one document may take. */
const EACH_MS = 10_000;

const FOLDER = join(ROOT, "../shared/data/documents/normal");
const NO_FILES = `no documents in ${FOLDER}`;
const isThere = existsSync(FOLDER);
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
  `a PDF is read or refused whatever is done to its bytes (${MUTATIONS} times, seed ${SEED})`,
  async () => expect(await outputOf(MUTATIONS, [])).toBe("done\n"),
  MUTATIONS * EACH_MS,
);

test.skipIf(!isThere)(
  `so are those of real programs (seed ${SEED})${isThere ? "" : `: ${NO_FILES}`}`,
  async () => {
    const files = readdirSync(FOLDER)
      .filter((name) => name.endsWith(".pdf"))
      .map((name) => join(FOLDER, name))
      .filter((file) => statSync(file).size < SMALL_BYTES);
    expect(files.length).toBeGreaterThan(0);
    expect(await outputOf(Math.ceil(MUTATIONS / 20), files)).toBe("done\n");
  },
  MUTATIONS * EACH_MS,
);
