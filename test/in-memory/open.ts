// Opens the in-memory stores for the contracts of the store ports.

import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import type { OpenStores } from "../contract/stores.ts";
import { openInMemoryStores } from "./stores.ts";

/** Opens empty in-memory stores. */
export const openInMemory: OpenStores = ({
  onEffectFailure = (error) => {
    throw error;
  },
  ...surroundings
}) => {
  const stores = openInMemoryStores({ newWebhookSecret, onEffectFailure, ...surroundings });
  return {
    ...stores,
    stored: (what) => {
      const { messages, answers } = stores.committed();
      switch (what) {
        case "messages":
          return messages.rows().length;
        case "sources":
          return messages.rows().reduce((sum, { sources }) => sum + sources.length, 0);
        case "answers":
          return answers.rows().length;
        case "subjects":
          return answers.rows().reduce((sum, { subjects }) => sum + subjects.length, 0);
      }
    },
  };
};
