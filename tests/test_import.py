"""`import ramify` is quick and brings no optional package along."""

import subprocess
import sys
import time

HEAVY = ("torch", "pyspiel", "open_spiel", "chess", "onnxruntime", "onnx", "scipy")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_no_optional_package() -> None:
    loaded = run("import ramify, sys; print(*sys.modules)").split()
    assert "ramify._core" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_import_takes_less_than_half_a_second() -> None:
    def seconds() -> float:
        start = time.perf_counter()
        run("import ramify")
        return time.perf_counter() - start

    # The interpreter counts too; other work on the machine only adds, so the best of several is the cost.
    for _ in range(8):
        if seconds() < 0.5:
            return
    raise AssertionError("import ramify took more than half a second eight times in a row")
