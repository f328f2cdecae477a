// The server's part of taking pictures out of files: a child process decodes them, within limits of time and memory.

import { childCommand } from "../../children/command.ts";
import { lowerPriority } from "../../children/priority.ts";
import { residentBytes } from "../../children/process-usage.ts";
import { inheritedEnvironment } from "../../children/supervisor.ts";
import type { Log } from "../../kit/log.ts";
import type { PictureShrinker, ShrinkRequest, SmallPicture } from "../../ports/picture-shrinker.ts";
import { linesOf } from "./child-lines.ts";

/** Limits for all pictures of a file together: resident memory of the child, and time. */
const MEMORY_BYTES_MAX = 1024 * 1024 * 1024;
const TIMEOUT_MS = 120_000;
/** Time between two checks of the child. */
const CHECK_EVERY_MS = 200;
/** Maximum length of a line. A JPEG of 1,024 pixels has 300 KB at most, in base64 a third more. */
const LINE_CHARACTERS_MAX = 4_000_000;
/** Lower priority than searches and ingestion. */
const NICENESS = 15;

/** Creates a shrinker. Each file has a child of its own. */
export function createPictureShrinker(log: Log): PictureShrinker {
  return { shrink: (request, signal) => shrink(request, signal, log) };
}

async function shrink(request: ShrinkRequest, signal: AbortSignal, log: Log): Promise<readonly SmallPicture[]> {
  signal.throwIfAborted();
  const child = Bun.spawn([...childCommand("ocr")], {
    env: inheritedEnvironment(),
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  lowerPriority(child.pid, NICENESS, log);
  const kill = () => child.kill("SIGKILL");
  const checks = setInterval(() => {
    if (residentBytes(child.pid) > MEMORY_BYTES_MAX) kill();
  }, CHECK_EVERY_MS);
  const timeout = setTimeout(kill, TIMEOUT_MS);
  signal.addEventListener("abort", kill, { once: true });
  const found: SmallPicture[] = [];
  try {
    child.stdin.write(JSON.stringify(request));
    await child.stdin.end();
    for await (const line of linesOf(child.stdout, LINE_CHARACTERS_MAX)) {
      const picture = pictureOf(line);
      if (picture !== null && found.length < request.ids.length) found.push(picture);
    }
  } catch (err) {
    // if the child died early, the pictures that were found are used
    log.warn({ err }, "pictures of a file could not be taken out");
  } finally {
    clearInterval(checks);
    clearTimeout(timeout);
    signal.removeEventListener("abort", kill);
    kill();
  }
  signal.throwIfAborted();
  return found;
}

function pictureOf(line: string): SmallPicture | null {
  if (!line.startsWith('{"id":')) return null;
  try {
    const { id, jpeg } = JSON.parse(line) as Record<string, unknown>;
    return typeof id === "string" && typeof jpeg === "string" ? { id, jpeg } : null;
  } catch {
    return null; // the line is cut off
  }
}
