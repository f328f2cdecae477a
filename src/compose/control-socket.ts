// The socket in the data directory through which commands reach the server that has the directory's lock. Only users
// who may read the directory can open it, so it needs no key.

import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Control } from "./control.ts";

const SOCKET = "control.sock";
/** Longest path of a Unix socket, in bytes; macOS allows 104 with the final zero. */
const PATH_BYTES_MAX = 103;

/**
 * Listens on the socket of the data directory, which this process has locked. Returns a function that stops at once.
 * @throws Error if the file system supports no sockets
 */
export function listenForCommands(dataDir: string, control: Control): () => Promise<void> {
  rmSync(join(dataDir, SOCKET), { force: true }); // a socket that a crash left behind
  const server = withShortPath(dataDir, (unix) =>
    Bun.serve({
      unix,
      development: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request, server) => {
        server.timeout(request, 0); // a command that limits its rate reads slowly
        return control(request);
      },
    }),
  );
  return async () => {
    await server.stop(true);
    rmSync(join(dataDir, SOCKET), { force: true });
  };
}

/** Sends requests to the server that has the data directory. They reject if no server listens. */
export function commandsTo(dataDir: string): Control {
  return (request) => {
    const { pathname, search } = new URL(request.url);
    const { method, headers, body, signal } = request;
    return withShortPath(dataDir, (unix) =>
      fetch(`http://mneme${pathname}${search}`, { method, headers, body, signal, unix, timeout: false }),
    );
  };
}

/** The answer of the server that has the data directory to a request without a body; null if no server listens. */
export async function askServer(dataDir: string, path: string): Promise<Response | null> {
  try {
    return await commandsTo(dataDir)(new Request(`http://mneme${path}`));
  } catch {
    return null; // nobody listens
  }
}

/** Calls `use` with a path of the socket that is short enough; if necessary, through a link in a temporary folder. */
function withShortPath<T>(dataDir: string, use: (path: string) => T): T {
  const path = join(dataDir, SOCKET);
  if (Buffer.byteLength(path) <= PATH_BYTES_MAX) return use(path);
  const folder = mkdtempSync(join(tmpdir(), "mneme-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    symlinkSync(dataDir, join(folder, "data"));
    const used = use(join(folder, "data", SOCKET));
    // the path is needed only until the socket is bound or connected
    if (used instanceof Promise) used.then(remove, remove);
    else remove();
    return used;
  } catch (error) {
    remove();
    throw error;
  }
}
