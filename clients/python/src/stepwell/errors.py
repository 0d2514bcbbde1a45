"""What can go wrong. Each code of the API has a class: catch that, or look at `code`, whose meaning never changes."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any, ClassVar, List, Mapping, Optional, Tuple

from . import types


class StepwellError(Exception):
    """An answer of the server that is none to what was asked, or the end of a run that did not complete."""

    codes: ClassVar[Tuple[str, ...]] = ()  # of the API, that are errors of this class

    def __init__(
        self,
        detail: str = "",
        *,
        code: str = "",
        status: int = 0,
        run_id: Optional[str] = None,
        retry_after: Optional[float] = None,
        problem: Optional[Mapping[str, Any]] = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
        self.status = status  # of the answer; 0: there was none
        self.run_id = run_id
        self.retry_after = retry_after  # seconds; None: the server has not said
        self.problem = problem or {}  # all that the server has said

    def __str__(self) -> str:
        said = f"{self.code}: {self.detail}" if self.code else self.detail
        return f"{said} (run {self.run_id})" if self.run_id else said


class InvalidRequest(StepwellError):
    """The request is malformed. Nothing was written."""

    codes: ClassVar[Tuple[str, ...]] = ("INVALID", "METHOD_NOT_ALLOWED", "NOT_ACCEPTABLE", "UNSUPPORTED_MEDIA_TYPE")


class Unfit(InvalidRequest):
    """An input or a payload does not fit the type of the code that takes it. Nothing was written."""

    codes: ClassVar[Tuple[str, ...]] = ("UNFIT",)

    @property
    def places(self) -> List[types.Misfit]:
        """What does not fit, and where."""
        return list(self.problem.get("errors", ()))


class Unauthenticated(StepwellError):
    """There is no valid API key."""

    codes: ClassVar[Tuple[str, ...]] = ("UNAUTHENTICATED",)


class Forbidden(StepwellError):
    """The scope of the key does not allow this."""

    codes: ClassVar[Tuple[str, ...]] = ("FORBIDDEN", "CROSS_ORIGIN", "MISDIRECTED")


class NotFound(StepwellError):
    """No such run, queue or route, or no hook that is open."""

    codes: ClassVar[Tuple[str, ...]] = ("NOT_FOUND", "NO_ROUTE")


class Conflict(StepwellError):
    """It is there already, or nothing about it changes any more."""

    codes: ClassVar[Tuple[str, ...]] = ("CONFLICT", "STREAM_CLOSED", "RECEIPT_OLD", "TOO_EARLY")


class LeaseLost(Conflict):
    """Somebody else does this work: the lease of the worker was lost, or a process beside the server has the database."""

    codes: ClassVar[Tuple[str, ...]] = ("LEASE_LOST", "WORKER_EXISTS")


class RunExists(Conflict):
    """The ID that was chosen is another run's."""

    codes: ClassVar[Tuple[str, ...]] = ("RUN_EXISTS",)


class RunOver(Conflict):
    """The run has ended."""

    codes: ClassVar[Tuple[str, ...]] = ("RUN_OVER",)


class DeliveryUsed(Conflict):
    """The key was used for another payload. Nothing was written."""

    codes: ClassVar[Tuple[str, ...]] = ("DELIVERY_USED",)


class NoKey(Conflict):
    """The run is encrypted with a key that the server does not have."""

    codes: ClassVar[Tuple[str, ...]] = ("NO_KEY", "WRONG_KEY")


class TooLarge(StepwellError):
    """The body, or a value in it, is too large."""

    codes: ClassVar[Tuple[str, ...]] = ("TOO_LARGE",)


class RateLimited(StepwellError):
    """A rate lets in no more now. Nothing was started; `retry_after` says when to come again."""

    codes: ClassVar[Tuple[str, ...]] = ("RATE_LIMITED",)


class Busy(StepwellError):
    """Too many requests wait, or the run has too many unread payloads."""

    codes: ClassVar[Tuple[str, ...]] = ("BUSY", "INBOX_FULL")


class Unavailable(StepwellError):
    """The server or its database does not answer. What has a key may be sent again."""

    codes: ClassVar[Tuple[str, ...]] = ("TIMEOUT", "UNKNOWN_OUTCOME", "STORAGE", "DATABASE_REPLACED", "SHUTTING_DOWN", "NOT_READY")


class ConnectionFailed(Unavailable):
    """There was no answer, or it was cut."""

    codes: ClassVar[Tuple[str, ...]] = ("CONNECTION",)


class ServerFailed(StepwellError):
    """A fault of the server's, or a damaged log."""

    codes: ClassVar[Tuple[str, ...]] = ("INTERNAL", "CORRUPTED_EVENT_LOG", "UNKNOWN_FORMAT")


class ResultTimeout(StepwellError, TimeoutError):
    """The run is not over, and the time to wait is."""

    codes: ClassVar[Tuple[str, ...]] = ("RESULT_TIMEOUT",)


class StreamFailed(StepwellError):
    """A stream that is not complete: its writer closed it with an error, or its run did not complete."""


class RunFailed(StepwellError):
    """The run has failed. `code` is its error's, where that has one; `error` is all of it."""

    error: types.Error = {"message": ""}


class RunCancelled(RunFailed):
    """The run was cancelled."""


CLASSES = {code: kind for kind in list(globals().values()) if isinstance(kind, type) and issubclass(kind, StepwellError)
           for code in kind.__dict__.get("codes", ())}


def refusal(status: int, retry_after: Optional[str], body: bytes, run: Optional[str]) -> StepwellError:
    """The error that an answer is. One without a code is of a proxy, or of no Stepwell server."""
    try:
        problem = json.loads(body)
    except ValueError:
        problem = None
    if not isinstance(problem, dict) or not isinstance(problem.get("code"), str):
        problem = {"code": f"HTTP_{status}", "detail": body[:200].decode(errors="replace").strip()}
    code = problem["code"]
    kind = CLASSES.get(code) or (Unavailable if status in (502, 503, 504) else StepwellError)
    return kind(
        problem.get("detail") or problem.get("title") or "",
        code=code,
        status=status,
        run_id=problem.get("run") or run,
        retry_after=_after(problem.get("retryAfterMs"), retry_after),
        problem=problem,
    )


def _after(ms: Any, header: Optional[str]) -> Optional[float]:
    if isinstance(ms, (int, float)) and ms > 0:
        return ms / 1000
    try:
        if header is None or header.strip().isdigit():
            return None if header is None else float(header)
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
