"""A step worker: this program's functions run steps of workflows in Go.

    def resize(picture, step: Step):
        return {"thumb": shrink(picture["path"])}

    Worker(Stepwell(), concurrency=4).step("resize", resize).run()  # until SIGTERM or SIGINT

A coroutine function runs in the worker's event loop and is given an AsyncStep; others have a thread of their own.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import json
import logging
import os
import signal
import socket
import threading
import time
import traceback
from contextlib import suppress
from math import inf
from typing import Any, Awaitable, Callable, Coroutine, Dict, List, Optional, Set, Tuple, Type, Union, cast

from . import types
from ._async import AsyncStepwell
from ._core import duration, given, path, temporary
from ._sync import Stepwell
from ._transport import AsyncTransport
from .errors import StepwellError

Function = Union[Callable[[Any, "AsyncStep"], Awaitable[Any]], Callable[[Any, "Step"], Any]]
Errors = Tuple[Type[BaseException], ...]
log = logging.getLogger("stepwell.steps")
WAIT = 25  # seconds that one request waits for steps: proxies cut what takes longer than 30
FULL = 256 << 10  # bytes of a stream that may wait to be sent
GONE = ("LEASE_LOST", "RUN_OVER", "NOT_FOUND")  # nobody waits for the attempt any more


class Retry(Exception):
    """Fails the attempt. after: in how many seconds the next one begins. code is for the code of the workflow."""

    def __init__(self, message: str, *, after: Optional[float] = None, code: str = "") -> None:
        super().__init__(message)
        self.after, self.code = after, code


class Fatal(Retry):
    """Ends the step: it is not tried again."""


class StepCancelled(Exception):
    """The attempt is to end."""


class _Attempt:
    def __init__(self, worker: Worker, task: types.StepTask) -> None:
        self._worker, self._task = worker, task
        self.name, self.run, self.workflow = task["step"], task["run"], task["workflow"]
        self.id = task["id"]  # the same on every attempt; a retry of the run has another
        self.attempt = task["attempt"]  # from 1
        self.progress = task.get("progress")  # what an attempt before said last
        self.why: Optional[str] = None  # it is to end: ended, timeout, silence, lost or shutdown
        self._said: Any = None
        self._fresh, self._position, self._heard = False, 0, time.monotonic()
        self._unheard: Dict[str, Any] = {}  # progress that was sent, until the server says that it has it
        self._streams: Dict[str, _Stream] = {}
        self.cancelled = threading.Event()  # set where it is to end
        self._end: Callable[[], object] = self.cancelled.set

    def heartbeat(self, progress: Any = None) -> None:
        """Says how far the step is, as JSON of 4 KiB. It returns at once; the next attempt finds it in progress."""
        self.check()
        said, size = _kept(progress)
        if size > 4096:
            raise ValueError("the progress has more than 4 KiB")
        self._said, self._fresh, self._heard = said, True, time.monotonic()

    def check(self) -> None:
        """Raises StepCancelled where the attempt is to end."""
        if self.why is not None:
            raise StepCancelled(self.why)

    def close(self, stream: str, error: Optional[str] = None) -> None:
        """Says that nothing follows, or with an error that it is not complete. It holds once the step has completed."""
        self._stream(stream).end = {"close": True} if error is None else {"error": {"message": error}}

    def _stream(self, name: str) -> _Stream:
        self.check()
        return self._streams.setdefault(name, _Stream(self, name))

    def _stop(self, why: str) -> None:
        if self.why is None:
            self.why = why
            self._end()


def _kept(value: Any) -> Tuple[Any, int]:
    """A value as it is now, whatever becomes of it until it is sent, and its bytes as JSON."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    return json.loads(text), len(text.encode())


class AsyncStep(_Attempt):
    """The attempt that a coroutine runs. Where it is to end, its task is cancelled."""

    async def write(self, stream: str, *chunks: Any) -> None:
        """Adds to a stream of the run. It is durable when flush returns, and when the step has completed."""
        await self._stream(stream).write(chunks)

    async def flush(self, stream: str) -> None:
        """Returns when all that was written is durable."""
        await self._stream(stream).flush()


class Step(_Attempt):
    """The attempt that a function runs in its thread. Where it is to end, `cancelled` is set, and check raises."""

    def write(self, stream: str, *chunks: Any) -> None:
        self._await(self._stream(stream).write(chunks))

    def flush(self, stream: str) -> None:
        self._await(self._stream(stream).flush())

    def _await(self, doing: Coroutine[Any, Any, None]) -> None:
        assert self._worker._loop
        asyncio.run_coroutine_threadsafe(doing, self._worker._loop).result()


class _Stream:
    """What an attempt writes to a stream: one request at a time, with all that has come meanwhile."""

    def __init__(self, step: _Attempt, name: str) -> None:
        self.step, self.name = step, name
        self.end: Optional[Dict[str, Any]] = None
        self.chunks: List[Any] = []
        self.bytes, self.position = 0, 0  # that wait; how many were sent
        self.sending: Optional[asyncio.Task[None]] = None

    async def write(self, chunks: Tuple[Any, ...]) -> None:
        if self.end:
            raise ValueError(f"the stream {self.name!r} is closed")
        kept, size = _kept(chunks)
        self.bytes += size
        self.chunks += kept
        if self.bytes > FULL or self.go_on().done():
            await self.flush()

    async def flush(self) -> None:
        while self.chunks or self.sending and not self.sending.done():
            await asyncio.shield(self.go_on())
        if self.sending:
            self.sending.result()

    def go_on(self) -> asyncio.Task[None]:
        if not self.sending or self.sending.done() and not self.sending.exception():
            self.sending = asyncio.ensure_future(self.send())
            self.sending.add_done_callback(lambda sent: sent.cancelled() or sent.exception())  # finish tells
        return self.sending

    async def send(self, **end: Any) -> None:
        while self.chunks or end:
            body: Dict[str, Any] = {"receipt": self.step._task["receipt"], "stream": self.name, "position": self.position, **end}
            body["chunks"], self.chunks, self.bytes, end = self.chunks, [], 0, {}
            self.position += len(body["chunks"])
            await self.step._worker._insist(self.step, "write", body)

    async def finish(self, completed: bool) -> None:
        await self.flush()
        if completed and self.end:
            await self.send(**self.end)


class Worker:
    """Takes steps from a server and runs them, `concurrency` at once, until it is told to stop.

    name is what people call it. lease: after so many seconds without a heartbeat others do what it had. drain: so long
    a shutdown waits for what runs; the rest is given back, and does not count as failed.
    """

    def __init__(
        self, client: Union[Stepwell, AsyncStepwell], *, concurrency: int = 4, name: Optional[str] = None,
        lease: float = 10.0, drain: float = 10.0,
    ) -> None:
        self._of = client._of if isinstance(client, Stepwell) else client
        self._concurrency, self._drain = max(concurrency, 1), drain
        self._joining = {"name": name or f"{socket.gethostname()}:{os.getpid()}", "lease": duration(lease)}
        self._functions: Dict[str, Tuple[Any, Errors]] = {}
        self._steps: Dict[str, _Attempt] = {}  # that this worker holds, by receipt
        self._running: Set[asyncio.Task[None]] = set()  # all, also those that were lost and have not ended
        self._id, self._number, self._lease, self._pause = "", 0, lease, 1.0
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._stopped, self._room, self._beating = asyncio.Event(), asyncio.Event(), asyncio.Lock()

    def step(self, name: str, function: Function, *, final: Errors = ()) -> Worker:
        """Says which function runs a step: it is given the input and the Step. final: errors like Fatal."""
        self._functions[name] = (function, (Fatal, *final))
        return self

    def run(self) -> None:
        """Works until SIGTERM, SIGINT or stop."""
        asyncio.run(self.serve(signals=True))

    def stop(self) -> None:
        """Ends the worker, as SIGTERM does. Any thread may call it."""
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._stopped.set) if self._loop else self._stopped.set()

    async def serve(self, *, signals: bool = False) -> None:
        """Works in this event loop until stop is called, or the task is cancelled."""
        self._loop, self._core = asyncio.get_running_loop(), self._of._core.over(AsyncTransport())
        for number in (signal.SIGTERM, signal.SIGINT) if signals else ():
            with suppress(NotImplementedError):  # Windows
                self._loop.add_signal_handler(number, self.stop)
        loops = [asyncio.ensure_future(loop) for loop in (self._takes(), self._beats(), self._stopped.wait())]
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            await _cancel(loops[0])
            for loop in done:
                loop.result()  # what ended it is raised
            if self._running:
                await asyncio.wait(self._running, timeout=self._drain)
        finally:
            self._stop("shutdown")
            for loop in loops:
                await _cancel(loop)
            if self._running:
                await asyncio.wait(self._running, timeout=1)  # a thread may go on
            with suppress(StepwellError):
                if self._id:
                    await self._beat(self._steps)  # the last progress
                    await self._beat({receipt: step for receipt, step in self._steps.items() if step._fresh})
                    await self._core.call("POST", path("steps", "leave"), body={"worker": self._id}, timeout=5)
            self._id = ""
            self._core.close()

    async def _ask(self, call: str, body: Any, timeout: float = 10) -> Any:
        return await self._core.call("POST", path("steps", call), body=body, timeout=timeout, until=0)  # one try

    async def _insist(self, step: _Attempt, call: str, body: Any) -> None:
        """Says something of a step until the server has heard it. StepCancelled: nobody wants to."""
        pause = 0.1
        while step.why not in ("ended", "lost") and self._id:
            try:
                return cast(None, await self._ask(call, body))
            except StepwellError as err:
                if err.code in GONE:
                    step._stop("ended")
                elif not temporary(err):
                    raise
                await asyncio.sleep(pause)
                pause = min(pause * 2, 2.0)
        raise StepCancelled(step.why)

    async def _takes(self) -> None:
        pause = 0.1
        while True:
            while (most := self._concurrency - len(self._running)) < 1:
                self._room.clear()
                await self._room.wait()
            body: Dict[str, Any] = {"steps": sorted(self._functions), "wait": f"{WAIT}s", **self._joining}
            if worker := self._id:
                self._number += 1
                body.update(worker=worker, number=self._number, most=most, holds=list(self._steps))
            try:
                got: types.StepsTaken = await self._ask("take", body, timeout=WAIT + 10)
            except StepwellError as err:
                if err.code == "LEASE_LOST":
                    self._lose(worker)
                elif not temporary(err) and err.code != "CONFLICT":
                    raise
                log.log(logging.WARNING if pause == 0.1 else logging.INFO, "no steps could be taken: %s", err)
                await asyncio.sleep(pause)
                pause = min(pause * 2, 5.0)
                continue
            pause, self._pause = 0.1, got["heartbeatMs"] / 1000
            if "leaseMs" in got:
                self._id, self._number, self._lease = got["worker"], 0, got["leaseMs"] / 1000
            elif worker == self._id:
                for task in got["tasks"]:
                    self._start(task)

    async def _beats(self) -> None:
        while True:
            await asyncio.sleep(self._pause if self._steps else min(1.0, self._lease / 3))
            try:
                if self._id:
                    await self._beat(self._steps)
            except StepwellError as err:
                log.log(logging.INFO if temporary(err) else logging.ERROR, "no heartbeat: %s", err)

    async def _beat(self, steps: Dict[str, _Attempt]) -> None:
        async with self._beating:
            worker, told = self._id, []
            tasks: List[Dict[str, Any]] = []
            for receipt, step in steps.items():
                if step._fresh and not step._unheard:  # the same again until it is heard: a position has one value
                    step._fresh = False
                    step._unheard = {"progress": step._said, "position": step._position}
                if step._unheard:
                    told.append(step)
                tasks.append({"receipt": receipt, **step._unheard})
            try:
                got: types.StepsBeaten = await self._ask("heartbeat", {"worker": worker, "tasks": tasks})
            except StepwellError as err:
                if err.code == "LEASE_LOST":
                    return self._lose(worker)
                raise
            for step in told:
                step._position, step._unheard = step._position + 1, {}
            for end in got["ended"]:
                if ended := self._steps.get(end["receipt"]):
                    ended._stop(end["why"])

    def _lose(self, worker: str) -> None:
        if worker and worker == self._id:
            self._id = ""
            self._stop("lost")
            self._steps.clear()  # the next worker does not hold them, though a thread may go on

    def _stop(self, why: str) -> None:
        for step in self._steps.values():
            step._stop(why)

    def _start(self, task: types.StepTask) -> None:
        function, _ = self._functions[task["step"]]
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__"))
        step = self._steps[task["receipt"]] = AsyncStep(self, task) if is_async else Step(self, task)
        running = asyncio.ensure_future(self._run(step, function, task))
        self._running.add(running)
        running.add_done_callback(self._over)

    def _over(self, running: asyncio.Task[None]) -> None:
        self._running.discard(running)
        self._room.set()

    async def _run(self, step: _Attempt, function: Any, task: types.StepTask) -> None:
        watch = asyncio.ensure_future(self._watch(step, task.get("timeoutMs", inf), task.get("silenceMs", inf)))
        try:
            try:
                await self._complete(step, await self._call(step, function, task["input"]))
            except (Exception, asyncio.CancelledError) as err:
                with suppress(StepwellError):
                    while (step._fresh or step._unheard) and step.why not in ("ended", "lost") and self._id:
                        await self._beat({task["receipt"]: step})
                if step.why in (None, "timeout", "silence"):
                    await self._fail(step, err)
        except StepCancelled:
            pass
        except StepwellError:
            log.exception("the end of step %s of run %s was not accepted", step.name, step.run)
        finally:
            watch.cancel()
            self._steps.pop(task["receipt"], None)

    async def _watch(self, step: _Attempt, timeout: float, silence: float) -> None:
        end = step._heard + timeout / 1000
        while (left := min(end, step._heard + silence / 1000) - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 3600))
        step._stop("timeout" if time.monotonic() >= end else "silence")

    async def _call(self, step: _Attempt, function: Any, value: Any) -> Any:
        if isinstance(step, AsyncStep):
            running = asyncio.ensure_future(function(value, step))
            step._end = running.cancel
            return await running
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def call() -> None:
            try:
                done.set_result(function(value, step))
            except BaseException as err:
                done.set_exception(RuntimeError("StopIteration") if isinstance(err, StopIteration) else err)

        threading.Thread(target=call, name=f"step {step.name}", daemon=True).start()
        return await asyncio.shield(asyncio.wrap_future(done))

    async def _complete(self, step: _Attempt, output: Any) -> None:
        for stream in step._streams.values():
            await stream.finish(True)
        try:
            await self._insist(step, "complete", {"receipt": step._task["receipt"], "output": output})
        except (TypeError, ValueError) as err:
            raise Fatal(f"the output is no JSON: {err}", code="ENCODE") from err
        except StepwellError as err:
            raise Fatal(f"the output was refused: {err.detail}", code=err.code) from err

    async def _fail(self, step: _Attempt, err: BaseException) -> None:
        log.info("step %s of run %s failed in attempt %d", step.name, step.run, step.attempt, exc_info=err)
        code, frames = getattr(err, "code", None), traceback.extract_tb(err.__traceback__)
        with suppress(StepwellError):
            for stream in step._streams.values():
                await stream.finish(False)
        stopped = step.why and isinstance(err, (asyncio.CancelledError, StepCancelled))
        await self._insist(step, "fail", given(
            receipt=step._task["receipt"], silent=step.why == "silence",
            final=isinstance(err, self._functions[step.name][1]),
            delay=duration(err.after) if isinstance(err, Retry) else None,
            error=given(
                message="it was stopped" if stopped else str(err) or type(err).__name__,
                name=type(err).__name__, code=code if isinstance(code, str) else None,
                where=f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else None,
                stack="".join(traceback.format_exception(type(err), err, err.__traceback__)))))


async def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
