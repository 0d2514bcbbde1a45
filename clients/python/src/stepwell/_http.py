"""HTTP/1.1 over a pipe of bytes, one exchange at a time. A pipe blocks, or waits in a loop: here it is the same."""

from __future__ import annotations

import http.client
import io
from dataclasses import dataclass
from typing import Mapping, Optional, Protocol

PIECE = 64 << 10


class Pipe(Protocol):
    """A connection. What takes longer than the timeout, or breaks, is an OSError."""

    async def write(self, data: bytes, timeout: float) -> None: ...
    async def line(self, timeout: float) -> bytes: ...
    async def read(self, most: int, timeout: float) -> bytes: ...
    def usable(self) -> bool: ...
    def cut(self) -> None: ...


class Cut(OSError):
    """An answer that ended before it was complete, or that is none."""


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: Mapping[str, bytes]
    body: Optional[bytes]
    timeout: float  # of connecting, and of each wait for something to come


class Answer:
    """What a request was answered with, whose body is read piece by piece."""

    def __init__(self, pipe: Pipe, timeout: float) -> None:
        self._pipe, self._timeout = pipe, timeout
        self.status, self.headers = 0, http.client.HTTPMessage()
        self.reusable = False  # all was read, and another request may follow
        self._ended = self._chunked = False
        self._left: Optional[int] = None  # of the body, or of this chunk; None: it goes on until the connection ends

    async def begin(self) -> Answer:
        while self.status < 200:  # those before are no answers
            version, _, status = (await self._line()).decode("latin-1").partition(" ")
            if version not in ("HTTP/1.1", "HTTP/1.0"):
                raise Cut("this is no HTTP/1.1")
            self.status = _number(status[:3], 10)
            head = [await self._line()]
            while head[-1].strip():
                head.append(await self._line())
            self.headers = http.client.parse_headers(io.BytesIO(b"".join(head)))
        empty = self.status in (204, 304)
        self._chunked = not empty and self.headers.get("Transfer-Encoding", "").lower() == "chunked"
        length = self.headers.get("Content-Length")
        if self._chunked or empty:
            self._left = 0
        elif length is not None:
            self._left = _number(length, 10)
        self._keep = version == "HTTP/1.1" and "close" not in self.headers.get("Connection", "").lower()
        self._end(self._left == 0 and not self._chunked)
        return self

    async def read(self) -> bytes:
        """The next piece of the body; empty: this is its end."""
        if not self._ended and self._chunked and self._left == 0:
            self._left = _number((await self._line()).partition(b";")[0].decode("latin-1"), 16)
            if self._left == 0:
                while (await self._line()).strip():  # trailers
                    pass
                self._end(True)
        if self._ended:
            return b""
        piece = await self._pipe.read(PIECE if self._left is None else min(PIECE, self._left), self._timeout)
        if self._left is None:
            self._ended = not piece
        elif not piece:
            raise Cut("the answer was cut")
        else:
            self._left -= len(piece)
            if self._chunked and self._left == 0:
                await self._line()
            self._end(self._left == 0 and not self._chunked)
        return piece

    def _end(self, ended: bool) -> None:
        self._ended = ended
        self.reusable = ended and self._keep

    async def _line(self) -> bytes:
        line = await self._pipe.line(self._timeout)
        if not line.endswith(b"\n"):
            raise Cut("the answer was cut")
        return line


async def exchange(pipe: Pipe, host: str, request: Request) -> Answer:
    head = [f"{request.method} {request.target} HTTP/1.1".encode(), b"Host: " + host.encode()]
    head += [name.encode() + b": " + value for name, value in request.headers.items()]
    if request.body is not None or request.method != "GET":
        head.append(b"Content-Length: %d" % len(request.body or b""))
    answer = Answer(pipe, request.timeout)
    try:
        await pipe.write(b"\r\n".join(head) + b"\r\n\r\n" + (request.body or b""), request.timeout)
    except ConnectionError as err:  # who refuses a large body does not read it
        try:
            return await answer.begin()
        except OSError:
            raise err from None
    return await answer.begin()


def _number(text: str, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise Cut(f"{text[:20]!r} is no number") from None
