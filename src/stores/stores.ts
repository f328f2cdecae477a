// The stores of record on one session, of any database.

import type { Stores } from "../ports/transactions.ts";
import { StoredAccounts } from "./account-store.ts";
import { StoredActivity } from "./activity-store.ts";
import { StoredCases } from "./case-store.ts";
import { StoredChats } from "./chat-store.ts";
import type { StoreContext } from "./context.ts";
import { StoredDeletions } from "./deletion-store.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { StoredEntities } from "./entity-store.ts";
import { StoredHistory } from "./history/history-store.ts";
import { StoredAnswers } from "./idempotency-store.ts";
import { StoredModels } from "./installed-model-store.ts";
import { StoredJobs } from "./job-store.ts";
import type { KeyAccess } from "./key-access.ts";
import { StoredExtractions } from "./llm-extraction-store.ts";
import { StoredMaps } from "./map-store.ts";
import { StoredMemories } from "./memories/memory-store.ts";
import { StoredProjectModels } from "./project-model-store.ts";
import { StoredRelations } from "./relations/relation-store.ts";
import { StoredRetirement } from "./retirement-store.ts";
import type { Session } from "./session.ts";
import { StoredUsers } from "./user-store.ts";
import { StoredWebhooks } from "./webhook-store.ts";

/** The parts of stores that each database implements itself. */
export interface Differing {
  readonly access: KeyAccess;
  readonly deliveries: DeliveryQueue;
}

/** The stores on a session. */
export function storesOn(session: Session, context: StoreContext, { access, deliveries }: Differing): Stores {
  return {
    memories: new StoredMemories(session, context),
    jobs: new StoredJobs(session, context),
    retirement: new StoredRetirement(session, context),
    relations: new StoredRelations(session, context),
    history: new StoredHistory(session, context),
    activity: new StoredActivity(session, context),
    entities: new StoredEntities(session, context),
    cases: new StoredCases(session, context),
    maps: new StoredMaps(session, context),
    deletions: new StoredDeletions(session, context),
    extractions: new StoredExtractions(session, context),
    accounts: new StoredAccounts(session, context, access),
    projectModels: new StoredProjectModels(session, context),
    installedModels: new StoredModels(session, context),
    users: new StoredUsers(session, context),
    chats: new StoredChats(session, context),
    webhooks: new StoredWebhooks(session, context, deliveries),
    idempotency: new StoredAnswers(session, context),
  };
}
