"""What both clients are made of: requests, retries, answers, and following. It does no I/O: a transport does."""

from __future__ import annotations

import copy
import json
import os
import random
import ssl
import time
import uuid
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, AsyncGenerator, Deque, Dict, Iterator, Mapping, Optional, Tuple, Union
from urllib.parse import quote, unquote, urlencode, urlsplit

from ._http import Answer, Pipe, Request, exchange
from ._transport import Address, Transport
from ._version import __version__
from .errors import ConnectionFailed, StepwellError, refusal

Duration = Union[str, float, timedelta]  # as the server writes them, 90s or 7d; or seconds
Moment = Union[str, datetime, timedelta]  # as the server reads them; a timedelta is so long ago
Query = Mapping[str, Any]

KEPT, KEPT_FOR = 8, 60.0  # connections that nobody uses now; for less long than the server keeps them
TEMPORARY = (408, 429, 502, 503, 504)
SILENCE = 60.0  # a stream on which nothing comes for so long is dead: the server says something every 15 s


@dataclass
class Message:
    """A server-sent event."""

    event: str = ""
    id: Optional[str] = None
    data: str = ""


@dataclass
class Messages:
    """Makes messages of pieces of a stream."""

    rest: bytes = b""
    message: Message = field(default_factory=Message)

    def feed(self, piece: bytes) -> Iterator[Message]:
        *lines, self.rest = (self.rest + piece).split(b"\n")
        for line in lines:
            text = line.rstrip(b"\r").decode()
            name, _, value = text.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if not text:
                if self.message.event or self.message.data:
                    yield self.message
                self.message = Message()
            elif name == "event":
                self.message.event = value
            elif name == "id":
                self.message.id = value
            elif name == "data":
                self.message.data += "\n" + value if self.message.data else value


def parse(url: Optional[str], key: Optional[str], tls: Optional[ssl.SSLContext]) -> Tuple[Address, str]:
    """The server's address and the secret of the key. No error shows the key."""
    url = url or os.environ.get("STEPWELL_URL") or os.environ.get("STEPWELL_SERVER") or "http://127.0.0.1:7373"
    wrong = ValueError("the URL of a server is like https://host or http://host:port")
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise wrong
    key = key or unquote(parts.password or parts.username or "") or os.environ.get("STEPWELL_API_KEY") or ""
    key = key.split(",")[0]
    if key.count(":") >= 2:  # as the server's settings have it: scope:name:secret
        key = key.split(":", 2)[2]
    if not all("!" <= c <= "~" for c in key):
        raise ValueError("the API key has characters that a header cannot carry")
    path = parts.path.rstrip("/")
    name = parts.netloc.rpartition("@")[2]
    tls = (tls or ssl.create_default_context()) if parts.scheme == "https" else None
    return Address(parts.hostname, port, name, path, f"{parts.scheme}://{name}{path}", tls), key


def path(*segments: str) -> str:
    return "/v1/" + "/".join(quote(s, safe="") for s in segments)


def given(**members: Any) -> Dict[str, Any]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def new_key() -> str:
    return str(uuid.uuid4())


def duration(value: Optional[Duration]) -> Optional[str]:
    if value is None or isinstance(value, str):
        return value
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    return f"{round(seconds * 1000)}ms"


def moment(value: Optional[Moment]) -> Optional[str]:
    if isinstance(value, timedelta):
        return duration(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"the time {value} has no zone")
        return value.isoformat()
    return value


class Core:
    """Sends requests, and again where that is safe; follows streams, and goes on where they broke off."""

    def __init__(self, transport: Transport, address: Address, key: str, timeout: float, patience: float) -> None:
        self.transport, self.address, self.timeout, self.patience = transport, address, timeout, patience
        self._kept: Deque[Tuple[Pipe, float]] = deque()  # since when
        self._headers = {"Accept": b"application/json", "User-Agent": b"stepwell-python/" + __version__.encode()}
        if key:
            self._headers["Authorization"] = b"Bearer " + key.encode()

    def over(self, transport: Transport) -> Core:
        """The same over another transport, with connections of its own."""
        other = copy.copy(self)
        other.transport, other._kept = transport, deque()
        return other

    async def call(
        self, method: str, path: str, *, query: Optional[Query] = None, body: Any = None, key: Optional[str] = None,
        run: Optional[str] = None, safe: bool = True, decode: bool = True, timeout: Optional[float] = None,
        until: Optional[float] = None,
    ) -> Any:
        """Sends a request and returns what the answer has. safe: it may be sent again where its answer was lost."""
        headers = {} if key is None else {"Idempotency-Key": key}
        request = self._request(method, path, query, body, headers, self.timeout if timeout is None else timeout)
        end = min(time.monotonic() + self.patience, until or float("inf"))
        failures = 0
        while True:
            try:
                async with self._open(request, run) as answer:
                    raw = await _all(answer)
                    return (json.loads(raw) if raw else None) if decode else raw
            except StepwellError as err:
                pause = _pause(err, failures)
                if not temporary(err) or not (safe or err.status == 429) or time.monotonic() + pause > end:
                    raise
            failures += 1
            await self.transport.sleep(pause)

    async def follow(self, path: str, query: Query, run: str) -> AsyncGenerator[Message, None]:
        """The messages of an event stream, whose last one is an end or an error. One that broke off is gone on with."""
        headers = {"Accept": "text/event-stream"}
        failures, end = 0, 0.0
        while True:
            request = self._request("GET", path, query, None, headers, max(SILENCE, self.timeout))
            try:
                async with self._open(request, run) as answer:
                    end = 0.0  # the server is there
                    if answer.status == 204:
                        return
                    messages = Messages()
                    while piece := await answer.read():
                        for message in messages.feed(piece):
                            failures = 0
                            if message.id is not None:
                                headers["Last-Event-ID"] = message.id
                            yield message
                            if message.event in ("end", "error"):
                                return
                pause = _pause(None, failures)  # it ends as the server does
            except StepwellError as err:
                pause = _pause(err, failures)
                end = end or time.monotonic() + self.patience
                if not temporary(err) or time.monotonic() + pause > end:
                    raise
            failures += 1
            await self.transport.sleep(pause)

    def _request(
        self, method: str, path: str, query: Optional[Query], body: Any, headers: Mapping[str, str], timeout: float
    ) -> Request:
        asked = {name: json.dumps(v) if isinstance(v, bool) else v for name, v in given(**(query or {})).items()}
        target = self.address.path + path + ("?" + urlencode(asked) if asked else "")
        if not all("!" <= c <= "~" for c in method + target):
            raise ValueError(f"{target!r} has characters that no request may have")
        all_headers = dict(self._headers)
        for name, text in headers.items():
            if not text.isprintable():
                raise ValueError(f"{name}: {text!r} is not printable")
            all_headers[name] = text.encode()
        raw = None
        if body is not None:
            raw = body if isinstance(body, bytes) else json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
            all_headers["Content-Type"] = b"application/json"
        return Request(method, target, all_headers, raw, timeout)

    @asynccontextmanager
    async def _open(self, request: Request, run: Optional[str]) -> AsyncGenerator[Answer, None]:
        """An answer whose body is to be read. One that refuses, that does not come or that is cut is an error."""
        pipe: Optional[Pipe] = None
        reusable = False
        try:
            pipe = self._take() or await self.transport.connect(self.address, request.timeout)
            answer = await exchange(pipe, self.address.name, request)
            if not 200 <= answer.status < 300:
                body = await _all(answer)
                reusable = answer.reusable
                raise refusal(answer.status, answer.headers.get("Retry-After"), body, run)
            yield answer
            reusable = answer.reusable
        except (OSError, ValueError) as err:  # ValueError: something between has replaced it
            raise ConnectionFailed(f"{self.address.shown}: {err}", code="CONNECTION", run_id=run) from err
        finally:
            if pipe is not None:
                self._release(pipe, reusable)

    def _take(self) -> Optional[Pipe]:
        with suppress(IndexError):
            while True:
                pipe, since = self._kept.pop()
                if pipe.usable() and time.monotonic() - since < KEPT_FOR:
                    return pipe
                pipe.cut()
        return None

    def _release(self, pipe: Pipe, reusable: bool) -> None:
        if reusable and len(self._kept) < KEPT:
            self._kept.append((pipe, time.monotonic()))
        else:
            pipe.cut()

    def close(self) -> None:
        while self._kept:
            self._kept.pop()[0].cut()


async def _all(answer: Answer) -> bytes:
    pieces = []
    while piece := await answer.read():
        pieces.append(piece)
    return b"".join(pieces)


def temporary(err: StepwellError) -> bool:
    if isinstance(err, ConnectionFailed):
        return not isinstance(err.__cause__, ssl.SSLCertVerificationError)
    return err.status in TEMPORARY


def _pause(err: Optional[StepwellError], failures: int) -> float:
    backoff = min(0.1 * 2.0 ** min(failures, 10), 5.0) * random.uniform(0.5, 1.0)
    return max(backoff, (err.retry_after if err else None) or 0.0)
