"""The two ways to the server: sockets that block, and asyncio's streams."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Awaitable, Optional, Protocol, Tuple, TypeVar

from ._http import Cut, Pipe

T = TypeVar("T")


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    name: str  # both, as the header Host has them
    path: str  # where the server is mounted below one
    shown: str  # the URL, without a key
    tls: Optional[ssl.SSLContext]


class Transport(Protocol):
    async def connect(self, at: Address, timeout: float) -> Pipe: ...
    async def sleep(self, seconds: float) -> None: ...


class BlockingTransport:
    async def connect(self, at: Address, timeout: float) -> Pipe:
        connection = socket.create_connection((at.host, at.port), timeout)
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return _BlockingPipe(at.tls.wrap_socket(connection, server_hostname=at.host) if at.tls else connection)
        except BaseException:
            connection.close()
            raise

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _BlockingPipe:
    def __init__(self, connection: socket.socket) -> None:
        self._socket, self._file, self._process = connection, connection.makefile("rb"), os.getpid()

    async def write(self, data: bytes, timeout: float) -> None:
        self._socket.settimeout(timeout)
        self._socket.sendall(data)

    async def line(self, timeout: float) -> bytes:
        self._socket.settimeout(timeout)
        return self._file.readline(1 << 16)

    async def read(self, most: int, timeout: float) -> bytes:
        self._socket.settimeout(timeout)
        return self._file.read1(most)

    def usable(self) -> bool:
        return self._process == os.getpid()  # else it is the parent's

    def cut(self) -> None:
        self._file.close()
        self._socket.close()


class AsyncTransport:
    async def connect(self, at: Address, timeout: float) -> Pipe:
        name = at.host if at.tls else None
        opening = asyncio.ensure_future(asyncio.open_connection(at.host, at.port, ssl=at.tls, server_hostname=name))
        try:  # wait_for of Python 3.11 and older may lose a cancellation
            await asyncio.wait({opening}, timeout=timeout)
            if not opening.done():
                raise TimeoutError("timed out")
        except BaseException:
            opening.cancel()
            opening.add_done_callback(_drop)
            raise
        return _AsyncPipe(*opening.result())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _drop(opening: asyncio.Future[Tuple[asyncio.StreamReader, asyncio.StreamWriter]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[1].transport.abort()


class _AsyncPipe:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._loop = reader, writer, asyncio.get_running_loop()

    async def write(self, data: bytes, timeout: float) -> None:
        self._writer.write(data)  # it goes out while the answer is waited for: who refuses a large body does not read it

    async def line(self, timeout: float) -> bytes:
        try:
            return await self._in_time(self._reader.readline(), timeout)
        except ValueError:
            raise Cut("a line of the answer is too long") from None

    async def read(self, most: int, timeout: float) -> bytes:
        return await self._in_time(self._reader.read(most), timeout)

    async def _in_time(self, waiting: Awaitable[T], timeout: float) -> T:
        """What takes too long is cut, which ends all waiting: so no cancellation can be lost."""
        timer = self._loop.call_later(timeout, self.cut)
        try:
            done = await waiting
        finally:
            timer.cancel()
        if self._writer.transport.is_closing() and self._loop.time() >= timer.when():
            raise TimeoutError("timed out")
        return done

    def usable(self) -> bool:
        return self._loop is asyncio.get_running_loop() and not self._reader.at_eof()

    def cut(self) -> None:
        if not self._loop.is_closed():
            self._writer.transport.abort()
