// The API operations that the console calls, and the types of their answers. api.ts sends the requests.

import type { Static } from "@sinclair/typebox";
import type * as Activities from "../../../api/schema/activity.ts";
import type * as CaseSchemas from "../../../api/schema/cases.ts";
import type * as Chats from "../../../api/schema/chats.ts";
import type * as EntityGraphs from "../../../api/schema/graph.ts";
import type * as Histories from "../../../api/schema/history.ts";
import type * as InstalledModels from "../../../api/schema/installed-models.ts";
import type * as Memories from "../../../api/schema/memories.ts";
import type * as Graphs from "../../../api/schema/memory-graph.ts";
import type * as Maps from "../../../api/schema/memory-map.ts";
import type * as Platform from "../../../api/schema/platform.ts";
import type * as Profiles from "../../../api/schema/profile.ts";
import type * as Relations from "../../../api/schema/relations.ts";
import type * as Systems from "../../../api/schema/system.ts";
import type * as Users from "../../../api/schema/users.ts";
import type * as Webhooks from "../../../api/schema/webhooks.ts";

/** A stored memory. */
export type Memory = Static<typeof Memories.Memory>;
/** A passage that a search found. */
export type SearchResult = Static<typeof Memories.SearchResult>;
/** The answer of a search. */
export type SearchResults = Static<typeof Memories.SearchResults>;
/** The explanation of a search: its stages, and the time that it understood. */
export type Explanation = NonNullable<SearchResults["explain"]>;
/** Entities and neighbours of a memory. */
export type MemoryGraph = Static<typeof Graphs.MemoryGraph>;
/** An entity that memories mention. */
export type Entity = Static<typeof EntityGraphs.Entity>;
/** An entity with its neighbours and passages. */
export type EntitySurroundings = Static<typeof EntityGraphs.EntitySurroundings>;
/** A path between two entities. */
export type EntityPath = Static<typeof EntityGraphs.EntityPath>;
/** A relation of two memories, seen from one of them. */
export type Relation = Static<typeof Relations.Relation>;
/** An entry of a memory's history. */
export type HistoryEntry = Static<typeof Histories.HistoryEntry>;
/** A chat without its messages. */
export type Chat = Static<typeof Chats.Chat>;
/** A chat with its messages. */
export type ChatHistory = Static<typeof Chats.ChatHistory>;
/** Result of a test of the language model. */
export type LlmTest = Static<typeof Platform.LlmTest>;
/** A user of the application. */
export type User = Static<typeof Users.User>;
/** An event that an application logged for a user. */
export type UserEvent = Static<typeof Users.Event>;
/** The profile of a user: what their memories say about them. */
export type Profile = Static<typeof Profiles.Profile>;
/** A key without its secret. */
export type Key = Static<typeof Platform.Key>;
/** The key that sent the request, and what it may do. */
export type CurrentKey = Static<typeof Platform.CurrentKey>;
/** A new key with its secret, which no later response contains. */
export type KeyWithSecret = Static<typeof Platform.KeyWithSecret>;
/** A project. */
export type Project = Static<typeof Platform.Project>;
/** A project with its use. */
export type ListedProject = Static<typeof Platform.ListedProject>;
/** A project with its first key. */
export type ProjectWithKey = Static<typeof Platform.ProjectWithKey>;
/** The embedding model of a project. */
export type ProjectEmbedder = Static<typeof Platform.ProjectEmbedder>;
/** How the vectors of a project are searched. */
export type VectorIndex = Static<typeof Platform.VectorIndex>;
/** A model that the server has: built in, added as files, or of another server. */
export type InstalledModel = Static<typeof InstalledModels.InstalledModel>;
/** Result of a test of a model. */
export type ModelTest = Static<typeof InstalledModels.ModelTest>;
/** What a project uses of its quotas. */
export type Usage = Static<typeof Platform.Usage>;
/** A webhook without its secret. */
export type Webhook = Static<typeof Webhooks.Webhook>;
/** A new webhook with its secret, which no later response contains. */
export type WebhookWithSecret = Static<typeof Webhooks.WebhookWithSecret>;
/** An event that was sent to a webhook. */
export type Delivery = Static<typeof Webhooks.Delivery>;

/** Counts and search times of a project, by hour or by day. */
export type Activity = Static<typeof Activities.Activity>;

/** A test case: a question and the memories that a search should find. */
export type Case = Static<typeof CaseSchemas.Case>;
/** A run that searches for all cases and measures the results. */
export type CaseRun = Static<typeof CaseSchemas.CaseRun>;
/** The figures of one search mode in a run. */
export type CaseResult = Static<typeof CaseSchemas.CaseResult>;
/** The state of the server. */
export type System = Static<typeof Systems.System>;
/** The map: places of memories on a plane, where memories of similar meaning lie close together. */
export type MemoryMap = Static<typeof Maps.MemoryMap>;
/** A memory on the map. */
export type MapPoint = Static<typeof Maps.MapPoint>;

/** One page of a list. */
export interface Listed<Item> {
  readonly data: Item[];
  readonly has_more: boolean;
  readonly cursor: string | null;
}

/** Type of the JSON body of each response, by the operation's name; null for no body, a file or a stream. */
export interface Answers {
  getUsage: Usage;
  listEntities: Listed<Entity>;
  getEntity: EntitySurroundings;
  findPath: EntityPath;
  updateEntity: Entity;
  getActivity: Activity;
  countMemories: { count: number };
  retryMemories: { retried: number };
  createCase: Case;
  listCases: Listed<Case>;
  deleteCase: null;
  runCases: CaseRun;
  listCaseRuns: Listed<CaseRun>;
  getCaseRun: CaseRun;
  getSystem: System;
  getMemoryMap: MemoryMap;
  getMemoryFile: null;
  createMemory: Memory;
  uploadMemory: Memory;
  createMemoryFromUrl: Memory;
  listMemories: Listed<Memory>;
  getMemory: Memory;
  getMemoryGraph: MemoryGraph;
  getMemoryHistory: Listed<HistoryEntry>;
  setRelation: { data: Relation[] };
  forgetRelation: null;
  updateMemory: Memory;
  retryMemory: Memory;
  deleteMemory: null;
  searchMemories: SearchResults;
  queryMemories: null;
  createChat: Chat;
  listChats: Listed<Chat>;
  getChatHistory: ChatHistory;
  updateChat: Chat;
  deleteChat: null;
  streamMessage: null;
  upsertUser: User;
  listUsers: Listed<User>;
  getUser: User;
  getProfile: Profile;
  deleteUser: null;
  listEvents: Listed<UserEvent>;
  createKey: KeyWithSecret;
  listKeys: Listed<Key>;
  getCurrentKey: CurrentKey;
  rotateKey: KeyWithSecret;
  deleteKey: null;
  createWebhook: WebhookWithSecret;
  listWebhooks: Listed<Webhook>;
  updateWebhook: Webhook;
  deleteWebhook: null;
  testWebhook: Delivery;
  rotateWebhookSecret: WebhookWithSecret;
  listDeliveries: Listed<Delivery>;
  redeliver: Delivery;
  createProject: ProjectWithKey;
  listProjects: Listed<ListedProject>;
  getOwnProject: Project;
  updateOwnProject: Project;
  testLanguageModel: LlmTest;
  updateProject: Project;
  deleteProject: null;
  getProjectEmbedder: ProjectEmbedder;
  changeProjectEmbedder: ProjectEmbedder;
  cancelProjectEmbedder: null;
  forgetPreviousEmbedder: null;
  setProjectReranker: Project;
  getVectorIndex: VectorIndex;
  listInstalledModels: Listed<InstalledModel>;
  addInstalledModel: InstalledModel;
  deleteInstalledModel: null;
  retryInstalledModel: InstalledModel;
  testInstalledModel: ModelTest;
  calibrateInstalledModel: InstalledModel;
  cancelModelCalibration: null;
}

/** Method and path of every call, by the operation's name. */
export const CALLS = {
  getUsage: "GET /v1/usage",
  listEntities: "GET /v1/graph/entities",
  getEntity: "GET /v1/graph/entities/:id",
  findPath: "GET /v1/graph/path",
  updateEntity: "PUT /v1/graph/entities/:id",
  getActivity: "GET /v1/project/activity",
  countMemories: "GET /v1/memories/count",
  retryMemories: "POST /v1/memories/retry",
  createCase: "POST /v1/cases",
  listCases: "GET /v1/cases",
  deleteCase: "DELETE /v1/cases/:id",
  runCases: "POST /v1/cases/runs",
  listCaseRuns: "GET /v1/cases/runs",
  getCaseRun: "GET /v1/cases/runs/:id",
  getSystem: "GET /v1/system",
  getMemoryMap: "GET /v1/memories/map",
  getMemoryFile: "GET /v1/memories/:id/file",
  createMemory: "POST /v1/memories",
  uploadMemory: "POST /v1/memories/upload",
  createMemoryFromUrl: "POST /v1/memories/url",
  listMemories: "GET /v1/memories",
  getMemory: "GET /v1/memories/:id",
  getMemoryGraph: "GET /v1/memories/:id/graph",
  getMemoryHistory: "GET /v1/memories/:id/history",
  setRelation: "PUT /v1/memories/:id/relations",
  forgetRelation: "DELETE /v1/memories/:id/relations",
  updateMemory: "PUT /v1/memories/:id",
  retryMemory: "POST /v1/memories/:id/retry",
  deleteMemory: "DELETE /v1/memories/:id",
  searchMemories: "POST /v1/memories/search",
  queryMemories: "POST /v1/memories/query",
  createChat: "POST /v1/chats",
  listChats: "GET /v1/chats",
  getChatHistory: "GET /v1/chats/:id",
  updateChat: "PUT /v1/chats/:id",
  deleteChat: "DELETE /v1/chats/:id",
  streamMessage: "POST /v1/chats/:id/messages/stream",
  upsertUser: "POST /v1/users",
  listUsers: "GET /v1/users",
  getUser: "GET /v1/users/:userId",
  getProfile: "GET /v1/users/:userId/profile",
  deleteUser: "DELETE /v1/users/:userId",
  listEvents: "GET /v1/users/:userId/events",
  createKey: "POST /v1/keys",
  listKeys: "GET /v1/keys",
  getCurrentKey: "GET /v1/keys/current",
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
  getOwnProject: "GET /v1/project",
  updateOwnProject: "PUT /v1/project",
  testLanguageModel: "POST /v1/project/llm/test",
  updateProject: "PUT /v1/projects/:id",
  deleteProject: "DELETE /v1/projects/:id",
  getProjectEmbedder: "GET /v1/project/embedder",
  changeProjectEmbedder: "PUT /v1/projects/:id/embedder",
  cancelProjectEmbedder: "DELETE /v1/projects/:id/embedder",
  forgetPreviousEmbedder: "DELETE /v1/projects/:id/embedder/previous",
  setProjectReranker: "PUT /v1/projects/:id/reranker",
  getVectorIndex: "GET /v1/project/vector-index",
  listInstalledModels: "GET /v1/installed-models",
  addInstalledModel: "POST /v1/installed-models",
  deleteInstalledModel: "DELETE /v1/installed-models/:id",
  retryInstalledModel: "POST /v1/installed-models/:id/retry",
  testInstalledModel: "POST /v1/installed-models/:id/test",
  calibrateInstalledModel: "POST /v1/installed-models/:id/calibrate",
  cancelModelCalibration: "DELETE /v1/installed-models/:id/calibrate",
} satisfies Record<keyof Answers, string>;
