// Files that contain files: archives, mailboxes, and messages with attachments. Each file in them is a memory of its
// own.

/** Media types of ZIP archives and mailboxes, which always contain files. */
const ALWAYS: ReadonlySet<string> = new Set(["application/zip", "application/mbox"]);
/** Media types of messages, which contain files if they have attachments. */
const MESSAGES: ReadonlySet<string> = new Set(["message/rfc822", "application/vnd.ms-outlook"]);

/** Whether files of this media type always contain files. */
export function isArchive(mediaType: string): boolean {
  return ALWAYS.has(mediaType);
}

/** Whether files of this media type can contain files. */
export function mayContainFiles(mediaType: string): boolean {
  return ALWAYS.has(mediaType) || MESSAGES.has(mediaType);
}

/** Numbers of the live parts of a container. */
export interface PartCounts {
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
}

/** The counts of a container that has no part. */
export const NO_PARTS: PartCounts = { total: 0, completed: 0, failed: 0 };
