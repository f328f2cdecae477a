"""Made by sdk/generate.ts from the asynchronous half. Projects: the key's own, and for keys with the scope `admin` all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._shared import Json, Moment, body_of, moment_of
from ..core.api.projects import (
    cancel_project_embedder,
    change_project_embedder,
    create_project,
    delete_project,
    forget_previous_embedder,
    get_activity,
    get_own_project,
    get_project,
    get_project_embedder,
    get_vector_index,
    list_projects,
    test_language_model,
    update_own_project,
    update_project,
)
from ..core.models.activity import Activity
from ..core.models.get_activity_step import GetActivityStep
from ..core.models.listed_project import ListedProject
from ..core.models.llm_test import LlmTest
from ..core.models.project import Project
from ..core.models.project_embedder import ProjectEmbedder
from ..core.models.project_list import ProjectList
from ..core.models.project_with_key import ProjectWithKey
from ..core.models.vector_index import VectorIndex
from ..core.types import UNSET, Unset
from .lists import List
from .transport import Transport

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    from .._shared import CallOptions, WriteOptions

    class ProjectFields(TypedDict, total=False):
        """Settings of a project; None resets a setting."""

        plan: str
        llm: Json | None
        smart_ingestion: Json
        retention_days: int
        min_evidence: float | None
        default_mode: str | None
        time_zone: str | None
        keep_files: bool | None
        vector_index: str | None

    class ProjectChange(ProjectFields, CallOptions, total=False):
        """A change of a project, with the options of the call."""

        name: str

    class NewProject(ProjectFields, WriteOptions, total=False):
        """A new project, with the options of the call."""


_FIELDS = (
    *("name", "plan", "llm", "smart_ingestion", "retention_days", "min_evidence", "default_mode"),
    *("time_zone", "keep_files", "vector_index"),
)


class OwnProject:
    """The project of the key."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, **options: Unpack[CallOptions]) -> Project:
        """Read the project."""
        return self._transport.call(get_own_project.request(), Project.from_dict, options)

    def update(self, **change: Unpack[ProjectChange]) -> Project:
        """Change the settings of the project; None resets one."""
        fields, options = _split(change)
        return self._transport.call(update_own_project.request(), Project.from_dict, options, body=fields)

    def activity(
        self,
        *,
        step: GetActivityStep | Unset = UNSET,
        from_: Moment | Unset = UNSET,
        to: Moment | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> Activity:
        """What happened in the project, by hour or day; by default the last 24 hours."""
        request = get_activity.request(step=step, from_=moment_of(from_), to=moment_of(to))
        return self._transport.call(request, Activity.from_dict, options)

    def test_llm(self, llm: Json | Unset = UNSET, **options: Unpack[CallOptions]) -> LlmTest:
        """Call the language model of the project and its fallbacks; with `llm`, settings that are not stored yet."""
        return self._transport.call(
            test_language_model.request(), LlmTest.from_dict, options, body=body_of(llm=llm), repeatable="refused"
        )

    def embedder(self, **options: Unpack[CallOptions]) -> ProjectEmbedder:
        """The embedding model of the project, and the state of its last change."""
        return self._transport.call(get_project_embedder.request(), ProjectEmbedder.from_dict, options)

    def vector_index(self, **options: Unpack[CallOptions]) -> VectorIndex:
        """How the vectors of the project are searched, and the progress of the graph that is being built."""
        return self._transport.call(get_vector_index.request(), VectorIndex.from_dict, options)


class Projects:
    """The operations on all projects; they need the scope `admin`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, name: str, **settings: Unpack[NewProject]) -> ProjectWithKey:
        """Create a project with its first key. Only this answer contains the key's secret."""
        fields, options = _split(settings)
        return self._transport.call(
            create_project.request(),
            ProjectWithKey.from_dict,
            options,
            body={"name": name, **fields},
            repeatable="keyed",
        )

    def list(self, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> List[ListedProject]:
        """List projects, newest first."""

        def fetch(cursor: str | Unset) -> ProjectList:
            request = list_projects.request(limit=limit, cursor=cursor)
            return self._transport.call(request, ProjectList.from_dict, options)

        return List(fetch)

    def get(self, id: str, **options: Unpack[CallOptions]) -> Project:  # noqa: A002 name of the API
        """Read a project."""
        return self._transport.call(get_project.request(id), Project.from_dict, options)

    def update(self, id: str, **change: Unpack[ProjectChange]) -> Project:  # noqa: A002 name of the API
        """Change the settings of a project; None resets one."""
        fields, options = _split(change)
        return self._transport.call(update_project.request(id), Project.from_dict, options, body=fields)

    def delete(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Delete a project with its keys and data."""
        self._transport.remove(delete_project.request(id), options)

    def embedder(self, id: str, **options: Unpack[CallOptions]) -> ProjectEmbedder:  # noqa: A002
        """The embedding model of a project, and the state of its last change."""
        request = get_project_embedder.request(project_id=id)
        return self._transport.call(request, ProjectEmbedder.from_dict, options)

    def vector_index(self, id: str, **options: Unpack[CallOptions]) -> VectorIndex:  # noqa: A002
        """How the vectors of a project are searched, and the progress of the graph that is being built."""
        request = get_vector_index.request(project_id=id)
        return self._transport.call(request, VectorIndex.from_dict, options)

    def change_embedder(self, id: str, model: str, **options: Unpack[CallOptions]) -> ProjectEmbedder:  # noqa: A002
        """Begin to change the embedding model. Searches use the old one until the new vectors are complete."""
        return self._transport.call(
            change_project_embedder.request(id),
            ProjectEmbedder.from_dict,
            options,
            body=body_of(model=model),
            repeatable="refused",
        )

    def cancel_embedder(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002
        """Cancel the change of the embedding model."""
        self._transport.remove(cancel_project_embedder.request(id), options)

    def forget_previous_embedder(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002
        """Remove the vectors of the previous embedding model, which are kept for a rollback."""
        self._transport.remove(forget_previous_embedder.request(id), options)


def _split(given: Json) -> tuple[Json, WriteOptions]:
    """The fields of a project, and the options of the call."""
    fields = {name: value for name, value in given.items() if name in _FIELDS}
    options = {name: value for name, value in given.items() if name not in _FIELDS}
    return fields, options  # type: ignore[return-value]
