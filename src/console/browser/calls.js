// The API operations that the console calls, and the types of their answers. api.js sends the requests.

/**
 * Method and path of every call, by the operation's name.
 * @satisfies {Record<keyof Answers, string>}
 */
export const CALLS = {
  getUsage: "GET /v1/usage",
  createMemory: "POST /v1/memories",
  listMemories: "GET /v1/memories",
  getMemory: "GET /v1/memories/:id",
  getMemoryGraph: "GET /v1/memories/:id/graph",
  updateMemory: "PUT /v1/memories/:id",
  retryMemory: "POST /v1/memories/:id/retry",
  deleteMemory: "DELETE /v1/memories/:id",
  searchMemories: "POST /v1/memories/search",
  queryMemories: "POST /v1/memories/query",
  upsertUser: "POST /v1/users",
  listUsers: "GET /v1/users",
  deleteUser: "DELETE /v1/users/:userId",
  listEvents: "GET /v1/users/:userId/events",
  createKey: "POST /v1/keys",
  listKeys: "GET /v1/keys",
  rotateKey: "POST /v1/keys/:id/rotate",
  deleteKey: "DELETE /v1/keys/:id",
  createWebhook: "POST /v1/webhooks",
  listWebhooks: "GET /v1/webhooks",
  updateWebhook: "PUT /v1/webhooks/:id",
  deleteWebhook: "DELETE /v1/webhooks/:id",
  testWebhook: "POST /v1/webhooks/:id/test",
  rotateWebhookSecret: "POST /v1/webhooks/:id/rotate-secret",
  listDeliveries: "GET /v1/webhooks/:id/deliveries",
  redeliver: "POST /v1/webhooks/:id/deliveries/:deliveryId/redeliver",
  createProject: "POST /v1/projects",
  listProjects: "GET /v1/projects",
  updateProject: "PUT /v1/projects/:id",
  deleteProject: "DELETE /v1/projects/:id",
  getProjectEmbedder: "GET /v1/project/embedder",
};

/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/memories.ts").Memory>} Memory */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/memory-graph.ts").MemoryGraph>}
 *   MemoryGraph
 */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/memories.ts").SearchResult>}
 *   SearchResult
 */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/memories.ts").SearchResults>}
 *   SearchResults
 */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/users.ts").User>} User */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/users.ts").Event>} UserEvent */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/platform.ts").Key>} Key */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/platform.ts").KeyWithSecret>}
 *   KeyWithSecret
 */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/platform.ts").Project>} Project */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/platform.ts").ProjectEmbedder>}
 *   ProjectEmbedder
 */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/platform.ts").ProjectWithKey>}
 *   ProjectWithKey
 */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/platform.ts").Usage>} Usage */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/webhooks.ts").Webhook>} Webhook */
/**
 * @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/webhooks.ts").WebhookWithSecret>}
 *   WebhookWithSecret
 */
/** @typedef {import("@sinclair/typebox").Static<typeof import("../../api/schema/webhooks.ts").Delivery>} Delivery */

/**
 * One page of a list.
 * @template Item
 * @typedef {{ data: Item[], has_more: boolean, cursor: string | null }} Listed
 */

/**
 * Type of each answer; null if it has no body. `stream` in api.js reads streamed answers.
 * @typedef {{
 *   getUsage: Usage,
 *   createMemory: Memory,
 *   listMemories: Listed<Memory>,
 *   getMemory: Memory,
 *   getMemoryGraph: MemoryGraph,
 *   updateMemory: Memory,
 *   retryMemory: Memory,
 *   deleteMemory: null,
 *   searchMemories: SearchResults,
 *   queryMemories: null,
 *   upsertUser: User,
 *   listUsers: Listed<User>,
 *   deleteUser: null,
 *   listEvents: Listed<UserEvent>,
 *   createKey: KeyWithSecret,
 *   listKeys: Listed<Key>,
 *   rotateKey: KeyWithSecret,
 *   deleteKey: null,
 *   createWebhook: WebhookWithSecret,
 *   listWebhooks: Listed<Webhook>,
 *   updateWebhook: Webhook,
 *   deleteWebhook: null,
 *   testWebhook: Delivery,
 *   rotateWebhookSecret: WebhookWithSecret,
 *   listDeliveries: Listed<Delivery>,
 *   redeliver: Delivery,
 *   createProject: ProjectWithKey,
 *   listProjects: Listed<Project>,
 *   updateProject: Project,
 *   deleteProject: null,
 *   getProjectEmbedder: ProjectEmbedder,
 * }} Answers
 */
