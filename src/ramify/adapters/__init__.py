"""Games for other libraries: as environments of Gymnasium and PettingZoo, and as games of OpenSpiel.

The other direction, environments and games of these libraries as games of ramify, is ``ramify.make``, with names such
as ``gym:CartPole-v1``, ``pettingzoo:classic/tictactoe-v3``, ``openspiel:nim`` and ``pgx:tic_tac_toe``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ramify.games import Game, State, make

if TYPE_CHECKING:
    from ramify.adapters.gymnasium_envs import GameEnv
    from ramify.adapters.pettingzoo_envs import AecGameEnv, ParallelGameEnv
    from ramify.arena import Player, PlayerConfig

__all__ = ["aec_env", "gymnasium_env", "openspiel_game", "parallel_env"]

ILLEGAL_REWARD = -1.0  # by default, as PettingZoo's TerminateIllegalWrapper has it in its own games


def gymnasium_env(
    game: Game | str,
    opponent: Player | PlayerConfig | Callable[[State, int], int] | str | None = None,
    player: int | None = 0,
    illegal_reward: float | None = ILLEGAL_REWARD,
    render_mode: str | None = None,
    params: dict[str, Any] | None = None,
) -> GameEnv:
    """A game as an environment of Gymnasium, for one player; needs ``ramify[gym]``.

    Observations are those of ``state.observation``; ``info["action_mask"]`` and ``action_masks()`` tell the legal
    actions. The reward of a step is what the player wins until it acts again.

    Args:
        game: A game, or its name, with ``params``.
        opponent: Plays the other side of a game for two: a player of the arena or its text, such as ``"random"`` or
            ``"search:simulations=50"``, or a function ``(state, player) -> action``.
        player: Which side the environment's user plays; None draws it at each reset.
        illegal_reward: An illegal action ends the episode with this reward; None raises ``ramify.IllegalAction``.
        render_mode: ``"ansi"`` for text, ``"human"`` to print it.
        params: Parameters of the game, where its name is given.
    """
    _require("gymnasium", "gym", "environments of Gymnasium")
    from ramify.adapters.gymnasium_envs import GameEnv

    return GameEnv(_made(game, params), opponent, player, illegal_reward, render_mode)


def aec_env(
    game: Game | str,
    illegal_reward: float | None = ILLEGAL_REWARD,
    render_mode: str | None = None,
    **params: Any,
) -> AecGameEnv:
    """A game as an AEC environment of PettingZoo, with the agents player_0 and player_1; needs ``ramify[pettingzoo]``.

    An observation is ``{"observation": ..., "action_mask": ...}``. Where both players act at once they choose one after
    the other, and the second does not see what the first chose.

    Args:
        game: A game, or its name, with ``params``.
        illegal_reward: An illegal action ends the game with this reward for its player; None raises
            ``ramify.IllegalAction``.
        render_mode: ``"ansi"`` for text, ``"human"`` to print it.
        params: Parameters of the game, where its name is given.
    """
    _require("pettingzoo", "pettingzoo", "environments of PettingZoo")
    from ramify.adapters.pettingzoo_envs import AecGameEnv

    return AecGameEnv(_made(game, params), illegal_reward, render_mode)


def parallel_env(
    game: Game | str,
    illegal_reward: float | None = ILLEGAL_REWARD,
    render_mode: str | None = None,
    **params: Any,
) -> ParallelGameEnv:
    """A game in which both act at once as a parallel environment of PettingZoo; needs ``ramify[pettingzoo]``.

    Where only one of the players acts, the action of the other is ignored, and its mask is all zeros. The arguments are
    those of :func:`aec_env`, which takes games played in turn.
    """
    _require("pettingzoo", "pettingzoo", "environments of PettingZoo")
    from ramify.adapters.pettingzoo_envs import ParallelGameEnv

    return ParallelGameEnv(_made(game, params), illegal_reward, render_mode)


def openspiel_game(
    game: Game | str,
    seed: int = 0,
    returns_range: tuple[float, float] | None = None,
    max_game_length: int = 10_000,
    **params: Any,
) -> Any:
    """A game as a ``pyspiel.Game``, for OpenSpiel's algorithms; needs ``ramify[openspiel]``.

    Rewards are paid at the end, as most of these algorithms require: ``returns()`` is zero until then. OpenSpiel's
    games begin always alike, so that a game with random initial positions, such as PyRat, has that of the seed.
    Chance events are chance nodes.

    Args:
        game: A game, or its name, with ``params``.
        seed: Which initial position, of a game with several.
        returns_range: The least and the most that a player can win; by default what the game knows.
        max_game_length: What OpenSpiel is told; games do not end by it.
        params: Parameters of the game, where its name is given.
    """
    _require("pyspiel", "openspiel", "games of OpenSpiel")
    from ramify.adapters.openspiel_games import as_openspiel

    return as_openspiel(_made(game, params), seed, returns_range, max_game_length)


def _made(game: Game | str, params: dict[str, Any] | None) -> Game:
    if isinstance(game, str):
        return make(game, **(params or {}))
    if params:
        raise TypeError(f"parameters of a game go with its name; {game!r} is a game already (got {', '.join(params)})")
    return game


def _require(module: str, extra: str, what: str) -> None:
    import importlib

    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} need {module}: pip install 'ramify[{extra}]'") from error
