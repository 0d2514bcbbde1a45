"""The blocks of the pages run, in their order, against the worker of the tests."""

import contextlib
import io
import os
import pathlib
import re
import unittest
from typing import Any, Dict
from unittest import mock

from house import KEYS, House
from stepwell import errors

root = pathlib.Path(__file__).parents[3]

STEPS = "\n## Steps of Go workflows\n"


class Pages(unittest.TestCase):
    def test_blocks_run(self) -> None:
        house = House()
        self.addCleanup(house.close)
        page = (root / "docs" / "clients-python.md").read_text(encoding="utf-8").partition(STEPS)[0]
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        answer, said = io.StringIO(), io.StringIO()
        names: Dict[str, Any] = {"__name__": "__main__"}
        call, *blocks = blocks
        with mock.patch.dict(os.environ, {"STEPWELL_URL": house.url, "STEPWELL_API_KEY": KEYS["operator"]}):
            with contextlib.redirect_stdout(answer):  # its workflow is the reader's
                exec(compile(call.replace('"order"', '"echo"'), "docs/clients-python.md", "exec"), names)
            names.pop("client").close()
            with contextlib.redirect_stdout(said):
                for block in [blocks[0], *blocks]:  # the first one as it is run again
                    if block == blocks[0] and "client" in names:
                        names["client"].close()
                    exec(compile(block, "docs/clients-python.md", "exec"), names)
        names["client"].close()
        lines = said.getvalue().splitlines()
        self.assertEqual(answer.getvalue(), "{'customer': 'ada', 'cents': 4200}\n")
        self.assertEqual(len(blocks), 3)
        self.assertEqual(lines[0], "1 run_created")
        self.assertEqual([line for line in lines if "Bob" in line], ["4200 cents, by Bob"] * 3)
        self.assertRegex(lines[-1], r"^NO_STOCK \S+ .*no lamp is left$")

    def test_the_step_of_the_page(self) -> None:
        page = (root / "docs" / "clients-python.md").read_text(encoding="utf-8").partition(STEPS)[2]
        blocks = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
        self.assertEqual(len(blocks), 1)
        names: Dict[str, Any] = {"__name__": "page"}
        exec(compile(blocks[0], "docs/clients-python.md", "exec"), names)
        step = mock.Mock()
        thumb = names["resize"]({"file": "a.png", "most": 2}, step)
        self.assertEqual(thumb, {"file": "small-a.png", "width": 2})
        self.assertEqual(step.heartbeat.call_args_list, [mock.call({"row": 0}), mock.call({"row": 1})])
        with self.assertRaises(names["Fatal"]):
            names["resize"]({"file": "a.png", "most": 0}, step)
        self.assertEqual(names["Worker"].__module__, "stepwell.steps")

    def test_codes_have_classes(self) -> None:
        page = (root / "docs" / "server.md").read_text(encoding="utf-8")
        rows = page.partition("\n## Problems\n")[2].partition("\n## ")[0]
        named = re.findall(r"^\| (`[^|]*) \|", rows, re.MULTILINE)
        codes = {code for row in named for code in re.findall(r"`([A-Z_]+)`", row)}
        of_webhooks = {"BAD_SIGNATURE", "UNKNOWN_SECRET", "STALE", "REPLAYED", "HEADERS_TOO_LARGE"}  # and of push
        self.assertGreater(len(codes), 30)
        self.assertEqual(codes - of_webhooks - set(errors.CLASSES), set())


if __name__ == "__main__":
    unittest.main()
