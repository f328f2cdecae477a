// The contract of UploadFiles, in a folder and in memory.

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { createLog } from "../../src/kit/log.ts";
import { uploadFilesContract } from "../contract/upload-files.ts";
import { InMemoryUploadFiles } from "../in-memory/upload-files.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

uploadFilesContract("A folder", (clock) => {
  const folder = temporaryFolder();
  const open = () => openSpool(join(folder.path, "uploads"), { clock, log: createLog("silent") });
  return { files: open(), reopen: open, remove: () => folder.remove() };
});

uploadFilesContract("In-memory", (clock) => {
  const folder = temporaryFolder();
  const kept = new Set<string>();
  const open = () => {
    for (const name of readdirSync(folder.path)) if (!kept.has(name)) rmSync(join(folder.path, name));
    return new InMemoryUploadFiles(folder.path, clock, kept);
  };
  return { files: open(), reopen: open, remove: () => folder.remove() };
});
