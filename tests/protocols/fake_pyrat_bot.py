"""A PyRat bot for tests: player 1 goes right and player 2 left, and it does one thing wrong if told to."""

import json
import sys
import time

from flood import flood


def say(**message) -> None:
    print(json.dumps(message), flush=True)


def main() -> None:
    manner = sys.argv[1] if len(sys.argv) > 1 else ""
    player = 0
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            if manner == "mute":
                time.sleep(1000)
            print("a library says hello", flush=True)
            say(type="hello", name="Fake", version="3.0")
        elif message["type"] == "game":
            player = message["player"]
            say(type="ready")
        elif message["type"] == "turn":
            if manner == "hangs":
                time.sleep(1000)
            if manner == "dies":
                sys.exit("out of cheese")
            if manner == "floods":
                flood("thinking\n")
            if manner == "refuses":
                say(type="error", message="not today")
            move = {"illegal": "JUMP", "odd": ["UP"]}.get(manner, "RIGHT" if player == 1 else "LEFT")
            say(type="move", move=move)


main()
