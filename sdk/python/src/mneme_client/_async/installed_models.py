"""Models of a deployment: built-in ones, and those that an operator adds. All operations need the scope `admin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._shared import body_of
from ..core.api.models import (
    add_installed_model,
    calibrate_installed_model,
    cancel_model_calibration,
    delete_installed_model,
    get_installed_model,
    list_installed_models,
    retry_installed_model,
    set_project_reranker,
    test_installed_model,
)
from ..core.models.installed_model import InstalledModel
from ..core.models.installed_model_list import InstalledModelList
from ..core.models.list_installed_models_task import ListInstalledModelsTask
from ..core.models.model_test import ModelTest
from ..core.models.project import Project
from ..core.types import UNSET, Unset
from .lists import AsyncList
from .transport import AsyncTransport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from .._shared import CallOptions


class AsyncInstalledModels:
    """The operations on the models of a deployment."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def add(
        self,
        source: str | Unset = UNSET,
        *,
        remote: Mapping[str, Any] | Unset = UNSET,
        sha256: str | None | Unset = UNSET,
        id: str | None | Unset = UNSET,  # noqa: A002 name of the API
        **options: Unpack[CallOptions],
    ) -> InstalledModel:
        """Add a model: from files, which are fetched and checked in the background, or on another server (`remote`)."""
        body = body_of(source=source, remote=remote, sha256=sha256, id=id)
        request = add_installed_model.request()
        return await self._transport.call(request, InstalledModel.from_dict, options, body=body, repeatable="refused")

    def list(
        self,
        *,
        task: ListInstalledModelsTask | Unset = UNSET,
        limit: int | Unset = UNSET,
        **options: Unpack[CallOptions],
    ) -> AsyncList[InstalledModel]:
        """List models: built-in ones, then the others in the order in which they were added."""

        async def fetch(cursor: str | Unset) -> InstalledModelList:
            request = list_installed_models.request(task=task, limit=limit, cursor=cursor)
            return await self._transport.call(request, InstalledModelList.from_dict, options)

        return AsyncList(fetch)

    async def get(self, id: str, **options: Unpack[CallOptions]) -> InstalledModel:  # noqa: A002 name of the API
        """Read a model: whether it can be used, and the progress of its download."""
        return await self._transport.call(get_installed_model.request(id), InstalledModel.from_dict, options)

    async def delete(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Delete a model that was added, with its files. No project may use it."""
        await self._transport.remove(delete_installed_model.request(id), options)

    async def retry(self, id: str, **options: Unpack[CallOptions]) -> InstalledModel:  # noqa: A002 name of the API
        """Fetch and check the files of a model again whose installation has failed."""
        return await self._transport.call(retry_installed_model.request(id), InstalledModel.from_dict, options)

    async def test(self, id: str, **options: Unpack[CallOptions]) -> ModelTest:  # noqa: A002 name of the API
        """Run a model, and check whether its results are right."""
        return await self._transport.call(test_installed_model.request(id), ModelTest.from_dict, options)

    async def calibrate(
        self,
        id: str,  # noqa: A002 name of the API
        project_id: str | None = None,
        **options: Unpack[CallOptions],
    ) -> InstalledModel:
        """Fit weights and curves of a model that was added, in the background, so that its scores are probabilities.

        `project_id`: a project whose texts are used beside the judged samples.
        """
        body = {} if project_id is None else {"projectId": project_id}
        request = calibrate_installed_model.request(id)
        return await self._transport.call(request, InstalledModel.from_dict, options, body=body)

    async def cancel_calibration(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Cancel a calibration, or forget why it failed. Curves that were fitted before stay."""
        await self._transport.remove(cancel_model_calibration.request(id), options)

    async def set_reranker(self, project_id: str, model: str | None, **options: Unpack[CallOptions]) -> Project:
        """Choose the reranker of a project; None: the one that belongs to its embedding model."""
        request = set_project_reranker.request(project_id)
        return await self._transport.call(request, Project.from_dict, options, body={"model": model})
