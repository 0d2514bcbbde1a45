"""The client that blocks: each method is one of the other client, over a transport that does not wait for a loop."""

from __future__ import annotations

import functools
import ssl
from typing import Any, AsyncGenerator, Awaitable, Callable, Concatenate, Generator, Optional, ParamSpec, TypeVar, cast

from . import types
from ._async import AsyncHooks, AsyncQueues, AsyncRun, AsyncRuns, AsyncStepwell, AsyncStreams
from ._transport import BlockingTransport

P = ParamSpec("P")
T = TypeVar("T")


def finish(waiting: Awaitable[T]) -> T:
    """What a coroutine returns that waits for no loop."""
    try:
        next(waiting.__await__())
    except StopIteration as end:
        return cast(T, end.value)
    raise RuntimeError("it waits for a loop")


def _one_by_one(source: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    try:
        while True:
            try:
                value = finish(source.__anext__())
            except StopAsyncIteration:
                return
            yield value
    finally:
        finish(source.aclose())


def _blocking(method: Callable[Concatenate[Any, P], Awaitable[T]]) -> Callable[Concatenate[Any, P], T]:
    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return finish(method(self._of, *args, **kwargs))

    return call


def _iterating(
    method: Callable[Concatenate[Any, P], AsyncGenerator[T, None]]
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        return _one_by_one(method(self._of, *args, **kwargs))

    return call


def _starting(method: Callable[Concatenate[Any, P], Awaitable[AsyncRun]]) -> Callable[Concatenate[Any, P], Run]:
    @functools.wraps(method)
    def call(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Run:
        return Run(finish(method(self._of, *args, **kwargs)))

    return call


class Run:
    """A run that was started, or that is known by its ID."""

    def __init__(self, of: AsyncRun) -> None:
        self._of = of

    @property
    def id(self) -> str:
        return self._of.id

    @property
    def info(self) -> Optional[types.Run]:
        """The answer to its start; None: it was not started here."""
        return self._of.info

    def __repr__(self) -> str:
        return f"Run({self.id!r})"

    get = _blocking(AsyncRun.get)
    result = _blocking(AsyncRun.result)
    signal = _blocking(AsyncRun.signal)
    cancel = _blocking(AsyncRun.cancel)
    pause = _blocking(AsyncRun.pause)
    resume = _blocking(AsyncRun.resume)
    why = _blocking(AsyncRun.why)
    value = _blocking(AsyncRun.value)
    events = _iterating(AsyncRun.events)
    stream = _iterating(AsyncRun.stream)


class Runs:
    def __init__(self, of: AsyncRuns) -> None:
        self._of = of

    get = _blocking(AsyncRuns.get)
    list = _iterating(AsyncRuns.list)


class Streams:
    def __init__(self, of: AsyncStreams) -> None:
        self._of = of

    list = _blocking(AsyncStreams.list)
    read = _iterating(AsyncStreams.read)


class Hooks:
    def __init__(self, of: AsyncHooks) -> None:
        self._of = of

    send = _blocking(AsyncHooks.send)
    get = _blocking(AsyncHooks.get)
    list = _blocking(AsyncHooks.list)


class Queues:
    def __init__(self, of: AsyncQueues) -> None:
        self._of = of

    send = _blocking(AsyncQueues.send)
    receive = _blocking(AsyncQueues.receive)
    ack = _blocking(AsyncQueues.ack)
    nack = _blocking(AsyncQueues.nack)
    extend = _blocking(AsyncQueues.extend)


class Stepwell:
    """A client of a Stepwell server. Threads may share it.

    url and api_key are STEPWELL_URL (else STEPWELL_SERVER, else http://127.0.0.1:7373) and STEPWELL_API_KEY of the
    environment, unless given. timeout: seconds for a connection, and for an answer to begin or to go on. patience:
    for so many seconds what failed is tried again, where that is safe; 0: never. tls: what certificates are believed.
    """

    def __init__(
        self, url: Optional[str] = None, api_key: Optional[str] = None, *, timeout: float = 30.0,
        patience: float = 10.0, tls: Optional[ssl.SSLContext] = None,
    ) -> None:
        known: Any = {"timeout": timeout, "patience": patience, "tls": tls}
        self._of = AsyncStepwell(url, api_key, **known, _transport=BlockingTransport())
        self.runs = Runs(self._of.runs)
        self.streams = Streams(self._of.streams)
        self.hooks = Hooks(self._of.hooks)
        self.queues = Queues(self._of.queues)

    start = _starting(AsyncStepwell.start)
    events = _iterating(AsyncStepwell.events)
    publish = _blocking(AsyncStepwell.publish)
    request = _blocking(AsyncStepwell.request)
    close = _blocking(AsyncStepwell.close)

    def run(self, id: str) -> Run:
        """A run by its ID. Nothing is asked."""
        return Run(self._of.run(id))

    def __enter__(self) -> Stepwell:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
