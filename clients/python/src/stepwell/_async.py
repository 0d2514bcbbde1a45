"""The client of asyncio. The one that blocks is made of it: see _sync.py."""

from __future__ import annotations

import json
import ssl
import time
from dataclasses import dataclass
from typing import Any, AsyncGenerator, Dict, List, Mapping, Optional, Sequence, Union, cast

from . import types
from ._core import Core, Duration, Moment, Query, duration, given, moment, new_key, parse, path
from ._transport import AsyncTransport, Transport
from .errors import NoKey, ResultTimeout, RunCancelled, RunFailed, StreamFailed

LONG_POLL = 30.0  # seconds that one request waits for a result


@dataclass(frozen=True)
class Chunk:
    """What a stream has at an index. A reset has no value: what its step wrote from `start` on is void."""

    index: int
    value: Any = None
    reset: bool = False
    start: int = 0
    trimmed: bool = False  # chunks before it were deleted
    step: str = ""
    attempt: int = 0


class AsyncRun:
    """A run that was started, or that is known by its ID."""

    def __init__(self, core: Core, id: str, info: Optional[types.Run] = None) -> None:
        self._core, self.id = core, id
        self.info = info  # the answer to its start; None: it was not started here

    def __repr__(self) -> str:
        return f"AsyncRun({self.id!r})"

    async def get(self) -> types.Run:
        """The run as it stands."""
        return cast(types.Run, await self._call("GET"))

    async def result(self, *, timeout: Optional[float] = None, newest: bool = True) -> Any:
        """Waits for the end of the run and returns its output.

        A run that did not complete is RunFailed or RunCancelled; ResultTimeout: it is not over after so many seconds.
        Where it did not complete and was retried, the newest run in its place counts, unless newest is False.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            began = time.monotonic()
            wait = LONG_POLL if end is None else min(LONG_POLL, max(end - began, 0.0))
            query = {"wait": duration(wait), "newest": newest}
            patience = self._core.timeout if end is None else min(self._core.timeout, 5.0)
            run: types.Run = await self._call("GET", query=query, timeout=wait + patience, until=end)
            if run["status"] not in ("pending", "running"):
                return await self._outcome(run)
            if end is not None and time.monotonic() >= end:
                raise ResultTimeout(f"it is {run['status']}", code="RESULT_TIMEOUT", run_id=run["id"])
            if time.monotonic() - began < min(wait, 0.5):  # a server that is about to end does not wait
                await self._core.transport.sleep(0.1)

    async def _outcome(self, run: types.Run) -> Any:
        if run.get("sealed"):
            raise NoKey(f"it is encrypted with the key {run.get('encryption')}", code="NO_KEY", run_id=run["id"])
        if run["status"] == "completed":
            if "outputApart" in run:
                return json.loads(await AsyncRun(self._core, run["id"]).value(run["outputApart"]))
            return run.get("output")
        kind = RunCancelled if run["status"] == "cancelled" else RunFailed
        error: types.Error = run.get("error") or {"message": f"the run was {run['status']}"}
        failure = kind(error["message"], code=error.get("code", ""), run_id=run["id"])
        failure.error = error
        raise failure

    async def signal(self, event: str, payload: Any = None, *, key: Optional[str] = None) -> None:
        """Sends an event to the run. Under one key it comes once."""
        await self._call("POST", "signals", event, body=_payload(payload), key=key or new_key())

    async def cancel(self, *, reason: Optional[str] = None, force: bool = False) -> types.Run:
        """Asks the run to end. force: at once, without its code cleaning up; that needs a key of scope admin."""
        return cast(types.Run, await self._call("DELETE", query=given(reason=reason, force=force or None)))

    async def pause(self, *, reason: Optional[str] = None) -> types.Run:
        """Stops the run until it is resumed."""
        return cast(types.Run, await self._call("POST", "pause", body=given(reason=reason)))

    async def resume(self) -> types.Run:
        """Lets the run go on."""
        return cast(types.Run, await self._call("POST", "resume"))

    async def why(self) -> types.Why:
        """Why the run does not move, or what it does."""
        return cast(types.Why, await self._call("GET", "why"))

    async def value(self, id: str) -> bytes:
        """A value over 1 MiB, or a blob, by the ID that the run or an event gives as apart."""
        return cast(bytes, await self._call("GET", "values", id, decode=False))

    def events(
        self, *, after: Optional[str] = None, types: Sequence[str] = (), follow: bool = True
    ) -> AsyncGenerator[types.Event, None]:
        """The events of its log: see AsyncStepwell.events."""
        return _events(self._core, self.id, after, types, follow)

    def stream(self, name: str, *, start: int = 0) -> AsyncGenerator[Chunk, None]:
        """What one of its streams has: see AsyncStreams.read."""
        return AsyncStreams(self._core).read(self.id, name, start=start)

    async def _call(self, method: str, *segments: str, **options: Any) -> Any:
        return await self._core.call(method, path("runs", self.id, *segments), run=self.id, **options)


class AsyncRuns:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def get(self, id: str) -> types.Run:
        """A run as it stands."""
        return await AsyncRun(self._core, id).get()

    async def list(
        self, /, workflow: Optional[str] = None, *, status: Union[str, Sequence[str]] = (),
        since: Optional[Moment] = None, until: Optional[Moment] = None, attributes: Optional[Mapping[str, Any]] = None,
        input: Optional[Mapping[str, Any]] = None, payloads: bool = False, page: Optional[int] = None, **filters: Any,
    ) -> AsyncGenerator[types.ListedRun, None]:
        """All runs that fit, newest first, page by page.

        input has values by their path, as in {"customer.id": 42}. Other filters are those of the API: search, key,
        prefix, version, roots, parent, origin.
        """
        query: Dict[str, Any] = {**filters, "status": _commas(status), "since": moment(since), "until": moment(until)}
        query.update({f"attr.{name}": json.dumps(value) for name, value in (attributes or {}).items()})
        query.update({f"input.{name}": json.dumps(value) for name, value in (input or {}).items()})
        query.update(payloads=payloads or None, limit=page)
        at = path("workflows", workflow, "runs") if workflow else path("runs")
        while True:
            found: types.RunPage = await self._core.call("GET", at, query=query)
            for run in found["runs"]:
                yield run
            if "cursor" not in found:
                return
            query["cursor"] = found["cursor"]


class AsyncStreams:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def list(self, run: str) -> types.StreamList:
        """The streams of a run."""
        return cast(types.StreamList, await self._core.call("GET", path("runs", run, "streams"), run=run))

    async def read(self, run: str, name: str, *, start: int = 0) -> AsyncGenerator[Chunk, None]:
        """What a stream has, from an index on, until it is closed or its run is over; StreamFailed: it is not complete.

        Reading on later from the last index + 1 misses nothing and repeats nothing.
        """
        messages = self._core.follow(path("runs", run, "streams", name), {"from": start}, run)
        try:
            async for message in messages:
                said: Dict[str, Any] = json.loads(message.data)
                if message.event == "error":
                    raise StreamFailed(said["message"], code=said.get("code", ""), run_id=run)
                if message.event != "end":
                    said["start"] = said.get("from", 0)
                    yield Chunk(**{name: value for name, value in said.items() if name in Chunk.__dataclass_fields__})
        finally:
            await messages.aclose()


class AsyncHooks:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def send(self, token: str, payload: Any = None, *, key: Optional[str] = None) -> None:
        """Sends a payload to a hook. Under one key it comes once."""
        await self._core.call("POST", path("hooks", token), body=_payload(payload), key=key or new_key())

    async def get(self, token: str) -> types.OpenHook:
        """What a hook says of itself."""
        return cast(types.OpenHook, await self._core.call("GET", path("hooks", token)))

    async def list(self, *, run: Optional[str] = None, token: Optional[str] = None) -> List[types.Hook]:
        """Hooks that are open."""
        return cast(List[types.Hook], await self._core.call("GET", path("hooks"), query=given(run=run, token=token)))


class AsyncQueues:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def send(
        self, queue: str, payload: Any, *, key: Optional[str] = None, group: Optional[str] = None,
        delay: Optional[Duration] = None, priority: Optional[int] = None, headers: Optional[Mapping[str, str]] = None,
    ) -> types.SentMessage:
        """Sends a message. Sent again under the same key within 5 minutes it is the same message."""
        body = given(group=group, delay=duration(delay), priority=priority, headers=headers)
        body["payload"] = payload
        sent: types.Sent = await self._call("messages", queue, body, key=key or new_key())
        return sent["messages"][0]

    async def receive(
        self, queue: str, *, most: int = 1, wait: float = 0, visibility: Optional[Duration] = None, match: Any = None
    ) -> Sequence[types.Message]:
        """Receives messages that are ready, or waits so many seconds for some, 30 at most.

        Where an answer is lost they come again when their visibility is over.
        """
        body = given(most=most, wait=duration(wait), visibility=duration(visibility), match=match)
        got: types.ReceivedMessages = await self._call("receive", queue, body, timeout=self._core.timeout + wait)
        return got["messages"]

    async def ack(self, queue: str, *receipts: str) -> types.Settled:
        """Messages are done, and gone."""
        return cast(types.Settled, await self._call("ack", queue, {"receipts": receipts}))

    async def nack(
        self, queue: str, *receipts: str, delay: Optional[Duration] = None, error: Optional[str] = None
    ) -> types.Settled:
        """Gives messages back: they are received again, at once or later."""
        body = given(receipts=receipts, delay=duration(delay), error=error)
        return cast(types.Settled, await self._call("nack", queue, body))

    async def extend(self, queue: str, *receipts: str, visibility: Duration) -> types.Settled:
        """Nobody else receives the messages for so long from now."""
        body = given(receipts=receipts, visibility=duration(visibility))
        return cast(types.Settled, await self._call("extend", queue, body))

    async def _call(self, act: str, queue: str, body: Any, **options: Any) -> Any:
        return await self._core.call("POST", path("queues", queue, act), body=body, **options)


class AsyncStepwell:
    """A client of a Stepwell server, for asyncio. Use it in one event loop at a time.

    url and api_key are STEPWELL_URL (else STEPWELL_SERVER, else http://127.0.0.1:7373) and STEPWELL_API_KEY of the
    environment, unless given. timeout: seconds for a connection, and for an answer to begin or to go on. patience:
    for so many seconds what failed is tried again, where that is safe; 0: never. tls: what certificates are believed.
    """

    def __init__(
        self, url: Optional[str] = None, api_key: Optional[str] = None, *, timeout: float = 30.0,
        patience: float = 10.0, tls: Optional[ssl.SSLContext] = None, _transport: Optional[Transport] = None,
    ) -> None:
        address, key = parse(url, api_key, tls)
        self._core = Core(_transport or AsyncTransport(), address, key, timeout, patience)
        self.runs = AsyncRuns(self._core)
        self.streams = AsyncStreams(self._core)
        self.hooks = AsyncHooks(self._core)
        self.queues = AsyncQueues(self._core)

    async def start(
        self, workflow: str, input: Any = None, *, key: Optional[str] = None, id: Optional[str] = None,
        delay: Optional[Duration] = None, priority: Optional[int] = None,
        attributes: Optional[Mapping[str, Any]] = None, version: Optional[int] = None,
        timeout: Optional[Duration] = None, start_ttl: Optional[Duration] = None,
        retention_days: Optional[int] = None, context: Optional[Mapping[str, str]] = None,
        signals: Optional[Sequence[types.StartSignal]] = None,
    ) -> AsyncRun:
        """Starts a run. Under one key a workflow has one run: started again, it is that one.

        Without a key the client makes one, so that a start whose answer was lost is sent again, and not done again.
        """
        body = given(
            id=id, delay=duration(delay), priority=priority, attributes=attributes, version=version, context=context,
            timeout=duration(timeout), startTTL=duration(start_ttl), retentionDays=retention_days, signals=signals,
        )
        body["input"] = input
        run: types.Run = await self._core.call(
            "POST", path("workflows", workflow, "runs"), body=body, key=key or new_key(), run=id)
        return AsyncRun(self._core, run["id"], run)

    def run(self, id: str) -> AsyncRun:
        """A run by its ID. Nothing is asked."""
        return AsyncRun(self._core, id)

    def events(
        self, run: str, *, after: Optional[str] = None, types: Sequence[str] = (), follow: bool = True
    ) -> AsyncGenerator[types.Event, None]:
        """The events of a run's log, until the run is over; follow=False: those that are there.

        after is the eventId of the last event that was seen, types the types that are wanted.
        """
        return _events(self._core, run, after, types, follow)

    async def publish(
        self, topic: str, payload: Any, *, key: Optional[str] = None, source: Optional[str] = None,
        delay: Optional[Duration] = None, headers: Optional[Mapping[str, str]] = None,
    ) -> types.SentMessage:
        """Publishes under a topic. Published again under the same key within 24 hours it is the same publication."""
        body = given(source=source, headers=headers, delay=duration(delay))
        body["payload"] = payload
        published = await self._core.call("POST", path("topics", topic), body=body, key=key or new_key())
        return cast(types.SentMessage, published)

    async def request(
        self, method: str, path: str, *, query: Optional[Query] = None, body: Any = None, key: Optional[str] = None
    ) -> Any:
        """Any other route, as ("GET", "/v1/workers"). A POST whose answer was lost is sent again only with a key."""
        safe = method != "POST" or key is not None
        return await self._core.call(method, path, query=query, body=body, key=key, safe=safe)

    async def close(self) -> None:
        """Closes the connections that are kept."""
        self._core.close()

    async def __aenter__(self) -> AsyncStepwell:
        return self

    async def __aexit__(self, *error: object) -> None:
        self._core.close()


async def _events(
    core: Core, run: str, after: Optional[str], wanted: Sequence[str], follow: bool
) -> AsyncGenerator[types.Event, None]:
    at, query = path("runs", run, "events"), given(cursor=after, type=_commas(wanted))
    while not follow:
        page: types.EventPage = await core.call("GET", at, query=query, run=run)
        for event in page["events"]:
            yield event
        if not page["more"]:
            return
        query["cursor"] = page["cursor"]
    messages = core.follow(at, query, run)
    try:
        async for message in messages:
            if message.event != "end":
                yield json.loads(message.data)
    finally:
        await messages.aclose()


def _commas(words: Union[str, Sequence[str]]) -> Optional[str]:
    return (words if isinstance(words, str) else ",".join(words)) or None


def _payload(value: Any) -> Any:
    return b"null" if value is None else value
