"""Cases: questions with what a search should find, and runs that measure how well it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .._shared import body_of
from ..core.api.cases import create_case, delete_case, get_case_run, list_case_runs, list_cases, run_cases
from ..core.models.case import Case
from ..core.models.case_list import CaseList
from ..core.models.case_run import CaseRun
from ..core.models.case_run_list import CaseRunList
from ..core.types import UNSET, Unset
from .lists import AsyncList
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions, WriteOptions


class AsyncCases:
    """The operations on cases."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self,
        query: str,
        *,
        memory_ids: Sequence[str] | None = None,
        user_id: str | None | Unset = UNSET,
        mode: str | None | Unset = UNSET,
        **options: Unpack[WriteOptions],
    ) -> Case:
        """Store a question with the memories that a search should find; without any, nothing should be found."""
        expected = {"not_found": True} if memory_ids is None else {"memory_ids": [*memory_ids]}
        body = body_of(query=query, userId=user_id, mode=mode, expected=expected)
        return await self._transport.call(create_case.request(), Case.from_dict, options, body=body, repeatable="keyed")

    def list(self, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> AsyncList[Case]:
        """List cases, newest first."""

        async def fetch(cursor: str | Unset) -> CaseList:
            request = list_cases.request(limit=limit, cursor=cursor)
            return await self._transport.call(request, CaseList.from_dict, options)

        return AsyncList(fetch)

    async def delete(self, id: str, **options: Unpack[CallOptions]) -> None:  # noqa: A002 name of the API
        """Delete a case."""
        await self._transport.remove(delete_case.request(id), options)

    async def run(self, modes: Sequence[str] | Unset = UNSET, **options: Unpack[WriteOptions]) -> CaseRun:
        """Begin a run over all cases, in these modes; by default each case in its own."""
        body = body_of(modes=modes if isinstance(modes, Unset) else [*modes])
        return await self._transport.call(
            run_cases.request(), CaseRun.from_dict, options, body=body, repeatable="keyed"
        )

    def runs(self, *, limit: int | Unset = UNSET, **options: Unpack[CallOptions]) -> AsyncList[CaseRun]:
        """List runs, newest first."""

        async def fetch(cursor: str | Unset) -> CaseRunList:
            request = list_case_runs.request(limit=limit, cursor=cursor)
            return await self._transport.call(request, CaseRunList.from_dict, options)

        return AsyncList(fetch)

    async def get_run(self, id: str, **options: Unpack[CallOptions]) -> CaseRun:  # noqa: A002 name of the API
        """Read the progress of a run and, when it is completed, its results by mode."""
        return await self._transport.call(get_case_run.request(id), CaseRun.from_dict, options)
