// The memories of the files in a file stay with it: they belong to the user, agent and session of their container, and
// expire with it.

import { mayContainFiles } from "../domain/containers.ts";
import type { ProjectId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { ChangedAttributes } from "../domain/memory-attributes.ts";
import type { Accepted } from "../ports/memory-store.ts";
import type { Transaction } from "../ports/transactions.ts";

/** Changes of a container that its parts follow. They get its tags and metadata only when they are created. */
const FOLLOWED = ["userId", "agentId", "sessionId", "expiresAt"] as const;
type Followed = Pick<ChangedAttributes, (typeof FOLLOWED)[number]>;

/** Whether a memory was made from a file that can contain files. */
export function mayHaveParts({ source }: Memory): boolean {
  return source !== null && mayContainFiles(source.media_type);
}

/**
 * Gives the parts of a container the scope and expiry that it was given. Returns the parts that were changed, also
 * those of containers in it.
 */
export async function changeParts(
  transaction: Transaction,
  projectId: ProjectId,
  container: Memory,
  change: Followed,
): Promise<readonly Accepted[]> {
  const given = FOLLOWED.filter((name) => change[name] !== undefined);
  if (given.length === 0 || !mayHaveParts(container)) return [];
  const followed: Followed = Object.fromEntries(given.map((name) => [name, change[name]]));
  const keys = (await transaction.memories.partsOf(projectId, container.id)).map(({ key }) => key);
  const parts = await transaction.memories.getMany(projectId, keys);
  const changed: Accepted[] = [];
  for (const { id } of parts.values()) {
    const accepted = await transaction.memories.change(projectId, id, followed);
    if (accepted === null) continue;
    changed.push(accepted, ...(await changeParts(transaction, projectId, accepted.memory, followed)));
  }
  return changed;
}
