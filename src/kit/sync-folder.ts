// Makes the names in a folder durable: after a file was created, renamed or removed, the folder has to be synced, too.

import { closeSync, fsyncSync, openSync } from "node:fs";
import { open } from "node:fs/promises";

/** Makes created, renamed and removed names of a folder durable. @throws Error with the errno of the system */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Like `syncFolder`, for code that must not be interrupted by other work of the thread. Blocks. */
export function syncFolderNow(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
