// Opens the in-memory stores for the contracts of the store ports.

import { newWebhookSecret } from "../../src/webhooks/signature.ts";
import type { OpenShared } from "../contract/shared-index.ts";
import type { OpenStores } from "../contract/stores.ts";
import { InMemorySharedIndex } from "./shared-index.ts";
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

/** Opens empty in-memory stores with what several nodes share of their indexes. */
export const openInMemoryShared: OpenShared = (clock) => {
  const stores = openInMemoryStores({
    ...{ clock, newWebhookSecret },
    onEffectFailure: (error) => {
      throw error;
    },
    onCommit: (tables) => shared.observe(tables),
  });
  const shared = new InMemorySharedIndex(() => stores.committed(), clock);
  return {
    ...stores,
    ...{ shared, texts: shared.texts },
    age: (projectId, sequence, ms) => shared.age(projectId, sequence, ms),
    size: () => shared.size,
  };
};
