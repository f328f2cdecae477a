// Files that contain files: archives, mailboxes, and messages with attachments. Each file in them is a memory of its
// own.

/** Media types of ZIP archives and mailboxes, which always contain files. */
const ALWAYS: ReadonlySet<string> = new Set(["application/zip", "application/mbox"]);
/** Media types of messages, which contain files if they have attachments. */
const MESSAGES: ReadonlySet<string> = new Set(["message/rfc822", "application/vnd.ms-outlook"]);

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

const NO_PARTS: PartCounts = { total: 0, completed: 0, failed: 0 };

/** The counts of a file without parts: zeros if its format always contains files, otherwise undefined. */
export function countsWithoutParts(source: { readonly media_type: string } | null): PartCounts | undefined {
  return source !== null && ALWAYS.has(source.media_type) ? NO_PARTS : undefined;
}
