// HAProxy in front of two nodes of Mneme, as deploy/haproxy.cfg has it, for tests without a cluster of databases.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../stores/temporary-folder.ts";
import { ROOT } from "../../support/sources.ts";
import { freePort } from "./database.ts";
import { LIBRARIES, PROGRAMS } from "./parts.ts";
import { Program } from "./processes.ts";

/** Why tests with HAProxy are skipped; null if they can run. */
export const HAPROXY_MISSING: string | null = existsSync(PROGRAMS.haproxy)
  ? null
  : "HAProxy is missing: run `npx -y bun test/nodes/cluster/parts.ts`";

/** HAProxy with the file of deploy/. */
export interface Balancer {
  readonly url: string;
  /** Whether it sends requests to the node at this place. */
  uses(at: number): Promise<boolean>;
  stop(): Promise<void>;
}

/** Starts HAProxy in front of nodes at these ports. */
export function startBalancer(nodes: readonly [number, number]): Balancer {
  const folder = temporaryFolder();
  const front = freePort();
  const status = freePort();
  const unused = "127.0.0.1";
  const haproxy = new Program("haproxy", [PROGRAMS.haproxy, "-db", "-f", join(ROOT, "deploy/haproxy.cfg")], {
    cwd: folder.path,
    environment: {
      LD_LIBRARY_PATH: LIBRARIES,
      ...{ MNEME_BIND: `127.0.0.1:${front}`, MNEME_A: `127.0.0.1:${nodes[0]}`, MNEME_B: `127.0.0.1:${nodes[1]}` },
      STATUS_BIND: `127.0.0.1:${status}`,
      ...{ POSTGRES_BIND: `127.0.0.1:${freePort()}`, POSTGRES_1: unused, POSTGRES_2: unused, POSTGRES_3: unused },
    },
    log: join(folder.path, "haproxy.log"),
  });
  haproxy.start();
  return {
    url: `http://127.0.0.1:${front}`,
    uses: async (at) => {
      try {
        const page = await (await fetch(`http://127.0.0.1:${status}/status;csv`)).text();
        return new RegExp(`^mneme_nodes,${"ab"[at]},.*,UP,`, "m").test(page);
      } catch {
        return false; // it does not listen yet
      }
    },
    stop: async () => {
      await haproxy.end("SIGTERM");
      folder.remove();
    },
  };
}
