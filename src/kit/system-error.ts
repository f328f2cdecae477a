// Turns an error of the operating system about a file into a sentence for the user.

import { existsSync } from "node:fs";
import { dirname } from "node:path";

/** The sentence about an error of a file system operation; null for an error of any other kind. */
export function systemErrorText(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error) || !("path" in error)) return null;
  const { code, path } = error;
  if (typeof path !== "string") return null;
  switch (code) {
    case "ENOENT":
      return existsSync(dirname(path)) ? `${path} does not exist.` : `The folder ${dirname(path)} does not exist.`;
    case "EACCES":
    case "EPERM":
      return `This user may not open or change ${path}.`;
    case "EISDIR":
      return `${path} is a folder, not a file.`;
    case "ENOTDIR":
      return `${path} is in something that is not a folder.`;
    case "EROFS":
      return `${path} is on a file system that cannot be written to.`;
    case "ENOSPC":
      return `There is no space left on the disk of ${path}.`;
    default:
      return null;
  }
}
