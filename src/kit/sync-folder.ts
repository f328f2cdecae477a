// Makes names in a folder durable: after a rename or a new file, the folder itself has to be synced.

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

/** Like `syncFolder`, for code that must not give up the thread. */
export function syncFolderNow(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
