"""A Hex program for tests: plays the first empty cell, and does one thing wrong if told to."""

import sys
import time

from flood import flood


def main() -> None:
    manner = sys.argv[1] if len(sys.argv) > 1 else ""
    size, stones = 11, set()
    for line in sys.stdin:
        words = line.split()
        if words[0] == "boardsize":
            size, stones = int(words[1]), set()
        elif words[0] == "play":
            stones.add(words[2])
        text = {"name": "Fake", "version": "2.0", "list_commands": "name\nversion\nplay\ngenmove"}.get(words[0], "")
        if words[0] == "genmove":
            if manner == "hangs":
                time.sleep(1000)
            if manner == "dies":
                sys.exit("out of stones")
            if manner == "floods":
                flood("still here\n")
            if manner == "answers without end":
                flood("= a1\n")
            if manner == "streams":
                flood("= a1 and ")
            if manner == "garbage":
                print("c3, I think\n", flush=True)
                continue
            if manner == "refuses at length":
                print("? not" + " today" * 10_000 + "\n", flush=True)
                continue
            if manner == "refuses":
                print("? not today\n", flush=True)
                continue
            cells = (f"{chr(97 + column)}{row + 1}" for row in range(size) for column in range(size))
            text = next(cell for cell in cells if cell not in stones)
            text = {"illegal": "z9", "occupied": next(iter(stones), text), "resigns": "resign"}.get(manner, text)
        print(f"= {text}\n", flush=True)


main()
