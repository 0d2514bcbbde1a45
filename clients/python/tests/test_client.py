"""Both clients against a real server and a real worker. Each test is one of both."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
import unittest
import uuid
from typing import Any, AsyncIterator, Callable, List

import stepwell
from house import KEYS, Door, House
from stepwell import errors

house: House


def setUpModule() -> None:
    global house
    house = House()


def tearDownModule() -> None:
    house.close()


def name() -> str:
    return uuid.uuid4().hex


class Waiting:
    """The client that blocks, called as the other one is."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.of, name)
        if not callable(value):
            return Waiting(value) if type(value).__module__ == "stepwell._sync" else value

        def call(*args: Any, **options: Any) -> Any:
            got = value(*args, **options)
            if inspect.isgenerator(got):
                return one_by_one(got)
            got = Waiting(got) if isinstance(got, stepwell.Run) else got
            return got if name == "run" else done(got)

        return call


async def done(value: Any) -> Any:
    return value


async def one_by_one(source: Any) -> AsyncIterator[Any]:
    try:
        for value in source:
            yield value
    finally:
        source.close()


class Cases:
    """What both clients do."""

    make: Callable[..., Any]

    def client(self: Any, url: str = "", scope: str = "operator", **options: Any) -> Any:
        client = self.make(url or house.url, KEYS.get(scope, scope), **options)

        async def close() -> None:
            await client.close()

        self.addAsyncCleanup(close)
        return client

    def door(self: Any, *plan: bytes) -> Door:
        door = Door(house.address)
        door.plan = list(plan)
        self.addCleanup(door.close)
        return door

    async def test_an_order(self: Any) -> None:
        client, customer = self.client(), name()
        run = await client.start(
            "order", {"customer": customer, "cents": 5}, key="cart-" + customer, id="o-" + customer, priority=3,
            attributes={"city": "Ulm"}, timeout="1d", retention_days=2)
        self.assertEqual((run.id, run.info["workflow"], run.info["priority"]), ("o-" + customer, "order", 3))
        again = await client.start("order", {"customer": customer, "cents": 5}, key="cart-" + customer)
        self.assertEqual(again.id, run.id)
        with self.assertRaises(errors.RunExists) as caught:
            await client.start("order", {"customer": customer, "cents": 5}, id=run.id)
        taken = caught.exception
        self.assertEqual((taken.code, taken.status, taken.run_id), ("RUN_EXISTS", 409, run.id))
        with self.assertRaises(errors.ResultTimeout) as late:
            await run.result(timeout=0.2)
        self.assertEqual(late.exception.run_id, run.id)
        await run.signal("paid", {"cents": 5}, key="p-1")
        await run.signal("paid", {"cents": 5}, key="p-1")
        with self.assertRaises(errors.DeliveryUsed):
            await run.signal("paid", {"cents": 6}, key="p-1")
        async for event in client.events(run.id, types=["hook_created"]):
            self.assertEqual(event["token"], "courier-" + customer)
            break
        self.assertEqual((await client.hooks.get("courier-" + customer))["token"], "courier-" + customer)
        self.assertEqual([h["run"] for h in await client.hooks.list(run=run.id)], [run.id])
        await client.hooks.send("courier-" + customer, "Bob")
        self.assertEqual(await run.result(timeout=30), "5 cents, by Bob")
        self.assertEqual((await client.run(run.id).get())["status"], "completed")
        self.assertEqual((await client.runs.get(run.id))["attributes"], {"city": "Ulm"})
        self.assertEqual((await run.why())["kind"], "over")
        with self.assertRaises(errors.RunOver):
            await run.signal("paid", {"cents": 5})
        with self.assertRaises(errors.RunOver) as over:
            await client.hooks.send("courier-" + customer, "Bob")
        self.assertEqual(over.exception.status, 410)
        with self.assertRaises(errors.NotFound):
            await client.hooks.send("no-token-" + customer)

    async def test_values_come_back(self: Any) -> None:
        client = self.client()
        values: List[Any] = [None, True, 0, "", "é\u2028\U0001f600", 2**53 + 1, [1, [2]], {"a": {"b": None}}, [], {}]
        for value in values:
            with self.subTest(value=value):
                self.assertEqual(await (await client.start("echo", value)).result(timeout=30), value)
        self.assertEqual(await (await client.start("large", 3 << 20)).result(timeout=60), "é" * (3 << 19))

    async def test_failures(self: Any) -> None:
        client = self.client()
        run = await client.start("order", {"customer": name(), "cents": 0})
        with self.assertRaises(errors.RunFailed) as caught:
            await run.result(timeout=30)
        failure = caught.exception
        self.assertEqual((failure.code, failure.run_id), ("NO_STOCK", run.id))
        self.assertIn("no lamp is left", str(failure))
        self.assertEqual(failure.error["message"], failure.detail)
        run = await client.start("ticks")
        await run.pause(reason="stock")
        await run.resume()
        await run.cancel(reason="recalled")
        with self.assertRaises(errors.RunCancelled):
            await run.result(timeout=30)
        with self.assertRaises(errors.Unfit) as unfit:
            await client.start("order", {"customer": 5})
        self.assertEqual(unfit.exception.places[0]["pointer"], "/customer")
        with self.assertRaises(errors.TooLarge):
            await client.start("echo", "x" * (8 << 20))
        with self.assertRaises(errors.NotFound):
            await client.runs.get("nobody")
        with self.assertRaises(errors.InvalidRequest):
            await client.request("GET", "/v1/runs", query={"stauts": "running"})
        with self.assertRaises(errors.Forbidden):
            await self.client(scope="viewer").start("echo")
        with self.assertRaises(errors.Forbidden):
            await run.cancel(force=True)
        with self.assertRaises(errors.Unauthenticated):
            await self.client(scope="no-key-0123456789").runs.get("nobody")

    async def test_lists(self: Any) -> None:
        client, city = self.client(), name()
        runs = [await client.start("echo", {"n": n, "of": {"a": city}}, attributes={"city": city}) for n in range(5)]
        for run in runs:
            await run.result(timeout=30)
        want = [run.id for run in reversed(runs)]
        self.assertEqual([r["id"] async for r in client.runs.list("echo", attributes={"city": city}, page=2)], want)
        self.assertEqual([r["id"] async for r in client.runs.list(input={"of.a": city, "n": 3})], want[1:2])
        ended = client.runs.list(status=["completed", "failed"], attributes={"city": city}, since="1h", payloads=True)
        self.assertEqual([r["input"]["n"] async for r in ended], [4, 3, 2, 1, 0])
        self.assertEqual([r async for r in client.runs.list(status="failed", attributes={"city": city})], [])

    async def test_messages_and_topics(self: Any) -> None:
        client, queue = self.client(), "q-" + name()
        await client.request("PUT", "/v1/queues/" + queue, body={"visibility": "5m"})
        sent = await client.queues.send(queue, {"to": "ann"}, key="m-1", headers={"a": "b"}, priority=4)
        self.assertTrue((await client.queues.send(queue, {"to": "ann"}, key="m-1"))["duplicate"])
        message, = await client.queues.receive(queue, wait=20)
        self.assertEqual((message["id"], message["payload"]), (sent["id"], {"to": "ann"}))
        self.assertEqual(message["headers"], {"a": "b"})
        self.assertEqual((await client.queues.extend(queue, message["receipt"], visibility=60))["settled"], 1)
        self.assertEqual((await client.queues.nack(queue, message["receipt"], error="later"))["settled"], 1)
        message, = await client.queues.receive(queue, most=10, wait=20, visibility=30)
        self.assertEqual((await client.queues.ack(queue, message["receipt"]))["settled"], 1)
        self.assertEqual((await client.queues.ack(queue, message["receipt"]))["old"], [message["receipt"]])
        self.assertEqual(list(await client.queues.receive(queue)), [])
        topic = "t." + name()
        published = await client.publish(topic, {"n": 1}, key="pub-1", source="tests")
        self.assertEqual(await client.publish(topic, {"n": 1}, key="pub-1"), {"id": published["id"], "duplicate": True})

    async def test_streams(self: Any) -> None:
        client = self.client()
        run = await client.start("tries")
        chunks = [chunk async for chunk in run.stream("words")]
        shown = [(c.value, c.reset, c.start, c.attempt) for c in chunks]
        self.assertEqual(shown[-2:], [(None, True, 0, 2), ("right", False, 0, 2)])
        self.assertEqual([c.value for c in chunks[:-2]], ["wrong", "worse"][: len(shown) - 2])
        listed = (await client.streams.list(run.id))["streams"]
        self.assertEqual([(s["name"], s["closed"]) for s in listed], [("words", "close")])
        last = chunks[-1].index
        self.assertEqual([c.value async for c in client.streams.read(run.id, "words", start=last)], ["right"])
        self.assertEqual([c async for c in client.streams.read(run.id, "words", start=last + 1)], [])
        run, said = await client.start("breaks"), []
        with self.assertRaises(errors.StreamFailed) as caught:
            async for chunk in run.stream("words"):
                said.append(chunk.value)
        self.assertEqual((said, caught.exception.code, caught.exception.run_id), (["half"], "NO_STOCK", run.id))

    async def test_followers_go_on_when_the_server_is_killed(self: Any) -> None:
        client, other = self.client(patience=60), stepwell.Stepwell(house.url, KEYS["operator"], patience=60)
        run = await client.start("ticks")
        events, numbers = client.events(run.id), client.streams.read(run.id, "numbers")
        seen: List[Any] = []
        said: List[Any] = []

        def away(n: int) -> None:
            house.start()
            other.run(run.id).signal("tick", n)

        for n in range(3):
            if n == 0:
                other.run(run.id).signal("tick", n)
            else:
                house.kill()
                threading.Thread(target=away, args=(n,)).start()
            said.append((await numbers.__anext__()).value)
            while not seen or seen[-1]["type"] != "signal_received" or seen[-1]["payload"] != n:
                seen.append(await events.__anext__())
        await run.signal("tick", -1)
        seen += [event async for event in events]
        said += [chunk.value async for chunk in numbers]
        self.assertEqual(await run.result(timeout=30), 3)
        self.assertEqual(said, [0, 1, 2])
        self.assertEqual([e["seq"] for e in seen], list(range(1, len(seen) + 1)))
        self.assertEqual(seen[-1]["type"], "run_completed")
        self.assertEqual([e async for e in client.events(run.id, follow=False)], seen)
        self.assertEqual([e async for e in run.events(after=seen[3]["eventId"])], seen[4:])
        self.assertEqual([e async for e in run.events(after=seen[-1]["eventId"])], [])
        other.close()

    async def test_lost_answers_are_asked_for_again(self: Any) -> None:
        forged = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n" + b'{"id": "x'
        door = self.door(b"lose", b"cut", forged, b"no HTTP at all\r\n\r\n", b"")
        run = await self.client(door.url, patience=30).start("echo", 7)
        self.assertEqual(len(door.requests), 6)
        keys = {line for r in door.requests for line in r.split(b"\r\n") if line.startswith(b"Idempotency-Key:")}
        self.assertEqual(len(keys), 1)
        self.assertEqual(await run.result(timeout=30), 7)
        started = [r["id"] async for r in self.client().runs.list("echo", key=run.info["idempotencyKey"])]
        self.assertEqual(started, [run.id])
        door.plan, asked = [b"lose"], len(door.requests)
        with self.assertRaises(errors.ConnectionFailed) as caught:
            await self.client(door.url).request("POST", f"/v1/runs/{run.id}/restart", body={})
        self.assertEqual((len(door.requests) - asked, caught.exception.code), (1, "CONNECTION"))
        self.assertNotIn(KEYS["operator"], str(caught.exception))

    async def test_it_comes_again_when_it_is_told_to(self: Any) -> None:
        busy = b'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 16\r\n\r\n{"code": "BUSY"}'
        door = self.door(busy, b"HTTP/1.1 502 Bad Gateway\r\n\r\n<html>")
        began = time.monotonic()
        self.assertEqual(await (await self.client(door.url).start("echo", 1)).result(timeout=30), 1)
        self.assertGreaterEqual(time.monotonic() - began, 1.0)
        door.plan, asked = [busy.replace(b": 1\r", b": 3600\r")], len(door.requests)
        with self.assertRaises(errors.Busy) as caught:
            await self.client(door.url).start("echo", 1)
        self.assertEqual((caught.exception.retry_after, len(door.requests) - asked), (3600.0, 1))

    async def test_a_server_that_hangs(self: Any) -> None:
        door = self.door(b"hang")
        self.assertEqual(await (await self.client(door.url, timeout=1).start("echo", 1)).result(timeout=30), 1)
        door.plan = [b"hang"]
        with self.assertRaises(errors.ConnectionFailed) as caught:
            await self.client(door.url, timeout=0.2, patience=0).start("echo", 1)
        self.assertIn("timed out", str(caught.exception))


    async def test_tls_and_paths(self: Any) -> None:
        safe = House(tls=True)
        self.addCleanup(safe.close)
        client = self.client(safe.url, tls=safe.tls)
        run = await client.start("tries")
        self.assertEqual([c.value async for c in run.stream("words")][-1], "right")
        self.assertEqual(await run.result(timeout=30), "done")
        began = time.monotonic()
        with self.assertRaises(errors.ConnectionFailed) as caught:
            await self.client(safe.url, patience=60).start("echo")
        self.assertIn("certificate", str(caught.exception).lower())
        self.assertLess(time.monotonic() - began, 30)
        with self.assertRaises(errors.NotFound) as below:
            await self.client(house.url + "/below/").runs.get("a/b ü")
        self.assertEqual(below.exception.code, "NO_ROUTE")


class Async(Cases, unittest.IsolatedAsyncioTestCase):
    make = staticmethod(stepwell.AsyncStepwell)

    async def test_whoever_is_cancelled_leaves_at_once(self) -> None:
        client = self.client()
        run = await client.start("ticks")

        async def follow() -> None:
            async for _ in run.stream("numbers"):
                pass

        await client.request("PUT", "/v1/queues/idle", body={})
        hangs = self.client(self.door(b"hang").url)
        for waiting in (run.result(), follow(), client.queues.receive("idle", wait=30), hangs.start("echo")):
            task = asyncio.ensure_future(waiting)
            await asyncio.sleep(0.2)
            began = time.monotonic()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertLess(time.monotonic() - began, 1.0)
        await run.cancel()
        with self.assertRaises(errors.RunCancelled):
            await run.result(timeout=30)

    async def test_many_at_once(self) -> None:
        client = self.client()
        runs = await asyncio.gather(*(client.start("echo", n) for n in range(50)))
        self.assertEqual(await asyncio.gather(*(r.result(timeout=60) for r in runs)), list(range(50)))


class Blocking(Cases, unittest.IsolatedAsyncioTestCase):
    make = staticmethod(lambda *args, **options: Waiting(stepwell.Stepwell(*args, **options)))

    def test_threads_share_it(self) -> None:
        with stepwell.Stepwell(house.url, KEYS["operator"]) as client:
            got = []

            def one(n: int) -> None:
                got.append(client.start("echo", n).result(timeout=60))

            threads = [threading.Thread(target=one, args=(n,)) for n in range(20)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(sorted(got), list(range(20)))


if __name__ == "__main__":
    unittest.main()
