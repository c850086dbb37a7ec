"""`import ramify` is quick and brings no optional package along."""

import subprocess
import sys

HEAVY = ("torch", "pyspiel", "open_spiel", "chess", "onnxruntime", "onnx", "scipy", "rich", "typer", "hypothesis")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_import_loads_no_optional_package() -> None:
    loaded = run("import ramify, sys; print(*sys.modules)").split()
    assert "ramify._core" in loaded
    assert not [name for name in loaded if name.split(".")[0] in HEAVY]


def test_import_takes_less_than_half_a_second() -> None:
    """CPU time of the whole process, best of three: other programs on the machine do not count."""
    code = "import time, ramify; print(time.process_time())"
    assert min(float(run(code)) for _ in range(3)) < 0.5
