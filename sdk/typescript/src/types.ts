// Names for the bodies and parameters that methods take. Answers have the names of the API's schemas.

import type * as core from "./core/index.ts";

/** A memory to store. */
export type NewMemory = core.CreateMemoryData["body"];
/** Everything of a new memory but its text. */
export type MemoryAttributes = Omit<NewMemory, "content">;
/** The attributes of a memory whose text is in a file, and whether text in pictures is read. */
export type FileAttributes = Omit<core.CreateMemoryFromUrlData["body"], "url">;
/** A change of a memory; null clears a field. */
export type MemoryChange = core.UpdateMemoryData["body"];
/** Which memories a list has. */
export type MemoryListParams = Omit<NonNullable<core.ListMemoriesData["query"]>, "cursor">;
/** Which memories to count. */
export type MemoryCountParams = Omit<NonNullable<core.CountMemoriesData["query"]>, "filters"> & {
  readonly filters?: core.SearchMemoriesData["body"]["filters"];
};
/** Which memories a map has. */
export type MemoryMapParams = Omit<NonNullable<core.GetMemoryMapData["query"]>, "filters"> & {
  readonly filters?: core.SearchMemoriesData["body"]["filters"];
};
/** Which memories to delete: those that meet all conditions. At least one is needed. */
export type DeletionConditions = Omit<core.DeleteMemoriesData["body"], "dryRun" | "matched">;
/** How to search. */
export type SearchParams = Omit<core.SearchMemoriesData["body"], "query">;
/** How to answer a question. */
export type QueryParams = Omit<core.QueryMemoriesData["body"], "query" | "stream">;
/** How to answer a message. */
export type MessageParams = Omit<core.SendMessageData["body"], "message">;
/** A chat to create. */
export type NewChat = NonNullable<core.CreateChatData["body"]>;
/** A user, an agent and a session. One that is left out limits nothing. */
export type MemoryScope = Omit<NewChat, "title">;
/** Which chats a list has. */
export type ChatListParams = Omit<NonNullable<core.ListChatsData["query"]>, "cursor">;
/** Which entities a list has. */
export type EntityListParams = Omit<NonNullable<core.ListEntitiesData["query"]>, "cursor">;
/** Whose memories are read for an entity, and how many neighbours at most. */
export type EntityParams = NonNullable<core.GetEntityData["query"]>;
/** A change of an entity: its name, or the entity that it is merged into; null undoes it. */
export type EntityChange = core.UpdateEntityData["body"];
/** A user to create or change; null clears a field. */
export type UserChange = Omit<core.UpsertUserData["body"], "id">;
/** A key to create. */
export type NewKey = core.CreateKeyData["body"];
/** A change of a key; null removes the expiry. */
export type KeyChange = core.UpdateKeyData["body"];
/** A model to add to a deployment. */
export type NewInstalledModel = core.AddInstalledModelData["body"];
/** A project to create. */
export type NewProject = core.CreateProjectData["body"];
/** A change of a project; null resets a field. */
export type ProjectChange = core.UpdateProjectData["body"];
/** Steps and range of an activity. */
export type ActivityParams = NonNullable<core.GetActivityData["query"]>;
/** A case to store: a question with what a search should find. */
export type NewCase = core.CreateCaseData["body"];
/** A mode of searches. */
export type Mode = NonNullable<NewCase["mode"]>;
/** A webhook to create. */
export type NewWebhook = core.CreateWebhookData["body"];
/** A change of a webhook. */
export type WebhookChange = core.UpdateWebhookData["body"];
/** A chat completion to create, without `stream`, which the method decides. */
export type NewCompletion = Omit<core.CreateChatCompletionData["body"], "stream">;
/** Texts to embed. */
export type NewEmbeddings = core.CreateEmbeddingsData["body"];
