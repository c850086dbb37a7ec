"""The store: arena games, players, training runs, metrics and checkpoints in one SQLite file (``ramify[arena]``) or
in a PostgreSQL database (``ramify[postgres]``)."""

from importlib.util import find_spec as _find

if not all(map(_find, ("sqlalchemy", "alembic"))):
    raise ImportError("the store needs SQLAlchemy and Alembic: pip install 'ramify[arena]'")

from ramify.store.database import DEFAULT
from ramify.store.errors import StoreError
from ramify.store.pages import GameFilter, GameSummary
from ramify.store.results import StoredPlayer, StoredResults
from ramify.store.runs import Checkpoint, Metric, Run
from ramify.store.store import Store

__all__ = [
    "DEFAULT",
    "Checkpoint",
    "GameFilter",
    "GameSummary",
    "Metric",
    "Run",
    "Store",
    "StoreError",
    "StoredPlayer",
    "StoredResults",
]
