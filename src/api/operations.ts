// The one list of operations. Routes, rate limits, the OpenAPI document, the reference and docs/api.md all derive from
// it.

import type { ActivityService } from "../services/activity.ts";
import type { AnswerService } from "../services/answers.ts";
import type { CaseService } from "../services/cases.ts";
import type { ChatService } from "../services/chats.ts";
import type { DeletionService } from "../services/deletions.ts";
import type { EmbeddingService } from "../services/embeddings.ts";
import type { EntityService } from "../services/entities.ts";
import type { GraphService } from "../services/graph.ts";
import type { InstalledModelService } from "../services/installed-models.ts";
import type { KeyService } from "../services/keys.ts";
import type { LanguageModelService } from "../services/language-models.ts";
import type { MapService } from "../services/memory-map.ts";
import type { ProfileService } from "../services/profile.ts";
import type { ProjectModelService } from "../services/project-models.ts";
import type { ProjectService } from "../services/projects.ts";
import type { SearchService } from "../services/search.ts";
import type { SystemService } from "../services/system.ts";
import type { UserService } from "../services/users.ts";
import type { WebhookService } from "../services/webhooks.ts";
import { activityOperation } from "./activity.ts";
import { caseOperations } from "./cases.ts";
import { chatOperations } from "./chats.ts";
import { deletionOperations } from "./deletions.ts";
import { embedderOperations } from "./embedders.ts";
import { entityOperations } from "./graph.ts";
import { historyOperations } from "./history.ts";
import { installedModelOperations } from "./installed-models.ts";
import { keyOperations } from "./keys.ts";
import { languageModelOperation } from "./language-models.ts";
import { memoryOperations } from "./memories.ts";
import { fileOperation } from "./memory-file.ts";
import { graphOperation } from "./memory-graph.ts";
import { mapOperation } from "./memory-map.ts";
import { type UploadDependencies, uploadOperation } from "./memory-upload.ts";
import { type UrlDependencies, urlOperations } from "./memory-url.ts";
import { openAiOperations } from "./openai/operations.ts";
import type { Operation } from "./operation.ts";
import { profileOperation } from "./profile.ts";
import { projectOperations } from "./projects.ts";
import { relationOperations } from "./relations.ts";
import { queryOperation, searchOperations } from "./search.ts";
import { systemOperation } from "./system.ts";
import { userOperations } from "./users.ts";
import { webhookOperations } from "./webhooks.ts";

/** The services that the operations call. */
export interface OperationDependencies extends UploadDependencies, UrlDependencies {
  readonly deletions: DeletionService;
  readonly maps: MapService;
  readonly graph: GraphService;
  readonly entities: EntityService;
  readonly search: SearchService;
  readonly answers: AnswerService;
  readonly chats: ChatService;
  readonly embeddings: EmbeddingService;
  readonly users: UserService;
  readonly profiles: ProfileService;
  readonly keys: KeyService;
  readonly projects: ProjectService;
  readonly languageModels: LanguageModelService;
  readonly projectModels: ProjectModelService;
  readonly installedModels: InstalledModelService;
  readonly activity: ActivityService;
  readonly cases: CaseService;
  readonly system: SystemService;
  readonly webhooks: WebhookService;
}

/** Declares every operation, in the order of the reference. */
export function allOperations(uses: OperationDependencies): readonly Operation[] {
  return [
    ...memoryOperations(uses),
    ...deletionOperations(uses.deletions),
    ...relationOperations(uses.relations),
    ...historyOperations(uses.history),
    mapOperation(uses.maps),
    graphOperation(uses),
    ...entityOperations(uses.entities),
    uploadOperation(uses),
    fileOperation(uses),
    ...urlOperations(uses),
    ...searchOperations(uses),
    queryOperation(uses.answers),
    ...chatOperations(uses.chats),
    ...openAiOperations(uses),
    ...userOperations(uses.users),
    profileOperation(uses.profiles),
    ...keyOperations(uses.keys, uses.clock),
    ...projectOperations(uses.projects),
    languageModelOperation(uses.languageModels),
    activityOperation(uses.activity),
    ...embedderOperations(uses.projectModels),
    ...caseOperations(uses.cases),
    systemOperation(uses.system),
    ...installedModelOperations(uses.installedModels, uses.projects),
    ...webhookOperations(uses.webhooks),
  ];
}
