"""The client: its settings, and the groups of operations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from .._shared import RETRIES_MAX, TIMEOUT_SECONDS, settings_of
from ..core.api.projects import get_usage, list_embedders
from ..core.api.system import get_system
from ..core.models.embedder import Embedder
from ..core.models.embedder_list import EmbedderList
from ..core.models.system import System
from ..core.models.usage import Usage
from .cases import AsyncCases
from .chats import AsyncChats
from .graph import AsyncGraph
from .installed_models import AsyncInstalledModels
from .keys import AsyncKeys
from .memories import AsyncMemories
from .models import AsyncCompletions, AsyncEmbeddings, AsyncModels
from .projects import AsyncOwnProject, AsyncProjects
from .transport import AsyncClosing, AsyncTransport
from .users import AsyncUsers
from .webhooks import AsyncWebhooks

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions


class AsyncMneme(AsyncClosing):
    """A client of one Mneme server, with one API key. A `with` block closes its connections."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries_max: int = RETRIES_MAX,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Make a client.

        `base_url`: address of the server; default: MNEME_URL, else http://127.0.0.1:8383. `api_key`: default:
        MNEME_API_KEY. `timeout`: limit in seconds for connecting, and for each silence while an answer arrives.
        `retries_max`: maximum number of repetitions of a call that failed. `http_client`: replaces the own one, and is
        not closed. Raises MnemeError if an option is missing or wrong.
        """
        self._transport = AsyncTransport(settings_of(base_url, api_key, timeout, retries_max), http_client)
        self.memories = AsyncMemories(self._transport)
        self.graph = AsyncGraph(self._transport)
        self.chats = AsyncChats(self._transport)
        self.users = AsyncUsers(self._transport)
        self.keys = AsyncKeys(self._transport)
        #: The project of the key.
        self.project = AsyncOwnProject(self._transport)
        #: All projects; needs the scope `admin`.
        self.projects = AsyncProjects(self._transport)
        self.cases = AsyncCases(self._transport)
        self.webhooks = AsyncWebhooks(self._transport)
        #: Models of the deployment; needs the scope `admin`.
        self.installed_models = AsyncInstalledModels(self._transport)
        self.models = AsyncModels(self._transport)
        self.completions = AsyncCompletions(self._transport)
        self.embeddings = AsyncEmbeddings(self._transport)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()

    async def usage(self, **options: Unpack[CallOptions]) -> Usage:
        """What the project has used of its plan."""
        return await self._transport.call(get_usage.request(), Usage.from_dict, options)

    async def system(self, **options: Unpack[CallOptions]) -> System:
        """The state of the server: processes, queues, sizes, nodes. Needs the scope `admin`."""
        return await self._transport.call(get_system.request(), System.from_dict, options)

    async def embedders(self, **options: Unpack[CallOptions]) -> list[Embedder]:
        """The installed embedding models."""
        return (await self._transport.call(list_embedders.request(), EmbedderList.from_dict, options)).data
