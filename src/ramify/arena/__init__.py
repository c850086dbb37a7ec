"""The arena: players, matches, tournaments, ratings and gates."""

from typing import TYPE_CHECKING

from ramify.arena.characteristic import Operation, operating_characteristic
from ramify.arena.draws import DrawModel, draw_model
from ramify.arena.exploitability import Exploitability, exploitability
from ramify.arena.gating import Gate, gate
from ramify.arena.match_result import MatchResult
from ramify.arena.matches import Interrupted, MatchConfig, ParallelSettings, Progress, fixtures, match, play
from ramify.arena.muzero_player import MuZeroPlayerConfig
from ramify.arena.network_files import network_file
from ramify.arena.openings import Opening, Openings
from ramify.arena.played import Fixture, Limits, Played
from ramify.arena.player import Choice, Player, PlayerConfig, Turn, player_config, player_kinds, register_player
from ramify.arena.ratings import Rating, Ratings, count, points_at, rate
from ramify.arena.results import Claim, Memory, Results, SharedResults
from ramify.arena.search_player import NetworkPlayerConfig, SearchPlayerConfig
from ramify.arena.sequential import Sprt, SprtConfig, sprt, sprt_pairs
from ramify.arena.simple import AlphaBetaPlayerConfig, GreedyConfig, RandomConfig
from ramify.arena.spread import pair_up
from ramify.arena.text import read_player, short_names
from ramify.arena.tournament import Line, Standings, Tournament, gauntlet, reference_pool, round_robin
from ramify.arena.workers import WorkerPool
from ramify.base.deprecation import renamed as _renamed

__all__ = [
    "AlphaBetaPlayerConfig",
    "Choice",
    "Claim",
    "DrawModel",
    "Exploitability",
    "Fixture",
    "Gate",
    "GreedyConfig",
    "Interrupted",
    "Limits",
    "Line",
    "MatchConfig",
    "MatchResult",
    "Memory",
    "MuZeroPlayerConfig",
    "NetworkPlayerConfig",
    "Opening",
    "Openings",
    "Operation",
    "ParallelSettings",
    "Played",
    "Player",
    "PlayerConfig",
    "Progress",
    "RandomConfig",
    "Rating",
    "Ratings",
    "Results",
    "SearchPlayerConfig",
    "SharedResults",
    "Sprt",
    "SprtConfig",
    "Standings",
    "Tournament",
    "Turn",
    "WorkerPool",
    "count",
    "draw_model",
    "exploitability",
    "fixtures",
    "gate",
    "gauntlet",
    "match",
    "network_file",
    "operating_characteristic",
    "pair_up",
    "play",
    "player_config",
    "player_kinds",
    "points_at",
    "rate",
    "read_player",
    "reference_pool",
    "register_player",
    "round_robin",
    "short_names",
    "sprt",
    "sprt_pairs",
]

if not TYPE_CHECKING:  # type checkers know the new names only
    __getattr__ = _renamed(
        __name__,
        {
            "Conditions": ("ramify.arena.MatchConfig", lambda: MatchConfig),
            "Pace": ("ramify.arena.ParallelSettings", lambda: ParallelSettings),
        },
    )
