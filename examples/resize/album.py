"""Paints an album, has it resized, and kills the step worker in the middle. See run.sh."""

import os
import subprocess
import sys

from stepwell import Stepwell


def paint(file: str, hue: int) -> str:
    pixels = bytes((x * hue, y * 2, (x ^ y) & 255)[colour] & 255 for y in range(192) for x in range(256) for colour in range(3))
    with open(file, "wb") as f:
        f.write(b"P6\n256 192\n255\n" + pixels)
    return file


def worker() -> "subprocess.Popen[str]":
    program = os.path.join(os.path.dirname(__file__), "resize.py")
    env = {**os.environ, "STEPWELL_API_KEY": os.environ["STEPS_KEY"]}
    return subprocess.Popen([sys.executable, program], env=env, stdout=subprocess.PIPE, text=True)


def main(album: str) -> None:
    files = [paint(os.path.join(album, f"{n}.ppm"), n) for n in range(1, 7)]
    with Stepwell() as client:
        run = client.start("album", files, key=album)
        first = worker()
        assert first.stdout
        first.stdout.readline()
        first.stdout.readline()  # it has begun two
        first.kill()
        first.wait()
        print("killed while it was resizing")
        with worker() as second:
            for thumb in run.result(timeout=60):
                print(os.path.basename(thumb["file"]), f"{thumb['width']}x{thumb['height']}")
            second.terminate()  # it gives back what it holds, and ends
        print("ended with", second.returncode)


if __name__ == "__main__":
    main(sys.argv[1])
