"""Client of a Stepwell server: start durable workflows, wait for them, send to them, follow them.

    from stepwell import Stepwell

    with Stepwell() as client:
        run = client.start("order", {"customer": "ada"}, key="cart-17")
        print(run.result(timeout=60))

AsyncStepwell is the same for asyncio. stepwell.types has the types of requests and answers, stepwell.errors the errors.
"""

from . import errors, types
from ._async import AsyncRun, AsyncStepwell, Chunk
from ._sync import Run, Stepwell
from ._version import __version__
from .errors import StepwellError

__all__ = [
    "AsyncRun", "AsyncStepwell", "Chunk", "Run", "Stepwell", "StepwellError", "__version__", "errors", "types",
]
