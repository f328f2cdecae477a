// The stores of record on one session, of any database.

import type { Stores } from "../ports/transactions.ts";
import { StoredAccounts } from "./account-store.ts";
import { StoredChats } from "./chat-store.ts";
import type { StoreContext } from "./context.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";
import { StoredAnswers } from "./idempotency-store.ts";
import type { KeyAccess } from "./key-access.ts";
import { StoredExtractions } from "./llm-extraction-store.ts";
import { StoredProjectModels } from "./project-model-store.ts";
import type { Session } from "./session.ts";
import { StoredUsers } from "./user-store.ts";
import { StoredWebhooks } from "./webhook-store.ts";

/** What a database does in its own way on this session. */
export interface Differing {
  readonly access: KeyAccess;
  readonly deliveries: DeliveryQueue;
  readonly expiry: ConstructorParameters<typeof StoredAccounts>[3];
}

/** The stores that run the same statements on all databases. */
export function sharedStoresOn(
  session: Session,
  context: StoreContext,
  { access, deliveries, expiry }: Differing,
): Omit<Stores, "memories" | "jobs" | "retirement" | "deletions"> {
  return {
    extractions: new StoredExtractions(session, context),
    accounts: new StoredAccounts(session, context, access, expiry),
    projectModels: new StoredProjectModels(session, context),
    users: new StoredUsers(session, context),
    chats: new StoredChats(session, context),
    webhooks: new StoredWebhooks(session, context, deliveries),
    idempotency: new StoredAnswers(session, context),
  };
}
