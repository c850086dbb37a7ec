"""How programs for tests write without end. They stop after a while, so that a test ends in any case."""

import sys
import time
from typing import TextIO

SECONDS = 20.0


def flood(text: str, stream: TextIO = sys.stdout) -> None:
    """The same text again and again, and then the end of the program."""
    stop = time.monotonic() + SECONDS
    while time.monotonic() < stop:
        stream.write(text * 1000)
        stream.flush()
        time.sleep(0.001)  # megabytes per second all the same, and other tests go on meanwhile
    sys.exit("tired")
