"""A program that half speaks UCI and HTP: ``bad_engine.py SEED`` misbehaves by chance, and ends after a while."""

import os
import random
import signal
import sys
import threading
import time

SECONDS = 40.0  # after which it ends, whatever happens
GOOD = 0.93  # share of commands that are answered as they should be


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def flood(text: bytes, stream: int) -> None:
    while True:
        os.write(stream, text)


def misbehave(rng: random.Random) -> None:
    """One thing wrong, after which it may go on."""
    how = rng.randrange(15)
    if how == 0:
        flood(rng.choice([b"info\n", b"x" * 5000 + b"\n", b"\n", b"= a1\n", b"a" * 4096, b"\x00\xff\n"]) * 10, 1)
    elif how == 1:
        flood(b"debug: still alive\n" * 100, 2)
    elif how == 2:
        time.sleep(SECONDS)
    elif how == 3:
        os._exit(rng.choice([0, 1, 255]))
    elif how == 4:
        os.kill(os.getpid(), rng.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT]))
    elif how == 5:
        os.close(rng.choice([0, 1, 2]))
    elif how == 6:
        write(rng.randbytes(rng.choice([1, 100, 70000])) + b"\n")
    elif how == 7:
        write(b"? no\n\n")
    elif how == 8:
        write(b"= \n\n= a1\n\n= a1\n\n")
    elif how == 9:
        write(b"bestmove\nbestmove 0000\nbestmove a1a1\n")
    elif how == 10:
        write(b"= a1")  # and no end of the line
    elif how == 11:
        os.write(2, rng.randbytes(200_000))
    elif how == 12:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(SECONDS)
    elif how == 13:
        write(b"id name " + b"long " * 100_000 + b"\n")
    else:
        write(b"=" + b" long\n" * 100_000 + b"\n")


def main() -> None:
    rng = random.Random(sys.argv[1])
    timer = threading.Timer(SECONDS, os._exit, [9])
    timer.daemon = True
    timer.start()
    size, stones = 3, set()
    for line in sys.stdin:
        words = line.split() or [""]
        if rng.random() > GOOD:
            misbehave(rng)
        if words[0] == "uci":
            write(b"id name Bad\nuciok\n")
        elif words[0] == "isready":
            write(b"readyok\n")
        elif words[0] == "go":
            write(b"info depth 1\nbestmove e2e4\n")
        elif words[0] in ("ucinewgame", "position", "setoption"):
            pass
        elif words[0] == "genmove":
            cells = [f"{chr(97 + column)}{row + 1}" for row in range(size) for column in range(size)]
            write(f"= {next(cell for cell in cells if cell not in stones)}\n\n".encode())
        else:
            if words[0] == "boardsize":
                size, stones = int(words[1]), set()
            elif words[0] == "play":
                stones.add(words[2])
            write(b"= \n\n")


main()
