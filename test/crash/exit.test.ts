// A process that ends without closing its stores, by `process.exit` or after an uncaught error: the next start is
// neither refused nor does it lack anything. A second Ctrl-C ends the server in this way.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "../stores/temporary-folder.ts";
import { startService } from "../support/service.ts";

const FIXTURE = join(import.meta.dir, "fixtures/end-without-closing.ts");
const onSqlite = test.skipIf(process.env.MNEME_TEST_STORE === "postgres");

for (const [how, exitCode] of [
  ["exit", 0],
  ["throw", 1],
] as const) {
  onSqlite(`${how}: the next start has everything`, async () => {
    const folder = temporaryFolder();
    try {
      const ended = Bun.spawnSync([process.execPath, FIXTURE, how, folder.path]);
      expect(ended.exitCode).toBe(exitCode);
      const mneme = await startService({ dataDir: folder.path });
      const { body } = await mneme.call("GET", "/v1/memories?limit=100");
      await mneme.stop();
      expect(body.data).toHaveLength(100);
    } finally {
      folder.remove();
    }
  });
}
