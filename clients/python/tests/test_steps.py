"""Step workers against a real server, for steps of workflows in Go."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import unittest
from typing import Any, AsyncIterator, Callable, Dict, List, Optional

from house import KEYS, House
from stepwell import AsyncRun, AsyncStepwell, Stepwell, errors
from stepwell.steps import AsyncStep, Fatal, Retry, Step, StepCancelled, Worker

house: House


def setUpModule() -> None:
    global house
    house = House(through=True)


def tearDownModule() -> None:
    house.close()


class Steps(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = AsyncStepwell(house.url, KEYS["operator"])
        self.addAsyncCleanup(self.client.close)

    @contextlib.asynccontextmanager
    async def works(self, functions: Optional[Dict[str, Any]] = None, **options: Any) -> AsyncIterator[Worker]:
        given: Dict[str, Any] = {"lease": 3, "drain": 1, **options}
        worker = Worker(AsyncStepwell(house.url, KEYS["steps"]), **given)
        for name, function in (functions or {}).items():
            worker.step(name, function, final=(LookupError,))
        serving = asyncio.ensure_future(worker.serve())
        try:
            yield worker
        finally:
            worker.stop()
            await serving

    async def call(self, value: Any = None, step: str = "remote") -> AsyncRun:
        return await self.client.start("call", {"step": step, "input": value})

    async def failure(self, run: AsyncRun) -> errors.RunFailed:
        with self.assertRaises(errors.RunFailed) as failed:
            await run.result(timeout=60)
        return failed.exception

    async def attempts(self, run: AsyncRun) -> List[str]:
        said = []
        async for event in run.events(follow=False):
            if event.get("attempt"):
                said.append(f"{event['type']} {event['attempt']} {event.get('error', {}).get('code', '')}".strip())
        return said

    async def until(self, there: Callable[[], Any]) -> Any:
        end = time.monotonic() + 60
        while not (got := there()):
            self.assertLess(time.monotonic(), end)
            await asyncio.sleep(0.01)
        return got

    async def test_each_is_done_once(self) -> None:
        done: List[Any] = []

        def blocks(value: int, step: Step) -> Any:
            done.append(value)
            time.sleep(0.01)
            return {"twice": value * 2, "attempt": step.attempt, "id": step.id}

        async def waits(value: int, step: AsyncStep) -> Any:
            done.append(value)
            await asyncio.sleep(0.01)
            return {"twice": value * 2, "attempt": step.attempt, "id": step.id}

        for function in (blocks, waits):
            done.clear()
            async with self.works({"remote": function}, concurrency=8):
                runs = [await self.call(n) for n in range(30)]
                got = await asyncio.gather(*(run.result(timeout=60) for run in runs))
            self.assertEqual([(g["twice"], g["attempt"]) for g in got], [(2 * n, 1) for n in range(30)])
            self.assertEqual(len({g["id"] for g in got}), 30)
            self.assertEqual(sorted(done), list(range(30)))

    async def test_large_values(self) -> None:
        async def reverse(value: str, step: AsyncStep) -> str:
            return value[::-1]

        async with self.works({"remote": reverse}):
            run = await self.call("a" + "é" * 1_000_000)
            self.assertEqual(await run.result(timeout=60), "é" * 1_000_000 + "a")

    async def test_errors(self) -> None:
        def fails(value: Any, step: Step) -> Any:
            if value == "twice" and step.attempt == 3:
                return "there"
            if value == "later" and step.attempt == 2:
                return "later"
            raise {"twice": ValueError("not yet"), "always": OSError("no"), "fatal": Fatal("never", code="NO_COLOUR"),
                   "listed": KeyError("x"), "later": Retry("busy", after=0.2)}[value]

        async with self.works({"remote": fails}):
            run = await self.call("twice")
            self.assertEqual(await run.result(timeout=60), "there")
            self.assertEqual(await self.attempts(run), [
                "step_started 1", "step_retrying 1", "step_started 2", "step_retrying 2", "step_started 3",
                "step_completed 3"])
            run = await self.call("always")
            failed = await self.failure(run)
            self.assertIn("no", failed.error["message"])
            self.assertEqual(len([a for a in await self.attempts(run) if a.startswith("step_started")]), 3)
            run = await self.call("fatal")
            failed = await self.failure(run)
            self.assertEqual(failed.code, "NO_COLOUR")
            self.assertEqual(await self.attempts(run), ["step_started 1", "step_failed 1 NO_COLOUR"])
            run = await self.call("listed")
            await self.failure(run)
            self.assertEqual(await self.attempts(run), ["step_started 1", "step_failed 1"])
            began = time.monotonic()
            self.assertEqual(await (await self.call("later")).result(timeout=60), "later")
            self.assertGreater(time.monotonic() - began, 0.2)

    async def test_the_error_says_where(self) -> None:
        async def fails(value: Any, step: AsyncStep) -> Any:
            raise Fatal("here")

        async with self.works({"remote": fails}):
            run = await self.call()
            await self.failure(run)
            async for event in run.events(types=["step_failed"]):
                self.assertRegex(event["error"]["where"], r"^test_steps\.py:\d+$")
                self.assertIn("in fails", event["error"]["stack"])
                self.assertEqual(event["error"]["name"], "Fatal")

    async def test_what_is_no_json_is_final(self) -> None:
        async def odd(value: Any, step: AsyncStep) -> Any:
            return {1, 2}

        async with self.works({"remote": odd}):
            run = await self.call()
            self.assertEqual((await self.failure(run)).code, "ENCODE")
            self.assertEqual(await self.attempts(run), ["step_started 1", "step_failed 1 ENCODE"])

    async def test_progress(self) -> None:
        seen: List[Any] = []

        def counts(value: Any, step: Step) -> Any:
            seen.append(step.progress)
            for row in range(step.progress["row"] if step.progress else 0, 1000):
                step.heartbeat({"row": row})
                if row == 500 and step.attempt == 1:
                    raise OSError("the line is cut")
            return step.attempt

        async with self.works({"remote": counts}):
            self.assertEqual(await (await self.call()).result(timeout=60), 2)
        self.assertEqual(seen, [None, {"row": 500}])

    async def test_progress_is_what_was_said(self) -> None:
        """Whatever becomes of the value afterwards, and whichever answer is lost."""
        seen: List[Any] = []
        told = threading.Event()

        def changes(value: Any, step: Step) -> Any:
            seen.append(step.progress)
            if step.attempt > 1:
                return "done"
            state: Dict[str, Any] = {"row": 1}
            step.heartbeat(state)
            step.write("words", state)
            state["row"] = {2}  # no JSON
            told.wait(60)
            step.heartbeat({"row": 3})
            raise OSError("the line is cut")

        async with self.works({"remote": changes}) as worker:
            ask = worker._ask

            async def loses(call: str, body: Any, timeout: float = 10) -> Any:
                got = await ask(call, body, timeout)
                if call == "heartbeat" and any("progress" in task for task in body["tasks"]) and not told.is_set():
                    told.set()
                    raise errors.ConnectionFailed("the answer is lost")
                return got

            worker._ask = loses  # type: ignore[assignment]
            run = await self.call()
            self.assertEqual(await run.result(timeout=60), "done")
        self.assertEqual(seen, [None, {"row": 3}])

    async def test_the_lease_is_lost_while_a_step_goes_on(self) -> None:
        """The worker takes others, with a new ID, and the step has the next attempt."""
        go_on = threading.Event()
        begun: List[Any] = []

        def runs_on(value: Any, step: Step) -> Any:
            begun.append((value, step.attempt))
            if begun == [("first", 1)]:
                go_on.wait(60)  # a call that hears of nothing
            return [value, step.attempt]

        async with self.works({"remote": runs_on}, concurrency=2) as worker:
            run = await self.call("first")
            await self.until(lambda: begun)
            async with AsyncStepwell(house.url, KEYS["steps"]) as client:
                await client.request("POST", "/v1/steps/leave", body={"worker": worker._id})
            value, attempt = await run.result(timeout=60)
            self.assertEqual(value, "first")
            self.assertGreater(attempt, 1)
            self.assertEqual(await (await self.call("next")).result(timeout=60), ["next", 1])
            go_on.set()
            self.assertEqual(await (await self.call("last")).result(timeout=60), ["last", 1])
        self.assertEqual((await self.attempts(run))[-1], f"step_completed {attempt}")

    async def test_cancelled(self) -> None:
        heard: List[str] = []

        def blocks(value: Any, step: Step) -> None:
            heard.append("begun")
            step.cancelled.wait(60)
            with contextlib.suppress(StepCancelled):
                step.check()
            heard.append(f"{step.why}")
            step.check()

        async def waits(value: Any, step: AsyncStep) -> None:
            heard.append("begun")
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                heard.append(f"{step.why}")
                raise

        for function in (blocks, waits):
            heard.clear()
            async with self.works({"remote": function}):
                run = await self.call()
                await self.until(lambda: heard)
                began = time.monotonic()
                await run.cancel()
                await self.until(lambda: len(heard) > 1)
                self.assertLess(time.monotonic() - began, 5)
                with self.assertRaises(errors.RunCancelled):
                    await run.result(timeout=60)
            self.assertEqual(heard, ["begun", "ended"])

    async def test_its_time_is_up(self) -> None:
        def blocks(value: Any, step: Step) -> Any:
            step.cancelled.wait(60)
            if value == "late":
                return "all the same"
            step.check()

        async def waits(value: Any, step: AsyncStep) -> Any:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if value == "late":
                    return "all the same"
                raise

        async def talks(value: Any, step: AsyncStep) -> Any:
            for n in range(20):
                step.heartbeat(n)
                await asyncio.sleep(0.1)
            await asyncio.sleep(60)

        for brief in (blocks, waits):
            async with self.works({"brief": brief, "quiet": talks}):
                run = await self.call(step="brief")
                failed = await self.failure(run)
                self.assertEqual(failed.code, "TIMEOUT")
                self.assertIn("timed out after 1s: it was stopped", failed.error["message"])
                self.assertEqual(await (await self.call("late", "brief")).result(timeout=60), "all the same")
                if brief is waits:
                    failed = await self.failure(await self.call(step="quiet"))
                    self.assertEqual(failed.code, "HEARTBEAT")

    async def test_streams(self) -> None:
        def speaks(value: Any, step: Step) -> str:
            for n in range(100):
                step.write("words", {"attempt": step.attempt, "n": n})
            if step.attempt == 1:
                step.flush("words")
                raise OSError("a cough")
            step.write("words", *["x" * 50_000] * 10)
            step.close("words")
            return "said"

        async def breaks(value: Any, step: AsyncStep) -> None:
            await step.write("words", "half")
            step.close("words", "no breath")

        async with self.works({"remote": speaks}):
            run = await self.call()
            self.assertEqual(await run.result(timeout=60), "said")
            chunks = [chunk async for chunk in run.stream("words")]
            reset = [i for i, chunk in enumerate(chunks) if chunk.reset]
            self.assertEqual(len(reset), 1)
            said = [chunk.value for chunk in chunks[reset[0] + 1 :]]
            self.assertEqual(said[:100], [{"attempt": 2, "n": n} for n in range(100)])
            self.assertEqual([len(word) for word in said[100:]], [50_000] * 10)
        async with self.works({"remote": breaks}):
            run = await self.call()
            await run.result(timeout=60)
            with self.assertRaisesRegex(errors.StreamFailed, "no breath"):
                [chunk async for chunk in run.stream("words")]

    async def test_the_server_is_killed(self) -> None:
        begun, go_on, calls = threading.Event(), threading.Event(), []

        def waits(value: Any, step: Step) -> Any:
            calls.append(step.attempt)
            begun.set()
            go_on.wait(60)
            step.write("words", "still here")
            return "done"

        async with self.works({"remote": waits}, lease=10) as worker:
            run = await self.call()
            await self.until(begun.is_set)
            house.kill()
            go_on.set()
            await self.until(lambda: any(s._streams for s in worker._steps.values()))  # it tries to tell
            house.start()
            self.assertEqual(await run.result(timeout=60), "done")
            self.assertEqual(await self.attempts(run), ["step_started 1", "step_completed 1"])
            self.assertEqual([c.value async for c in run.stream("words")], ["still here"])
        self.assertEqual(calls, [1])

    def program(self, drain: str) -> subprocess.Popen[str]:
        env = {**os.environ, "STEPWELL_URL": house.url, "STEPWELL_API_KEY": KEYS["steps"]}
        path = os.path.join(os.path.dirname(__file__), "steps_program.py")
        process = subprocess.Popen([sys.executable, path, drain], env=env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        assert process.stdout
        self.addCleanup(process.stdout.close)
        return process

    async def line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout
        return (await asyncio.to_thread(process.stdout.readline)).strip()

    async def goes_on(self, run: AsyncRun) -> Any:
        async def last(value: Any, step: AsyncStep) -> Any:
            return [step.attempt, step.progress]

        async with self.works({"remote": last}):
            return await run.result(timeout=60)

    async def said(self, run: AsyncRun) -> None:
        """Returns when the progress is durable."""
        while True:
            journal = await self.client.request("GET", f"/v1/runs/{run.id}/steps")
            if any("progress" in step for step in journal["steps"]):
                return
            await asyncio.sleep(0.05)

    async def test_killed_in_the_middle(self) -> None:
        process = self.program("60")
        run = await self.call()
        self.assertEqual(await self.line(process), "begun 1")
        await self.said(run)
        process.kill()
        self.assertEqual(await self.goes_on(run), [2, {"row": 7}])
        self.assertEqual(await self.attempts(run), ["step_started 1", "step_started 2", "step_completed 2"])

    async def test_told_to_end(self) -> None:
        process = self.program("0.1")
        run = await self.call()
        self.assertEqual(await self.line(process), "begun 1")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(await self.line(process), "over")
        self.assertEqual(process.wait(30), 0)
        self.assertEqual(await self.goes_on(run), [2, {"row": 7}])
        self.assertEqual(await self.attempts(run), [
            "step_started 1", "step_retrying 1 ABANDONED", "step_started 2", "step_completed 2"])

    async def test_a_shutdown_waits(self) -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def waits(value: Any, step: AsyncStep) -> Any:
            begun.set()
            await go_on.wait()
            return step.attempt

        async with self.works({"remote": waits}, drain=30) as worker:
            run = await self.call()
            await begun.wait()
            worker.stop()
            await asyncio.sleep(0.1)
            go_on.set()
        self.assertEqual(await run.result(timeout=60), 1)

    def test_it_blocks(self) -> None:
        with Stepwell(house.url, KEYS["operator"]) as client, Stepwell(house.url, KEYS["steps"]) as steps:
            worker = Worker(steps, lease=3)
            worker.step("remote", lambda value, step: value + 1)
            thread = threading.Thread(target=lambda: asyncio.run(worker.serve()))
            thread.start()
            self.assertEqual(client.start("call", {"step": "remote", "input": 41}).result(timeout=60), 42)
            worker.stop()
            thread.join()

    async def test_the_key_is_for_its_steps(self) -> None:
        for key, step in (("operator", "remote"), ("steps", "other")):
            worker = Worker(AsyncStepwell(house.url, KEYS[key]))
            worker.step(step, lambda value, step: None)
            with self.assertRaises(errors.Forbidden):
                await worker.serve()
        steps = AsyncStepwell(house.url, KEYS["steps"])
        self.addAsyncCleanup(steps.close)
        with self.assertRaises(errors.Forbidden):
            await steps.start("call", {"step": "remote"})
        with self.assertRaises(errors.Forbidden):
            await steps.runs.get("any")


if __name__ == "__main__":
    unittest.main()
