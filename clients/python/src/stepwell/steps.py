"""A step worker: this program's functions run steps of workflows in Go.

    from stepwell import Stepwell
    from stepwell.steps import Step, Worker

    worker = Worker(Stepwell(), concurrency=4)

    @worker.step("resize")
    def resize(picture, step: Step):
        return {"thumb": shrink(picture["path"])}

    worker.run()  # until SIGTERM or SIGINT

A coroutine function runs in the worker's event loop and is given an AsyncStep; others have a thread of their own.
"""

from __future__ import annotations

import asyncio
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
from typing import Any, Awaitable, Callable, Coroutine, Dict, List, Optional, Sequence, Set, Tuple, Type, TypeVar, Union, overload

from . import types
from ._async import AsyncStepwell
from ._core import given, path, temporary
from ._sync import Stepwell
from ._transport import AsyncTransport
from .errors import StepwellError

__all__ = ["AsyncStep", "Fatal", "Retry", "Step", "StepCancelled", "Worker"]

log = logging.getLogger("stepwell.steps")

WAIT = 25  # seconds that one request waits for steps: proxies cut what takes longer than 30
FULL = 256 << 10  # bytes of a stream that may wait to be sent
GONE = ("LEASE_LOST", "RUN_OVER", "NOT_FOUND")  # nobody waits for the attempt any more

T = TypeVar("T")
Errors = Tuple[Type[BaseException], ...]


class Fatal(Exception):
    """Ends the step: it is not tried again. code is for the code of the workflow."""

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Retry(Exception):
    """Fails the attempt, and says in how many seconds the next one is to begin."""

    def __init__(self, message: str, *, after: float, code: str = "") -> None:
        super().__init__(message)
        self.after, self.code = after, code


class StepCancelled(Exception):
    """The attempt is to end."""


class _Attempt:
    def __init__(self, worker: Worker, task: types.StepTask) -> None:
        self._worker, self._task = worker, task
        self.name, self.run, self.workflow = task["step"], task["run"], task["workflow"]
        self.id = task["id"]  # the same on every attempt: an idempotency key for whatever the step calls
        self.attempt = task["attempt"]  # from 1
        self.progress = task.get("progress")  # what an attempt before said last
        self.why: Optional[str] = None  # it is to end: ended, timeout, silence, lost or shutdown
        self._said: Any = None
        self._fresh, self._position, self._heard = False, 0, time.monotonic()
        self._streams: Dict[str, _Stream] = {}
        self._end: Callable[[], object] = lambda: None

    def heartbeat(self, progress: Any = None) -> None:
        """Says how far the step is, as JSON of 4 KiB. It returns at once; the next attempt finds it in progress."""
        self.check()
        json.dumps(progress, allow_nan=False)
        self._said, self._fresh, self._heard = progress, True, time.monotonic()

    def check(self) -> None:
        """Raises StepCancelled where the attempt is to end."""
        if self.why is not None:
            raise StepCancelled(self.why)

    def _stream(self, name: str) -> _Stream:
        self.check()
        return self._streams.setdefault(name, _Stream(self, name))

    def _stop(self, why: str) -> None:
        if self.why is None:
            self.why = why
            self._end()


class AsyncStep(_Attempt):
    """The attempt that a coroutine runs. Where it is to end, its task is cancelled."""

    async def write(self, stream: str, *chunks: Any) -> None:
        """Adds to a stream of the run. It is durable when flush returns, and when the step has completed."""
        await self._stream(stream).write(chunks)

    async def flush(self, stream: str) -> None:
        """Returns when all that was written is durable."""
        await self._stream(stream).flush()

    async def close(self, stream: str, error: Optional[str] = None) -> None:
        """Says that nothing follows, or with an error that it is not complete. It holds once the step has completed."""
        self._stream(stream).close(error)


class Step(_Attempt):
    """The attempt that a function runs in its thread. Where it is to end, `cancelled` is set, and check raises."""

    def __init__(self, worker: Worker, task: types.StepTask) -> None:
        super().__init__(worker, task)
        self.cancelled = threading.Event()
        self._end = self.cancelled.set

    def write(self, stream: str, *chunks: Any) -> None:
        """See AsyncStep."""
        self._await(self._stream(stream).write(chunks))

    def flush(self, stream: str) -> None:
        """See AsyncStep."""
        self._await(self._stream(stream).flush())

    def close(self, stream: str, error: Optional[str] = None) -> None:
        """See AsyncStep."""
        self._stream(stream).close(error)

    def _await(self, doing: Coroutine[Any, Any, None]) -> None:
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
        self.bytes += len(json.dumps(chunks, allow_nan=False))
        self.chunks += chunks
        if self.sending is None:
            self.sending = asyncio.ensure_future(self.send())
        if self.bytes > FULL or self.sending.done():
            await self.flush()

    def close(self, error: Optional[str]) -> None:
        self.end = {"close": True} if error is None else {"error": {"message": error}}

    async def flush(self) -> None:
        while self.sending and (self.chunks or not self.sending.done()):
            await asyncio.shield(self.sending)
            self.sending = asyncio.ensure_future(self.send())

    async def send(self) -> None:
        while self.chunks:
            chunks, self.chunks, self.bytes = self.chunks, [], 0
            await self.add(len(chunks), chunks=chunks)

    async def add(self, number: int, **what: Any) -> None:
        body = {"receipt": self.step._task["receipt"], "stream": self.name, "position": self.position, **what}
        await self.step._worker._insist(self.step, "write", body)
        self.position += number

    async def finish(self, completed: bool) -> None:
        await self.flush()
        if completed and self.end:
            await self.add(1, **self.end)


F = TypeVar("F", bound=Union[Callable[[Any, AsyncStep], Awaitable[Any]], Callable[[Any, Step], Any]])


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
        self._joining = {"name": name or f"{socket.gethostname()}:{os.getpid()}", "lease": f"{round(lease * 1000)}ms"}
        self._functions: Dict[str, Tuple[Any, Errors]] = {}
        self._steps: Dict[str, _Attempt] = {}  # that run, by receipt
        self._running: Set[asyncio.Task[None]] = set()
        self._id, self._number, self._lease, self._pause = "", 0, lease, 1.0
        self._stopping = False

    @overload
    def step(self, name: str, function: F, *, final: Errors = ...) -> F: ...
    @overload
    def step(self, name: str, *, final: Errors = ...) -> Callable[[F], F]: ...

    def step(self, name: str, function: Any = None, *, final: Errors = ()) -> Any:
        """Says which function runs a step: it is given the input and the Step. final: errors like Fatal.

        Without a function it is a decorator.
        """
        if function is None:
            return lambda f: self.step(name, f, final=final)
        self._functions[name] = (function, (Fatal, *final))
        return function

    def run(self) -> None:
        """Works until SIGTERM, SIGINT or stop."""
        asyncio.run(self.serve(signals=True))

    def stop(self) -> None:
        """Ends the worker, as SIGTERM does. Any thread may call it."""
        self._stopping = True
        with suppress(AttributeError, RuntimeError):  # it has not begun, or has ended
            self._loop.call_soon_threadsafe(self._stopped.set)

    async def serve(self, *, signals: bool = False) -> None:
        """Works in this event loop until stop is called, or the task is cancelled."""
        self._loop, self._stopped, self._room = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._core, self._beating = self._of._core.over(AsyncTransport()), asyncio.Lock()
        if signals:
            for number in (signal.SIGTERM, signal.SIGINT):
                with suppress(NotImplementedError):  # Windows
                    self._loop.add_signal_handler(number, self.stop)
        if self._stopping:
            self._stopped.set()
        loops = [asyncio.ensure_future(loop) for loop in (self._takes(), self._beats(), self._stopped.wait())]
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            await _cancel(loops[0])
            for loop in done:
                loop.result()  # what ended it is raised
            if self._running:
                await asyncio.wait(self._running, timeout=self._drain)
        finally:
            await self._leave(loops)

    async def _leave(self, loops: Sequence[asyncio.Future[Any]]) -> None:
        for step in self._steps.values():
            step._stop("shutdown")
        for loop in loops:
            await _cancel(loop)
        if self._running:  # a thread may go on
            await asyncio.wait(self._running, timeout=1)
        with suppress(StepwellError):
            if self._id:
                await self._beat(self._steps)  # the last progress
                await self._ask("leave", {"worker": self._id}, patience=5)
        self._id = ""
        self._core.close()

    async def _ask(self, call: str, body: Any, timeout: float = 10, patience: float = 0) -> Any:
        until = time.monotonic() + patience
        return await self._core.call("POST", path("steps", call), body=body, timeout=timeout, until=until)

    async def _insist(self, step: _Attempt, call: str, body: Any) -> None:
        """Says something of a step until the server has heard it. StepCancelled: nobody wants to."""
        failures = 0
        while step.why not in ("ended", "lost") and self._id:
            try:
                await self._ask(call, body)
                return
            except StepwellError as err:
                if err.code in GONE:
                    step._stop("ended")
                    break
                if not temporary(err):
                    raise
                await asyncio.sleep(min(0.1 * 2**failures, 2.0))
                failures += 1
        raise StepCancelled(step.why)

    async def _takes(self) -> None:
        failures = 0
        while True:
            self._room.clear()
            if len(self._steps) >= self._concurrency:
                await self._room.wait()
                continue
            body: Dict[str, Any] = {"steps": sorted(self._functions), "wait": f"{WAIT}s", **self._joining}
            if worker := self._id:
                self._number += 1
                most = self._concurrency - len(self._steps)
                body.update(worker=worker, number=self._number, most=most, holds=list(self._steps))
            try:
                got: types.StepsTaken = await self._ask("take", body, timeout=WAIT + 10)
            except StepwellError as err:
                if err.code == "LEASE_LOST":
                    self._lose(worker)
                elif not temporary(err) and err.code != "CONFLICT":
                    raise
                else:
                    log.log(logging.INFO if failures else logging.WARNING, "no steps could be taken: %s", err)
                await asyncio.sleep(min(0.1 * 2**failures, 5.0))
                failures = min(failures + 1, 10)
                continue
            failures = 0
            self._pause = got["heartbeatMs"] / 1000
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
            worker, told, tasks = self._id, [], []
            for receipt, step in steps.items():
                fresh, step._fresh = step._fresh, False
                task: types.StepStands = {"receipt": receipt}
                if fresh:
                    told.append(step)
                    task["progress"], task["position"] = step._said, step._position
                tasks.append(task)
            try:
                got: types.StepsBeaten = await self._ask("heartbeat", {"worker": worker, "tasks": tasks})
            except StepwellError as err:
                for step in told:  # it is said again
                    step._fresh = True
                if err.code == "LEASE_LOST":
                    return self._lose(worker)
                raise
            for step in told:
                step._position += 1
            for end in got["ended"]:
                if end["receipt"] in self._steps:
                    self._steps[end["receipt"]]._stop(end["why"])

    def _lose(self, worker: str) -> None:
        """The lease is over: others do what this worker had."""
        if worker and worker == self._id:
            log.warning("the lease of worker %s was lost, and with it %d steps", worker, len(self._steps))
            self._id = ""
            for step in self._steps.values():
                step._stop("lost")

    def _start(self, task: types.StepTask) -> None:
        function, _ = self._functions[task["step"]]
        is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__"))
        step: Union[Step, AsyncStep] = AsyncStep(self, task) if is_async else Step(self, task)
        self._steps[task["receipt"]] = step
        running = asyncio.ensure_future(self._run(step, function, task))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _run(self, step: Union[Step, AsyncStep], function: Any, task: types.StepTask) -> None:
        timers = [self._loop.call_later(task["timeoutMs"] / 1000, step._stop, "timeout")] if "timeoutMs" in task else []
        if "silenceMs" in task:
            timers.append(self._loop.call_later(0, self._watch, step, task["silenceMs"] / 1000, timers))
        try:
            try:
                await self._complete(step, await self._call(step, function, task["input"]))
            except (Exception, asyncio.CancelledError) as err:
                if step.why in (None, "timeout", "silence"):
                    await self._fail(step, err)
        except StepCancelled:
            pass
        except StepwellError:
            log.exception("the end of step %s of run %s was not accepted", step.name, step.run)
        finally:
            for timer in timers:
                timer.cancel()
            del self._steps[task["receipt"]]
            self._room.set()

    def _watch(self, step: _Attempt, silence: float, timers: List[asyncio.TimerHandle]) -> None:
        left = step._heard + silence - time.monotonic()
        if left <= 0:
            step._stop("silence")
        else:
            timers[-1] = self._loop.call_later(left, self._watch, step, silence, timers)

    async def _call(self, step: Union[Step, AsyncStep], function: Any, value: Any) -> Any:
        done: asyncio.Future[Any] = self._loop.create_future()
        if isinstance(step, AsyncStep):
            done = asyncio.ensure_future(function(value, step))
            step._end = done.cancel
            return await done

        def finish(set_it: Callable[[Any], None], what: Any) -> None:
            if not done.done():
                set_it(what)

        def call() -> None:
            ends: Tuple[Callable[[Any], None], Any]
            try:
                ends = done.set_result, function(value, step)
            except BaseException as err:
                ends = done.set_exception, RuntimeError("StopIteration") if isinstance(err, StopIteration) else err
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(finish, *ends)

        threading.Thread(target=call, name=f"step {step.name}", daemon=True).start()
        return await done

    async def _complete(self, step: _Attempt, output: Any) -> None:
        try:
            json.dumps(output, allow_nan=False)
        except (TypeError, ValueError) as err:
            raise Fatal(f"the output is no JSON: {err}", code="ENCODE") from err
        for stream in step._streams.values():
            await stream.finish(True)
        try:
            await self._insist(step, "complete", {"receipt": step._task["receipt"], "output": output})
        except StepwellError as err:
            raise Fatal(f"the output was refused: {err.detail}", code=err.code) from err

    async def _fail(self, step: _Attempt, err: BaseException) -> None:
        log.info("step %s of run %s failed in attempt %d", step.name, step.run, step.attempt, exc_info=err)
        receipt, code, frames = step._task["receipt"], getattr(err, "code", None), traceback.extract_tb(err.__traceback__)
        with suppress(StepwellError):
            for stream in step._streams.values():
                await stream.finish(False)
            if step._fresh:
                await self._beat({receipt: step})
        stopped = step.why and isinstance(err, (asyncio.CancelledError, StepCancelled))
        await self._insist(step, "fail", given(
            receipt=receipt, final=isinstance(err, self._functions[step.name][1]), silent=step.why == "silence",
            delay=f"{round(err.after * 1000)}ms" if isinstance(err, Retry) else None,
            error=given(
                message="it was stopped" if stopped else str(err) or type(err).__name__, name=type(err).__name__,
                code=code if isinstance(code, str) and code else None,
                where=f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else None,
                stack="".join(traceback.format_exception(type(err), err, err.__traceback__)))))


async def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, StepwellError):
        await task
