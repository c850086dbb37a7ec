"""Self-play: many games at once, one batch; records of what was played and found."""

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
