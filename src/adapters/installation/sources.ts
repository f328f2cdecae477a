// Where the files of a model can come from.

import { realpath } from "node:fs/promises";
import { basename, isAbsolute, join, sep } from "node:path";
import { Fault } from "../../domain/fault.ts";
import { isModelId } from "../../domain/installed-model.ts";

/** `hub:OWNER/NAME`. */
export const HUB_SOURCE = /^hub:([\w-][\w.-]*)\/([\w-][\w.-]*)$/;

/** Whether files are fetched from elsewhere: an address, or a hub. */
export function isFetched(source: string): boolean {
  return HUB_SOURCE.test(source) || (/^https?:\/\//.test(source) && URL.canParse(source));
}

/**
 * The id for a model of this source: the last part of its name, in lower case.
 * @throws Fault `invalid_request` if nothing is left of it
 */
export function idOfSource(source: string): string {
  const last = basename(source.replace(/[?#].*$/, "").replace(/\/+$/, ""));
  const id = last
    .replace(/\.(tar\.gz|tgz|zip)$/i, "")
    .toLowerCase()
    .replace(/[^a-z0-9.-]+/g, "-")
    .replace(/^[^a-z0-9]+/, "")
    .slice(0, 100);
  if (isModelId(id)) return id;
  throw new Fault("invalid_request", "Name the model with 'id', because its source gives no name.", { param: "id" });
}

/** The folder that a source names below one of these folders; null if it names none. */
export async function folderBelow(directories: readonly string[], source: string): Promise<string | null> {
  for (const directory of directories) {
    const parent = await realpath(directory).catch(noFolder);
    if (parent === null) continue;
    const folder = await realpath(isAbsolute(source) ? source : join(parent, source)).catch(noFolder);
    if (folder?.startsWith(parent + sep) === true) return folder;
  }
  return null;
}

/** For paths that cannot be read, whatever the reason. */
function noFolder(): null {
  return null;
}
