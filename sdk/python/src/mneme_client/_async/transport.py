"""Sends one call, repeats it where that is safe, and turns every failure into an error of errors.py."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Callable, TypeVar, cast

import httpx

from .._shared import Repeatable, Settings, UploadFile, WriteOptions, headers_of, pause_before
from ..errors import (
    ApiConnectionError,
    ApiTimeoutError,
    InvalidAnswerError,
    MnemeError,
    NotFoundError,
    api_error,
)

T = TypeVar("T")


class AsyncTransport:
    """Sends calls."""

    def __init__(self, settings: Settings, http_client: httpx.AsyncClient | None) -> None:
        self._settings = settings
        self._http = http_client or httpx.AsyncClient()
        self._owns_http = http_client is None

    async def aclose(self) -> None:
        """Close the connections, unless the caller brought the HTTP client."""
        if self._owns_http:
            await self._http.aclose()

    async def call(
        self,
        request: Mapping[str, Any],
        parse: Callable[[Any], T],
        options: Mapping[str, object] | None = None,
        *,
        body: Any = None,
        form: Mapping[str, str] | None = None,
        file: UploadFile | None = None,
        repeatable: Repeatable = "always",
    ) -> T:
        """The answer of a call."""
        response = await self._repeat(
            request, options, body=body, form=form, file=file, repeatable=repeatable, stream=False
        )
        return _parsed(response, parse)

    async def file(
        self,
        request: Mapping[str, Any],
        options: Mapping[str, object] | None,
        more_headers: Mapping[str, str],
    ) -> bytes:
        """The file that a call answers with."""
        request = {**request, "headers": more_headers}
        response = await self._repeat(request, options, repeatable="always", stream=False)
        return response.content

    async def remove(self, request: Mapping[str, Any], options: Mapping[str, object] | None = None) -> None:
        """A deletion. Status 404 is a success after an attempt whose answer was lost."""
        attempts: list[None] = []
        try:
            await self._repeat(request, options, repeatable="always", stream=False, attempts=attempts)
        except NotFoundError:
            if len(attempts) < 2:
                raise

    async def stream(
        self,
        request: Mapping[str, Any],
        options: Mapping[str, object] | None = None,
        *,
        body: Any,
        repeatable: Repeatable,
    ) -> httpx.Response:
        """The answer of a call that streams; it is open."""
        response = await self._repeat(request, options, body=body, repeatable=repeatable, stream=True)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            return response
        await response.aclose()
        raise InvalidAnswerError("The answer is not an event stream.")

    async def _repeat(
        self,
        request: Mapping[str, Any],
        options: Mapping[str, object] | None,
        *,
        repeatable: Repeatable,
        stream: bool,
        body: Any = None,
        form: Mapping[str, str] | None = None,
        file: UploadFile | None = None,
        attempts: list[None] | None = None,
    ) -> httpx.Response:
        given = cast("WriteOptions", options or {})
        headers = headers_of(self._settings, repeatable, given)
        retries_max = given.get("retries_max", self._settings.retries_max)
        retries = 0
        while True:
            if attempts is not None:
                attempts.append(None)
            try:
                return await self._attempt(request, given, headers, body, form, file, stream)
            except MnemeError as failure:
                pause = pause_before(failure, repeatable, retries) if retries < retries_max else None
                if pause is None:
                    raise
            await asyncio.sleep(pause)
            retries += 1

    async def _attempt(
        self,
        request: Mapping[str, Any],
        options: WriteOptions,
        headers: Mapping[str, str],
        body: Any,
        form: Mapping[str, str] | None,
        file: UploadFile | None,
        stream: bool,
    ) -> httpx.Response:
        opened = None if file is None else file.open()
        sent: dict[str, Any] = {} if body is None else {"json": body}
        if opened is not None and file is not None:
            sent = {"data": dict(form or {}), "files": {"file": (file.filename, opened)}}
        try:
            built = self._http.build_request(
                request["method"],
                self._settings.base_url + request["url"],
                params=request.get("params"),
                headers={**headers, **request.get("headers", {})},
                timeout=options.get("timeout", self._settings.timeout),
                **sent,
            )
            response = await self._http.send(built, stream=True, follow_redirects=False)
            if response.is_success and stream:
                return response
            try:
                await response.aread()
            finally:
                await response.aclose()
        except httpx.TimeoutException as error:
            raise ApiTimeoutError("No answer arrived in time.") from error
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ApiConnectionError(f"No answer from {self._settings.base_url}: {reason}") from error
        finally:
            if opened is not None:
                opened.close()
        if response.is_redirect:
            raise ApiConnectionError(f"{self._settings.base_url} redirects elsewhere; a key must not follow.")
        if not response.is_success:
            raise api_error(
                response.status_code,
                _body_of(response),
                response.headers.get("x-request-id"),
                response.headers.get("retry-after"),
            )
        return response


def _parsed(response: httpx.Response, parse: Callable[[Any], T]) -> T:
    try:
        return parse(response.json())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidAnswerError(f"The answer is not in the format of the API: {error!r}") from error


def _body_of(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return response.text


class AsyncClosing:
    """Something that a `with` block closes."""

    async def aclose(self) -> None:
        """Close it."""
        raise NotImplementedError

    async def __aenter__(self: T) -> T:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
