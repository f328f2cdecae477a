// Checks of the data directory, its disk, the models, the port and the database.

import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { checkModels } from "../../compose/model-check.ts";
import type { Config } from "../../config.ts";
import { errorMessage } from "../../kit/error-message.ts";
import { readableBytes } from "../terminal.ts";
import { bad, type Finding, good, warning } from "./finding.ts";

const MB = 1_000_000;
const FREE_MIN_BYTES = 100 * MB;
const FREE_GOOD_BYTES = 2_000 * MB;
const CONNECT_MS = 5_000;

/** File systems by their numbers in statfs, on which locks or the order of writes cannot be relied on. */
const UNSAFE_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  26985: "NFS",
  4283649346: "CIFS",
  4266872130: "SMB",
  1702057286: "FUSE",
};
const TMPFS = 0x01021994;

/** Whether the data directory can be used by this user, and whether others can read it. */
export function checkPermissions(dataDir: string, userId: number | null = process.getuid?.() ?? null): Finding {
  const name = "data directory";
  const existing = nearestExisting(dataDir);
  if (existing !== dataDir) {
    return isWritable(existing)
      ? good(name, `${dataDir} does not exist yet; the first start creates it.`)
      : bad(name, `${dataDir} cannot be created: ${existing} is not writable.`, "Create it for the server's user.");
  }
  const found = statSync(dataDir);
  if (!found.isDirectory()) return bad(name, `${dataDir} is not a directory.`, "Give another one with --data-dir.");
  if (!isWritable(dataDir)) {
    const advice = "Run the command as the server's user, or give the directory to that user (chown -R).";
    return bad(name, `${dataDir} is not writable for this user.`, advice);
  }
  const foreign = userId === null || userId === 0 ? undefined : foreignFile(dataDir, userId);
  if (foreign !== undefined) {
    return bad(
      name,
      `${join(dataDir, foreign)} belongs to another user.`,
      "Give all files to the server's user (chown -R).",
    );
  }
  if ((found.mode & 0o077) !== 0) {
    return warning(name, `${dataDir} can be opened by other users of this machine.`, `chmod 700 ${dataDir}`);
  }
  return good(name, `${dataDir} is writable, and closed to other users.`);
}

function nearestExisting(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestExisting(dirname(path));
}

// Creates a folder, because access() alone says yes on file systems that are mounted read-only for this user.
function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    rmSync(mkdtempSync(join(directory, ".mneme-doctor-")), { recursive: true });
    return true;
  } catch {
    return false;
  }
}

function foreignFile(dataDir: string, userId: number): string | undefined {
  return readdirSync(dataDir).find((name) => {
    const uid = statSync(join(dataDir, name), { throwIfNoEntry: false })?.uid;
    return uid !== undefined && uid !== userId;
  });
}

/** Whether the disk has space, and a file system on which the stores are safe. */
export function checkDisk(dataDir: string): Finding {
  const { bavail, blocks, bsize, type } = statfsSync(nearestExisting(dataDir));
  const free = bavail * bsize;
  const found = `${readableBytes(free)} of ${readableBytes(blocks * bsize)} are free.`;
  const unsafe = UNSAFE_FILE_SYSTEMS[type];
  if (unsafe !== undefined) {
    const advice = "Put the data directory on a local disk: network file systems lose locks and the order of writes.";
    return bad("disk", `${found} The file system is ${unsafe}.`, advice);
  }
  if (free < FREE_MIN_BYTES) return bad("disk", found, "Free space, or give another directory with --data-dir.");
  if (type === TMPFS)
    return warning("disk", `${found} It is in memory.`, "The data is gone after a restart of the machine.");
  return free < FREE_GOOD_BYTES
    ? warning("disk", found, "Free space soon: new data is refused on a full disk.")
    : good("disk", found);
}

/** Whether the models are installed and undamaged. */
export async function checkInstalledModels({
  modelsDir,
  embedder,
}: Pick<Config, "modelsDir" | "embedder">): Promise<Finding> {
  const name = "models";
  let models: Awaited<ReturnType<typeof checkModels>>;
  try {
    models = await checkModels(modelsDir);
  } catch (error) {
    return bad(name, errorMessage(error), "Correct MNEME_MODELS_DIR, or install Mneme again.");
  }
  const broken = models.filter(({ problem }) => problem !== null);
  const advice = "Install Mneme again, or see mneme models check.";
  if (!models.some(({ id }) => id === embedder)) return bad(name, `The embedder ${embedder} is not installed.`, advice);
  const isNeeded = broken.some(({ id, kind }) => id === embedder || kind === "reranker");
  if (broken.length > 0) {
    const found = broken.map(({ problem }) => problem).join(" ");
    return isNeeded ? bad(name, found, advice) : warning(name, found, advice);
  }
  const hasReader = models.some(({ kind, words }) => kind === "reader" && words === embedder);
  const verdict = hasReader ? "" : ` ${embedder} has no reader: scores and specifics alone tell what answers.`;
  return good(name, `${models.map(({ id }) => id).join(", ")}: verified.${verdict}`);
}

/** Whether the server can listen. */
export async function checkPort({ host, port }: Pick<Config, "host" | "port">, isServed: boolean): Promise<Finding> {
  const name = "port";
  if (isServed) return good(name, "A server runs on the data directory.");
  if (port === 0) return good(name, "The system chooses a free port.");
  const problem = await listening(host, port);
  if (problem === null) return good(name, `Port ${port} of ${host} is free.`);
  if (problem === "EADDRINUSE") {
    const advice = `Stop the program that uses it (\`ss -ltnp\` lists them), or choose another one with --port.`;
    return bad(name, `Port ${port} of ${host} is in use by another program.`, advice);
  }
  if (problem === "EACCES") {
    return bad(
      name,
      `This user may not listen on port ${port}.`,
      "Choose a port from 1024 on, or use a reverse proxy.",
    );
  }
  return bad(name, `The server cannot listen on ${host}, port ${port}: ${problem}.`, "Correct --host and --port.");
}

/** Listens for a moment. Returns the code of the error; null if it worked. */
function listening(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)));
  });
}

/** Whether the database of PostgreSQL can be reached; null if there is none. */
export async function checkDatabase({ store }: Pick<Config, "store">): Promise<Finding | null> {
  if (store === null) return null;
  const { hostname, port } = new URL(store);
  const where = `${hostname}:${port || 5432}`;
  const problem = await connecting(hostname.replace(/^\[|\]$/g, ""), Number(port || 5432));
  if (problem === null) return good("database", `PostgreSQL at ${where} accepts connections.`);
  const advice = "Start PostgreSQL, open its port in the firewall, or correct MNEME_STORE.";
  return bad("database", `Nothing answers at ${where}: ${problem}.`, advice);
}

function connecting(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    const end = (problem: string | null) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once("connect", () => end(null));
    socket.once("timeout", () => end(`no answer within ${CONNECT_MS / 1000} s`));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
