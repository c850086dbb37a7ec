"""A look into a store from outside."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def saved(path: Path) -> int:
    """Games in the file, as another program sees them."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(path, timeout=30)
    try:
        return int(connection.execute("SELECT count(*) FROM games").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()
