"""Self-play: many parallel games with batched evaluation, and records of the games and their searches."""

from ramify.selfplay.config import PlayConfig
from ramify.selfplay.journal import recover
from ramify.selfplay.play import SelfPlay
from ramify.selfplay.records import DamagedShard, GameRecord, decode, read_folder, read_shard, write_shard
from ramify.selfplay.run import Progress, run

__all__ = [
    "DamagedShard",
    "GameRecord",
    "PlayConfig",
    "Progress",
    "SelfPlay",
    "decode",
    "read_folder",
    "read_shard",
    "recover",
    "run",
    "write_shard",
]
