"""Made by sdk/generate.ts from the asynchronous half. The client: its settings, and the groups of operations."""

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
from .cases import Cases
from .chats import Chats
from .graph import Graph
from .installed_models import InstalledModels
from .keys import Keys
from .memories import Memories
from .models import Completions, Embeddings, Models
from .projects import OwnProject, Projects
from .transport import Closing, Transport
from .users import Users
from .webhooks import Webhooks

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .._shared import CallOptions


class Mneme(Closing):
    """A client of one Mneme server, with one API key. A `with` block closes its connections."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        retries_max: int = RETRIES_MAX,
        http_client: httpx.Client | None = None,
    ) -> None:
        """Make a client.

        `base_url`: address of the server; default: MNEME_URL, else http://127.0.0.1:8383. `api_key`: default:
        MNEME_API_KEY. `timeout`: limit in seconds for connecting, and for each silence while an answer arrives.
        `retries_max`: maximum number of repetitions of a call that failed. `http_client`: replaces the own one, and is
        not closed. Raises MnemeError if an option is missing or wrong.
        """
        self._transport = Transport(settings_of(base_url, api_key, timeout, retries_max), http_client)
        self.memories = Memories(self._transport)
        self.graph = Graph(self._transport)
        self.chats = Chats(self._transport)
        self.users = Users(self._transport)
        self.keys = Keys(self._transport)
        #: The project of the key.
        self.project = OwnProject(self._transport)
        #: All projects; needs the scope `admin`.
        self.projects = Projects(self._transport)
        self.cases = Cases(self._transport)
        self.webhooks = Webhooks(self._transport)
        #: Models of the deployment; needs the scope `admin`.
        self.installed_models = InstalledModels(self._transport)
        self.models = Models(self._transport)
        self.completions = Completions(self._transport)
        self.embeddings = Embeddings(self._transport)

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def usage(self, **options: Unpack[CallOptions]) -> Usage:
        """What the project has used of its plan."""
        return self._transport.call(get_usage.request(), Usage.from_dict, options)

    def system(self, **options: Unpack[CallOptions]) -> System:
        """The state of the server: processes, queues, sizes, nodes. Needs the scope `admin`."""
        return self._transport.call(get_system.request(), System.from_dict, options)

    def embedders(self, **options: Unpack[CallOptions]) -> list[Embedder]:
        """The installed embedding models."""
        return (self._transport.call(list_embedders.request(), EmbedderList.from_dict, options)).data
