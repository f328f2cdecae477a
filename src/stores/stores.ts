// The stores of record on one session, of any database.

import type { Stores } from "../ports/transactions.ts";
import { StoredChats } from "./chat-store.ts";
import type { StoreContext } from "./context.ts";
import type { Session } from "./session.ts";

/** The stores that run the same statements on all databases. */
export function sharedStoresOn(session: Session, context: StoreContext): Pick<Stores, "chats"> {
  return {
    chats: new StoredChats(session, context),
  };
}
