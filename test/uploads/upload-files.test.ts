// The contract of UploadFiles, in a folder.

import { join } from "node:path";
import { openSpool } from "../../src/adapters/uploads/spool.ts";
import { createLog } from "../../src/kit/log.ts";
import { uploadFilesContract } from "../contract/upload-files.ts";
import { temporaryFolder } from "../stores/temporary-folder.ts";

uploadFilesContract("A folder", (clock) => {
  const folder = temporaryFolder();
  const open = () => openSpool(join(folder.path, "uploads"), { clock, log: createLog("silent") });
  return { files: open(), reopen: open, remove: () => folder.remove() };
});
