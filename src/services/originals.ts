// Which uploaded files are kept after their text was read.

import type { ProjectId } from "../domain/ids.ts";
import type { ReceivedFile } from "../domain/memory.ts";
import type { AccountStore } from "../ports/account-store.ts";

/** The same drafts or changes; their uploaded files are marked as originals if the project keeps files. */
export async function withOriginals<Item extends { readonly upload?: ReceivedFile }>(
  { accounts }: { readonly accounts: Pick<AccountStore, "project"> },
  projectId: ProjectId,
  items: readonly Item[],
): Promise<readonly Item[]> {
  if (!items.some(({ upload }) => isFile(upload))) return items;
  const isOriginal = (await accounts.project(projectId))?.settings.keep_files === true;
  return items.map((item) => {
    const { upload } = item;
    return isOriginal && isFile(upload) ? { ...item, upload: { ...upload, isOriginal } } : item;
  });
}

/** Whether an upload is a file, and not the long text of a JSON body. */
function isFile(upload: ReceivedFile | undefined): upload is ReceivedFile {
  return upload !== undefined && upload.source !== null;
}
