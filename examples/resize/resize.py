"""A step worker: it makes small copies of pictures (PPM, as the standard library has no other) for a workflow in Go.

With Pillow, resize is three lines: open, thumbnail, save.
"""

import os
from typing import Tuple, TypedDict

from stepwell import Stepwell
from stepwell.steps import Fatal, Step, Worker


class Picture(TypedDict):
    file: str
    most: int  # pixels of the longer side


class Thumb(TypedDict):
    file: str
    width: int
    height: int


def read(file: str) -> Tuple[int, int, bytes]:
    with open(file, "rb") as f:
        kind, width, height, colours = f.readline().split() + f.readline().split() + f.readline().split()
        pixels = f.read()
    if kind != b"P6" or colours != b"255":
        raise Fatal(f"{file} is no PPM of 8 bits a colour", code="NO_PICTURE")  # no retry would help
    return int(width), int(height), pixels


def resize(picture: Picture, step: Step) -> Thumb:
    file = picture["file"]
    print("resizing", os.path.basename(file), flush=True)
    width, height, pixels = read(file)
    by = max(1, -(-max(width, height) // picture["most"]))  # so many pixels become one
    small = bytearray()
    for y in range(height // by):
        step.heartbeat({"row": y})  # raises where the run was cancelled
        for x in range(width // by):
            for colour in range(3):
                box = (((y * by + i) * width + x * by + j) * 3 + colour for i in range(by) for j in range(by))
                small.append(sum(pixels[at] for at in box) // by**2)
    to = os.path.join(os.path.dirname(file), "small-" + os.path.basename(file))
    with open(to + step.id, "wb") as f:  # a step may run more than once
        f.write(b"P6\n%d %d\n255\n" % (width // by, height // by) + small)
    os.replace(to + step.id, to)
    return {"file": to, "width": width // by, "height": height // by}


if __name__ == "__main__":
    Worker(Stepwell(), concurrency=2, lease=2).step("resize", resize).run()  # STEPWELL_URL and STEPWELL_API_KEY
