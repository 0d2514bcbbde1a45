"""A step worker as a process of its own: it says what begins, and goes on when it is told to.

    python steps_program.py DRAIN
"""

from __future__ import annotations

import sys
from typing import Any

from stepwell import Stepwell
from stepwell.steps import Step, Worker


def remote(value: Any, step: Step) -> Any:
    step.heartbeat({"row": 7})
    print("begun", step.attempt, flush=True)
    while not step.cancelled.wait(0.05):
        pass
    step.check()


if __name__ == "__main__":
    worker = Worker(Stepwell(), lease=2, drain=float(sys.argv[1]))
    worker.step("remote", remote)
    worker.run()
    print("over", flush=True)
