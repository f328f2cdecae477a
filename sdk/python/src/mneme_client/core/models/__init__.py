"""Contains all the data models used in inputs/outputs"""

from .activity import Activity
from .activity_point import ActivityPoint
from .activity_point_p50_ms import ActivityPointP50Ms
from .activity_point_p95_ms import ActivityPointP95Ms
from .activity_point_searches import ActivityPointSearches
from .activity_step import ActivityStep
from .actor import Actor
from .actor_kind import ActorKind
from .batch_result import BatchResult
from .batch_result_data_item_type_0 import BatchResultDataItemType0
from .batch_result_data_item_type_0_outcome import BatchResultDataItemType0Outcome
from .batch_result_data_item_type_1 import BatchResultDataItemType1
from .case import Case
from .case_expected import CaseExpected
from .case_list import CaseList
from .case_mode_type_0 import CaseModeType0
from .case_run import CaseRun
from .case_run_error import CaseRunError
from .case_run_list import CaseRunList
from .case_run_modes_type_0_item import CaseRunModesType0Item
from .case_run_results_item import CaseRunResultsItem
from .case_run_results_item_mode import CaseRunResultsItemMode
from .case_run_setup_type_0 import CaseRunSetupType0
from .case_run_setup_type_0_default_mode import CaseRunSetupType0DefaultMode
from .case_run_setup_type_0_superseding import CaseRunSetupType0Superseding
from .case_run_status import CaseRunStatus
from .chat import Chat
from .chat_completion import ChatCompletion
from .chat_completion_choices_item import ChatCompletionChoicesItem
from .chat_completion_choices_item_finish_reason import ChatCompletionChoicesItemFinishReason
from .chat_completion_choices_item_message import ChatCompletionChoicesItemMessage
from .chat_completion_choices_item_message_annotations_item import ChatCompletionChoicesItemMessageAnnotationsItem
from .chat_completion_choices_item_message_annotations_item_url_citation import (
    ChatCompletionChoicesItemMessageAnnotationsItemUrlCitation,
)
from .chat_completion_chunk import ChatCompletionChunk
from .chat_completion_chunk_choices_item import ChatCompletionChunkChoicesItem
from .chat_completion_chunk_choices_item_delta import ChatCompletionChunkChoicesItemDelta
from .chat_completion_chunk_choices_item_delta_annotations_item import (
    ChatCompletionChunkChoicesItemDeltaAnnotationsItem,
)
from .chat_completion_chunk_choices_item_delta_annotations_item_url_citation import (
    ChatCompletionChunkChoicesItemDeltaAnnotationsItemUrlCitation,
)
from .chat_completion_chunk_choices_item_finish_reason_type_0 import ChatCompletionChunkChoicesItemFinishReasonType0
from .chat_completion_chunk_mneme import ChatCompletionChunkMneme
from .chat_completion_chunk_mneme_answer_state import ChatCompletionChunkMnemeAnswerState
from .chat_completion_chunk_usage import ChatCompletionChunkUsage
from .chat_completion_event import ChatCompletionEvent
from .chat_completion_mneme import ChatCompletionMneme
from .chat_completion_mneme_answer_state import ChatCompletionMnemeAnswerState
from .chat_completion_usage import ChatCompletionUsage
from .chat_history import ChatHistory
from .chat_list import ChatList
from .count_memories_status import CountMemoriesStatus
from .current_key import CurrentKey
from .current_key_allowed_scopes_item import CurrentKeyAllowedScopesItem
from .current_key_project import CurrentKeyProject
from .current_key_project_plan import CurrentKeyProjectPlan
from .current_key_scopes_item import CurrentKeyScopesItem
from .delivery import Delivery
from .delivery_attempts_item import DeliveryAttemptsItem
from .delivery_event import DeliveryEvent
from .delivery_list import DeliveryList
from .delivery_status import DeliveryStatus
from .done_event import DoneEvent
from .done_event_data import DoneEventData
from .embedder import Embedder
from .embedder_list import EmbedderList
from .embeddings import Embeddings
from .embeddings_data_item import EmbeddingsDataItem
from .embeddings_usage import EmbeddingsUsage
from .entity import Entity
from .entity_kind import EntityKind
from .entity_list import EntityList
from .entity_path import EntityPath
from .entity_path_links_item import EntityPathLinksItem
from .entity_surroundings import EntitySurroundings
from .entity_surroundings_kind import EntitySurroundingsKind
from .entity_surroundings_neighbours_item import EntitySurroundingsNeighboursItem
from .entity_surroundings_neighbours_item_kind import EntitySurroundingsNeighboursItemKind
from .entity_surroundings_passages_item import EntitySurroundingsPassagesItem
from .error import Error
from .error_body import ErrorBody
from .error_body_code import ErrorBodyCode
from .error_body_items_item import ErrorBodyItemsItem
from .error_event import ErrorEvent
from .event import Event
from .event_data import EventData
from .event_list import EventList
from .get_activity_step import GetActivityStep
from .history_list import HistoryList
from .history_relation import HistoryRelation
from .history_relation_action import HistoryRelationAction
from .history_text import HistoryText
from .installed_model import InstalledModel
from .installed_model_calibration import InstalledModelCalibration
from .installed_model_calibration_job_type_0 import InstalledModelCalibrationJobType0
from .installed_model_calibration_job_type_0_state import InstalledModelCalibrationJobType0State
from .installed_model_kind import InstalledModelKind
from .installed_model_list import InstalledModelList
from .installed_model_progress_type_0 import InstalledModelProgressType0
from .installed_model_remote_type_0 import InstalledModelRemoteType0
from .installed_model_remote_type_0_api import InstalledModelRemoteType0Api
from .installed_model_status import InstalledModelStatus
from .installed_model_task import InstalledModelTask
from .job import Job
from .job_error import JobError
from .job_status import JobStatus
from .key import Key
from .key_list import KeyList
from .key_scopes_item import KeyScopesItem
from .key_with_secret import KeyWithSecret
from .key_with_secret_scopes_item import KeyWithSecretScopesItem
from .list_entities_kind import ListEntitiesKind
from .list_installed_models_task import ListInstalledModelsTask
from .list_memories_order import ListMemoriesOrder
from .list_memories_status import ListMemoriesStatus
from .listed_project import ListedProject
from .listed_project_default_mode import ListedProjectDefaultMode
from .listed_project_llm import ListedProjectLlm
from .listed_project_llm_fallbacks_item import ListedProjectLlmFallbacksItem
from .listed_project_llm_fallbacks_item_provider import ListedProjectLlmFallbacksItemProvider
from .listed_project_llm_provider import ListedProjectLlmProvider
from .listed_project_ocr import ListedProjectOcr
from .listed_project_plan import ListedProjectPlan
from .listed_project_smart_ingestion import ListedProjectSmartIngestion
from .listed_project_superseding import ListedProjectSuperseding
from .listed_project_vector_index import ListedProjectVectorIndex
from .llm_test import LlmTest
from .llm_test_fallbacks_item import LlmTestFallbacksItem
from .llm_test_fallbacks_item_provider import LlmTestFallbacksItemProvider
from .llm_test_provider import LlmTestProvider
from .map_point import MapPoint
from .matched_memories import MatchedMemories
from .memory import Memory
from .memory_count import MemoryCount
from .memory_extraction import MemoryExtraction
from .memory_failure import MemoryFailure
from .memory_failure_code import MemoryFailureCode
from .memory_graph import MemoryGraph
from .memory_graph_entities_item import MemoryGraphEntitiesItem
from .memory_graph_entities_item_kind import MemoryGraphEntitiesItemKind
from .memory_graph_neighbours_item import MemoryGraphNeighboursItem
from .memory_graph_relations_item import MemoryGraphRelationsItem
from .memory_graph_status import MemoryGraphStatus
from .memory_list import MemoryList
from .memory_map import MemoryMap
from .memory_map_state import MemoryMapState
from .memory_metadata import MemoryMetadata
from .memory_parts import MemoryParts
from .memory_progress import MemoryProgress
from .memory_source import MemorySource
from .memory_status import MemoryStatus
from .memory_without_content import MemoryWithoutContent
from .memory_without_content_error import MemoryWithoutContentError
from .memory_without_content_error_code import MemoryWithoutContentErrorCode
from .memory_without_content_extraction import MemoryWithoutContentExtraction
from .memory_without_content_metadata import MemoryWithoutContentMetadata
from .memory_without_content_progress import MemoryWithoutContentProgress
from .memory_without_content_source_type_0 import MemoryWithoutContentSourceType0
from .memory_without_content_status import MemoryWithoutContentStatus
from .message import Message
from .message_answer_state_type_0 import MessageAnswerStateType0
from .message_list import MessageList
from .message_response import MessageResponse
from .message_role import MessageRole
from .model import Model
from .model_list import ModelList
from .model_mneme import ModelMneme
from .model_mneme_task import ModelMnemeTask
from .model_test import ModelTest
from .model_test_checks_item import ModelTestChecksItem
from .open_ai_error import OpenAiError
from .open_ai_error_error import OpenAiErrorError
from .open_ai_error_error_code import OpenAiErrorErrorCode
from .open_ai_error_error_type import OpenAiErrorErrorType
from .profile import Profile
from .profile_entry import ProfileEntry
from .profile_person import ProfilePerson
from .project import Project
from .project_default_mode import ProjectDefaultMode
from .project_embedder import ProjectEmbedder
from .project_embedder_change import ProjectEmbedderChange
from .project_embedder_change_state import ProjectEmbedderChangeState
from .project_list import ProjectList
from .project_llm import ProjectLlm
from .project_llm_fallbacks_item import ProjectLlmFallbacksItem
from .project_llm_fallbacks_item_provider import ProjectLlmFallbacksItemProvider
from .project_llm_provider import ProjectLlmProvider
from .project_ocr import ProjectOcr
from .project_plan import ProjectPlan
from .project_smart_ingestion import ProjectSmartIngestion
from .project_superseding import ProjectSuperseding
from .project_vector_index import ProjectVectorIndex
from .project_with_key import ProjectWithKey
from .project_with_key_default_mode import ProjectWithKeyDefaultMode
from .project_with_key_llm import ProjectWithKeyLlm
from .project_with_key_llm_fallbacks_item import ProjectWithKeyLlmFallbacksItem
from .project_with_key_llm_fallbacks_item_provider import ProjectWithKeyLlmFallbacksItemProvider
from .project_with_key_llm_provider import ProjectWithKeyLlmProvider
from .project_with_key_ocr import ProjectWithKeyOcr
from .project_with_key_plan import ProjectWithKeyPlan
from .project_with_key_smart_ingestion import ProjectWithKeySmartIngestion
from .project_with_key_superseding import ProjectWithKeySuperseding
from .project_with_key_vector_index import ProjectWithKeyVectorIndex
from .query_result import QueryResult
from .query_result_answer_state import QueryResultAnswerState
from .query_result_usage import QueryResultUsage
from .relation import Relation
from .relation_by import RelationBy
from .relation_evidence_type_0 import RelationEvidenceType0
from .relation_evidence_type_0_other import RelationEvidenceType0Other
from .relation_evidence_type_0_own import RelationEvidenceType0Own
from .relation_list import RelationList
from .relation_state import RelationState
from .relation_type import RelationType
from .result_chunk import ResultChunk
from .result_chunk_standing import ResultChunkStanding
from .result_memory import ResultMemory
from .result_metadata import ResultMetadata
from .retried_memories import RetriedMemories
from .search_memories_by_url_mode import SearchMemoriesByUrlMode
from .search_result import SearchResult
from .search_result_answer_spans_item import SearchResultAnswerSpansItem
from .search_result_explain import SearchResultExplain
from .search_result_explain_signals import SearchResultExplainSignals
from .search_result_explain_signals_graph import SearchResultExplainSignalsGraph
from .search_result_explain_signals_neighbours import SearchResultExplainSignalsNeighbours
from .search_result_explain_signals_rerank import SearchResultExplainSignalsRerank
from .search_result_explain_signals_text import SearchResultExplainSignalsText
from .search_result_explain_signals_time import SearchResultExplainSignalsTime
from .search_result_explain_signals_vector import SearchResultExplainSignalsVector
from .search_results import SearchResults
from .search_results_explain import SearchResultsExplain
from .search_results_explain_calibration import SearchResultsExplainCalibration
from .search_results_explain_mode import SearchResultsExplainMode
from .search_results_explain_stages_item import SearchResultsExplainStagesItem
from .search_results_explain_time import SearchResultsExplainTime
from .sources_event import SourcesEvent
from .system import System
from .system_disk import SystemDisk
from .system_lanes_item import SystemLanesItem
from .system_last_hour import SystemLastHour
from .system_last_minute import SystemLastMinute
from .system_memory import SystemMemory
from .system_nodes_item import SystemNodesItem
from .system_nodes_item_state import SystemNodesItemState
from .system_queue import SystemQueue
from .system_stores_item import SystemStoresItem
from .system_threads_item import SystemThreadsItem
from .system_threads_item_state import SystemThreadsItemState
from .text_event import TextEvent
from .text_event_data import TextEventData
from .usage import Usage
from .usage_documents import UsageDocuments
from .usage_event import UsageEvent
from .usage_event_data import UsageEventData
from .usage_event_data_answer_state import UsageEventDataAnswerState
from .usage_period import UsagePeriod
from .usage_plan import UsagePlan
from .usage_queries import UsageQueries
from .usage_storage_bytes import UsageStorageBytes
from .usage_tokens import UsageTokens
from .user import User
from .user_list import UserList
from .user_metadata import UserMetadata
from .vector_index import VectorIndex
from .vector_index_active import VectorIndexActive
from .vector_index_build_type_0 import VectorIndexBuildType0
from .vector_index_build_type_0_state import VectorIndexBuildType0State
from .vector_index_setting import VectorIndexSetting
from .webhook import Webhook
from .webhook_events_item import WebhookEventsItem
from .webhook_list import WebhookList
from .webhook_with_secret import WebhookWithSecret
from .webhook_with_secret_events_item import WebhookWithSecretEventsItem

__all__ = (
    "Activity",
    "ActivityPoint",
    "ActivityPointP50Ms",
    "ActivityPointP95Ms",
    "ActivityPointSearches",
    "ActivityStep",
    "Actor",
    "ActorKind",
    "BatchResult",
    "BatchResultDataItemType0",
    "BatchResultDataItemType0Outcome",
    "BatchResultDataItemType1",
    "Case",
    "CaseExpected",
    "CaseList",
    "CaseModeType0",
    "CaseRun",
    "CaseRunError",
    "CaseRunList",
    "CaseRunModesType0Item",
    "CaseRunResultsItem",
    "CaseRunResultsItemMode",
    "CaseRunSetupType0",
    "CaseRunSetupType0DefaultMode",
    "CaseRunSetupType0Superseding",
    "CaseRunStatus",
    "Chat",
    "ChatCompletion",
    "ChatCompletionChoicesItem",
    "ChatCompletionChoicesItemFinishReason",
    "ChatCompletionChoicesItemMessage",
    "ChatCompletionChoicesItemMessageAnnotationsItem",
    "ChatCompletionChoicesItemMessageAnnotationsItemUrlCitation",
    "ChatCompletionChunk",
    "ChatCompletionChunkChoicesItem",
    "ChatCompletionChunkChoicesItemDelta",
    "ChatCompletionChunkChoicesItemDeltaAnnotationsItem",
    "ChatCompletionChunkChoicesItemDeltaAnnotationsItemUrlCitation",
    "ChatCompletionChunkChoicesItemFinishReasonType0",
    "ChatCompletionChunkMneme",
    "ChatCompletionChunkMnemeAnswerState",
    "ChatCompletionChunkUsage",
    "ChatCompletionEvent",
    "ChatCompletionMneme",
    "ChatCompletionMnemeAnswerState",
    "ChatCompletionUsage",
    "ChatHistory",
    "ChatList",
    "CountMemoriesStatus",
    "CurrentKey",
    "CurrentKeyAllowedScopesItem",
    "CurrentKeyProject",
    "CurrentKeyProjectPlan",
    "CurrentKeyScopesItem",
    "Delivery",
    "DeliveryAttemptsItem",
    "DeliveryEvent",
    "DeliveryList",
    "DeliveryStatus",
    "DoneEvent",
    "DoneEventData",
    "Embedder",
    "EmbedderList",
    "Embeddings",
    "EmbeddingsDataItem",
    "EmbeddingsUsage",
    "Entity",
    "EntityKind",
    "EntityList",
    "EntityPath",
    "EntityPathLinksItem",
    "EntitySurroundings",
    "EntitySurroundingsKind",
    "EntitySurroundingsNeighboursItem",
    "EntitySurroundingsNeighboursItemKind",
    "EntitySurroundingsPassagesItem",
    "Error",
    "ErrorBody",
    "ErrorBodyCode",
    "ErrorBodyItemsItem",
    "ErrorEvent",
    "Event",
    "EventData",
    "EventList",
    "GetActivityStep",
    "HistoryList",
    "HistoryRelation",
    "HistoryRelationAction",
    "HistoryText",
    "InstalledModel",
    "InstalledModelCalibration",
    "InstalledModelCalibrationJobType0",
    "InstalledModelCalibrationJobType0State",
    "InstalledModelKind",
    "InstalledModelList",
    "InstalledModelProgressType0",
    "InstalledModelRemoteType0",
    "InstalledModelRemoteType0Api",
    "InstalledModelStatus",
    "InstalledModelTask",
    "Job",
    "JobError",
    "JobStatus",
    "Key",
    "KeyList",
    "KeyScopesItem",
    "KeyWithSecret",
    "KeyWithSecretScopesItem",
    "ListedProject",
    "ListedProjectDefaultMode",
    "ListedProjectLlm",
    "ListedProjectLlmFallbacksItem",
    "ListedProjectLlmFallbacksItemProvider",
    "ListedProjectLlmProvider",
    "ListedProjectOcr",
    "ListedProjectPlan",
    "ListedProjectSmartIngestion",
    "ListedProjectSuperseding",
    "ListedProjectVectorIndex",
    "ListEntitiesKind",
    "ListInstalledModelsTask",
    "ListMemoriesOrder",
    "ListMemoriesStatus",
    "LlmTest",
    "LlmTestFallbacksItem",
    "LlmTestFallbacksItemProvider",
    "LlmTestProvider",
    "MapPoint",
    "MatchedMemories",
    "Memory",
    "MemoryCount",
    "MemoryExtraction",
    "MemoryFailure",
    "MemoryFailureCode",
    "MemoryGraph",
    "MemoryGraphEntitiesItem",
    "MemoryGraphEntitiesItemKind",
    "MemoryGraphNeighboursItem",
    "MemoryGraphRelationsItem",
    "MemoryGraphStatus",
    "MemoryList",
    "MemoryMap",
    "MemoryMapState",
    "MemoryMetadata",
    "MemoryParts",
    "MemoryProgress",
    "MemorySource",
    "MemoryStatus",
    "MemoryWithoutContent",
    "MemoryWithoutContentError",
    "MemoryWithoutContentErrorCode",
    "MemoryWithoutContentExtraction",
    "MemoryWithoutContentMetadata",
    "MemoryWithoutContentProgress",
    "MemoryWithoutContentSourceType0",
    "MemoryWithoutContentStatus",
    "Message",
    "MessageAnswerStateType0",
    "MessageList",
    "MessageResponse",
    "MessageRole",
    "Model",
    "ModelList",
    "ModelMneme",
    "ModelMnemeTask",
    "ModelTest",
    "ModelTestChecksItem",
    "OpenAiError",
    "OpenAiErrorError",
    "OpenAiErrorErrorCode",
    "OpenAiErrorErrorType",
    "Profile",
    "ProfileEntry",
    "ProfilePerson",
    "Project",
    "ProjectDefaultMode",
    "ProjectEmbedder",
    "ProjectEmbedderChange",
    "ProjectEmbedderChangeState",
    "ProjectList",
    "ProjectLlm",
    "ProjectLlmFallbacksItem",
    "ProjectLlmFallbacksItemProvider",
    "ProjectLlmProvider",
    "ProjectOcr",
    "ProjectPlan",
    "ProjectSmartIngestion",
    "ProjectSuperseding",
    "ProjectVectorIndex",
    "ProjectWithKey",
    "ProjectWithKeyDefaultMode",
    "ProjectWithKeyLlm",
    "ProjectWithKeyLlmFallbacksItem",
    "ProjectWithKeyLlmFallbacksItemProvider",
    "ProjectWithKeyLlmProvider",
    "ProjectWithKeyOcr",
    "ProjectWithKeyPlan",
    "ProjectWithKeySmartIngestion",
    "ProjectWithKeySuperseding",
    "ProjectWithKeyVectorIndex",
    "QueryResult",
    "QueryResultAnswerState",
    "QueryResultUsage",
    "Relation",
    "RelationBy",
    "RelationEvidenceType0",
    "RelationEvidenceType0Other",
    "RelationEvidenceType0Own",
    "RelationList",
    "RelationState",
    "RelationType",
    "ResultChunk",
    "ResultChunkStanding",
    "ResultMemory",
    "ResultMetadata",
    "RetriedMemories",
    "SearchMemoriesByUrlMode",
    "SearchResult",
    "SearchResultAnswerSpansItem",
    "SearchResultExplain",
    "SearchResultExplainSignals",
    "SearchResultExplainSignalsGraph",
    "SearchResultExplainSignalsNeighbours",
    "SearchResultExplainSignalsRerank",
    "SearchResultExplainSignalsText",
    "SearchResultExplainSignalsTime",
    "SearchResultExplainSignalsVector",
    "SearchResults",
    "SearchResultsExplain",
    "SearchResultsExplainCalibration",
    "SearchResultsExplainMode",
    "SearchResultsExplainStagesItem",
    "SearchResultsExplainTime",
    "SourcesEvent",
    "System",
    "SystemDisk",
    "SystemLanesItem",
    "SystemLastHour",
    "SystemLastMinute",
    "SystemMemory",
    "SystemNodesItem",
    "SystemNodesItemState",
    "SystemQueue",
    "SystemStoresItem",
    "SystemThreadsItem",
    "SystemThreadsItemState",
    "TextEvent",
    "TextEventData",
    "Usage",
    "UsageDocuments",
    "UsageEvent",
    "UsageEventData",
    "UsageEventDataAnswerState",
    "UsagePeriod",
    "UsagePlan",
    "UsageQueries",
    "UsageStorageBytes",
    "UsageTokens",
    "User",
    "UserList",
    "UserMetadata",
    "VectorIndex",
    "VectorIndexActive",
    "VectorIndexBuildType0",
    "VectorIndexBuildType0State",
    "VectorIndexSetting",
    "Webhook",
    "WebhookEventsItem",
    "WebhookList",
    "WebhookWithSecret",
    "WebhookWithSecretEventsItem",
)
