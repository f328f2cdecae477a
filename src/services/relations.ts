// Relations between memories, as far as a viewer may see them: reading them, and setting and forgetting what a person
// says of two memories.

import { Fault } from "../domain/fault.ts";
import type { MemoryId } from "../domain/ids.ts";
import type { Memory } from "../domain/memory.ts";
import type { Relation, RelationType } from "../domain/relation.ts";
import type { Viewer } from "../domain/scope.ts";
import { shortened } from "../kit/shortened.ts";
import type { MemoryStore } from "../ports/memory-store.ts";
import type { RelationStore } from "../ports/relation-store.ts";
import type { Transaction } from "../ports/transactions.ts";
import { visibleMemory } from "./memories.ts";

/** Relations of the memories of one project. Memories of users that a viewer may not see are treated as absent. */
export class RelationService {
  constructor(private readonly relations: Pick<RelationStore, "of">) {}

  /** The relations of a memory that the viewer has just read, newest first. */
  of(viewer: Viewer, memory: Pick<Memory, "key">): Promise<readonly Relation[]> {
    return this.relations.of(viewer.projectId, memory.key);
  }

  /**
   * Stores the relation of two memories that a person states, and returns the relations of the first memory.
   * @throws Fault `memory_not_found`, `invalid_request` for memories that cannot be related, `invalid_state` for a
   *   memory that is not completed, and for a circle of superseding
   */
  async set(
    tx: Transaction,
    viewer: Viewer,
    pair: { readonly id: MemoryId; readonly otherId: MemoryId; readonly type: RelationType | "none" },
  ): Promise<readonly Relation[]> {
    const [own, other] = await this.#both(tx, viewer, pair);
    if (own.userKey !== other.userKey || own.agentId !== other.agentId) {
      const message = "Only memories with the same `userId` and the same `agentId` can be related.";
      throw new Fault("invalid_request", message, { param: "memory_id" });
    }
    for (const { id, state } of [own, other]) {
      if (state.status === "completed") continue;
      throw new Fault("invalid_state", `Only completed memories can be related; ${id} is ${state.status}.`);
    }
    if (!(await tx.relations.set(viewer.projectId, own.key, other.key, pair.type, viewer.keyId))) {
      throw new Fault("invalid_state", "The two memories would supersede each other in a circle.");
    }
    return tx.relations.of(viewer.projectId, own.key);
  }

  /** Forgets what a person said of two memories. @throws Fault `memory_not_found`, `relation_not_found` */
  async forget(
    tx: Transaction,
    viewer: Viewer,
    pair: { readonly id: MemoryId; readonly otherId: MemoryId },
  ): Promise<void> {
    const [own, other] = await this.#both(tx, viewer, pair);
    if (await tx.relations.forget(viewer.projectId, own.key, other.key, viewer.keyId)) return;
    const message = `No person has said anything of ${own.id} and ${other.id}.`;
    throw new Fault("relation_not_found", message, { param: "memory_id" });
  }

  async #both(
    { memories }: Pick<Transaction, "memories">,
    viewer: Viewer,
    { id, otherId }: { readonly id: MemoryId; readonly otherId: MemoryId },
  ): Promise<readonly [Memory, Memory]> {
    const own = await visible(memories, viewer, id, "id");
    const other = await visible(memories, viewer, otherId, "memory_id");
    if (own.key === other.key) {
      throw new Fault("invalid_request", "A memory has no relation with itself.", { param: "memory_id" });
    }
    return [own, other];
  }
}

async function visible(
  memories: Pick<MemoryStore, "get">,
  viewer: Viewer,
  id: MemoryId,
  param: string,
): Promise<Memory> {
  const memory = await visibleMemory(memories, viewer, id);
  if (memory !== null) return memory;
  throw new Fault("memory_not_found", `There is no memory '${shortened(id)}' in this project.`, { param });
}
