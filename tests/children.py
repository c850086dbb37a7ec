"""Running code that may crash or hang, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run_child(code: str, *arguments: str, timeout: float = 60) -> str:
    """What the code prints. It has to come to its end, and Python with it, without a crash; it meets the same core."""
    prefix = "import tools.load_core\n" if os.environ.get("RAMIFY_CORE") else ""
    done = subprocess.run(
        [sys.executable, "-c", prefix + code, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
