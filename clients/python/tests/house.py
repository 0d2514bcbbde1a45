"""A Stepwell server and a worker as processes of their own, and a door before the server that can misbehave."""

from __future__ import annotations

import os
import socket
import socketserver
import ssl
import subprocess
import threading
import time
import urllib.request
from typing import List

KEYS = {scope: scope + "-0123456789abcdef0123456789" for scope in ("admin", "operator", "viewer", "worker", "steps")}
SCOPES = {"steps": "steps?step=remote&step=brief&step=quiet"}


class House:
    """A server that can be killed and started again, on its database and at its address; with TLS without a worker.

    Its worker is beside it, or works through it: a SQLite file has one process with workers.
    """

    def __init__(self, tls: bool = False, through: bool = False) -> None:
        self.db = os.environ["STEPWELL_TEST_DB"]
        self.address = f"127.0.0.1:{free_port()}"
        self.url = ("https://" if tls else "http://") + self.address
        self.tls = ssl.create_default_context(cafile=os.environ["STEPWELL_TEST_CERT"]) if tls else None
        self.log = open(os.environ["STEPWELL_TEST_LOG"], "ab")
        self.start()
        worker = [os.environ["STEPWELL_TEST_WORKER"], "-db", self.url if through else self.db]
        env = {**os.environ, "STEPWELL_API_KEY": KEYS["worker"]}
        self.worker = None if tls else subprocess.Popen(worker, stderr=self.log, env=env)

    def start(self) -> None:
        keys = ",".join(f"{SCOPES.get(scope, scope)}:tests:{secret}" for scope, secret in KEYS.items())
        settings = {"STEPWELL_API_KEY": keys}
        if self.tls:
            settings["STEPWELL_TLS_CERT"] = os.environ["STEPWELL_TEST_CERT"]
            settings["STEPWELL_TLS_KEY"] = os.environ["STEPWELL_TEST_KEY"]
        self.server = subprocess.Popen(
            [os.environ["STEPWELL_TEST_SERVER"], "server", "--db", self.db, "--listen", self.address],
            stdout=self.log, stderr=self.log, env={**os.environ, **settings},
        )
        end = time.monotonic() + 60
        while True:
            try:
                with urllib.request.urlopen(self.url + "/readyz", timeout=10, context=self.tls):
                    return
            except OSError:
                if time.monotonic() > end or self.server.poll() is not None:
                    raise
                time.sleep(0.02)

    def kill(self) -> None:
        self.server.kill()
        self.server.wait()

    def close(self) -> None:
        self.kill()
        if self.worker:
            self.worker.kill()
            self.worker.wait()
        self.log.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as s:
        port: int = s.getsockname()[1]
        return port


class Door(socketserver.ThreadingTCPServer):
    """Passes requests on, one a connection. What it is told to do it does to the next ones, one after the other:

    lose: pass the request on and cut the connection when the answer is there; cut: pass on half of the answer;
    hang: say nothing; other bytes: answer with these.
    """

    daemon_threads = True

    def __init__(self, to: str) -> None:
        super().__init__(("127.0.0.1", 0), _Visit)
        self.to = to
        self.plan: List[bytes] = []
        self.requests: List[bytes] = []
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self.shutdown()
        self.server_close()


class _Visit(socketserver.StreamRequestHandler):
    server: Door

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            if not line.lower().startswith(b"connection:"):
                head += line
        length = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        request = head[:-2] + b"Connection: close\r\n\r\n" + self.rfile.read(length)
        self.server.requests.append(request)
        deed = self.server.plan.pop(0) if self.server.plan else b"pass"
        if deed == b"hang":
            self.server.over.wait()
        elif deed in (b"pass", b"lose", b"cut"):
            host, _, port = self.server.to.rpartition(":")
            with socket.create_connection((host, int(port))) as s:
                s.sendall(request)
                answer = b"".join(iter(lambda: s.recv(1 << 16), b""))
            half = answer[: answer.index(b"\r\n\r\n") + 8]
            self.wfile.write({b"pass": answer, b"lose": b"", b"cut": half}[deed])
        else:
            self.wfile.write(deed)
