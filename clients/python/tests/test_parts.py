"""What needs no server."""

import datetime
import os
import pickle
import unittest
from typing import Any
from unittest import mock

import stepwell
from stepwell import _core, errors


class Parts(unittest.TestCase):
    def test_durations_and_moments(self) -> None:
        minute = datetime.timedelta(minutes=1)
        cases: Any = ((90, "90000ms"), (0.25, "250ms"), (minute, "60000ms"), ("7d", "7d"), (None, None))
        for value, want in cases:
            self.assertEqual(_core.duration(value), want)
        at = datetime.datetime(2026, 1, 2, 3, 4, tzinfo=datetime.timezone.utc)
        self.assertEqual(_core.moment(at), "2026-01-02T03:04:00+00:00")
        self.assertEqual(_core.moment(minute), "60000ms")
        with self.assertRaises(ValueError):
            _core.moment(datetime.datetime(2026, 1, 2))

    def test_address_and_key(self) -> None:
        known = {"STEPWELL_URL": "https://a.example:444/below/", "STEPWELL_API_KEY": "operator:me:s3cret,x"}
        with mock.patch.dict(os.environ, known):
            address, key = _core.parse(None, None, None)
            self.assertEqual((address.host, address.port, address.name), ("a.example", 444, "a.example:444"))
            self.assertEqual((address.path, key), ("/below", "s3cret"))
            self.assertIsNotNone(address.tls)
            self.assertEqual(_core.parse("http://hidden@b.example", None, None)[1], "hidden")
            address, key = _core.parse("http://[::1]:80", "given", None)
            self.assertEqual((address.host, address.name, key), ("::1", "[::1]:80", "given"))
        self.assertEqual(_core.parse("http://me:hidden@b.example", None, None)[0].shown, "http://b.example")
        for wrong in ("ftp://hidden@host", "http://hidden@", "http://hidden@host:port", "http://hidden@host?a", "a"):
            with self.assertRaises(ValueError) as caught:
                _core.parse(wrong, None, None)
            self.assertNotIn("hidden", str(caught.exception))
        with self.assertRaises(ValueError) as caught:
            _core.parse("http://host", "hidden\r\nX: y", None)
        self.assertNotIn("hidden", str(caught.exception))

    def test_messages_in_any_pieces(self) -> None:
        text = ': \n\nid: 7\nevent: chunk\ndata: {"value": "é"}\n\ndata: a\ndata: b\r\n\r\n'.encode()
        text += b"event: end\ndata: {}\n\n"
        for size in range(1, len(text) + 1):
            m = _core.Messages()
            got = [x for i in range(0, len(text), size) for x in m.feed(text[i : i + size])]
            self.assertEqual([(x.event, x.id, x.data) for x in got], [
                ("chunk", "7", '{"value": "é"}'), ("", None, "a\nb"), ("end", None, "{}"),
            ])

    def test_errors_by_code(self) -> None:
        err = errors.refusal(409, None, b'{"code": "RUN_EXISTS", "detail": "taken"}', "r-1")
        self.assertIsInstance(err, errors.RunExists)
        self.assertIsInstance(err, errors.Conflict)
        self.assertEqual((err.code, err.status, err.run_id), ("RUN_EXISTS", 409, "r-1"))
        self.assertEqual(str(err), "RUN_EXISTS: taken (run r-1)")
        again = pickle.loads(pickle.dumps(err))
        self.assertEqual((type(again), again.code, str(again)), (errors.RunExists, "RUN_EXISTS", str(err)))
        new = errors.refusal(418, None, b'{"code": "NEW", "title": "A new one"}', None)
        self.assertEqual((type(new), str(new)), (stepwell.StepwellError, "NEW: A new one"))
        proxy = errors.refusal(502, "3", b"<html>", None)
        self.assertEqual((type(proxy), proxy.code, proxy.retry_after), (errors.Unavailable, "HTTP_502", 3.0))
        limited = errors.refusal(429, "2", b'{"code": "RATE_LIMITED", "retryAfterMs": 1500}', None)
        self.assertEqual(limited.retry_after, 1.5)
        past = errors.refusal(503, "Thu, 01 Jan 1970 00:00:00 GMT", b"", None)
        self.assertEqual(past.retry_after, 0.0)
        self.assertIsInstance(errors.ResultTimeout("late"), TimeoutError)
        self.assertEqual(errors.CLASSES["RESULT_TIMEOUT"], errors.ResultTimeout)

    def test_what_cannot_be_sent(self) -> None:
        with stepwell.Stepwell("http://127.0.0.1:9", patience=0) as client:
            with self.assertRaises(ValueError):
                client.start("order", float("nan"))
            with self.assertRaises(ValueError):
                client.start("order", key="a\r\nX: y")
            with self.assertRaises(TypeError):
                client.start("order", object())
            with self.assertRaises(errors.ConnectionFailed):
                client.start("order")


if __name__ == "__main__":
    unittest.main()
