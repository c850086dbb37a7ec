"""AlphaZero's search for chess: an interface to ``ramify.Searcher``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ramify.base.seeds import checked_seed, derive
from ramify.chess.game import ChessGame
from ramify.chess.network import ChessNN
from ramify.chess.node import Node
from ramify.engine import SearchConfig, Searcher, SearchResult
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.engine.result import action_by

if TYPE_CHECKING:
    import chess


class MCTS:
    """Searches one position at a time, each with a new tree, one leaf and one thread at a time.

    ``neural_network``: a ``ChessNN``, or any evaluator of ``ramify``. Searches of one MCTS differ in noise and in the
    moves they draw; another MCTS with the same ``seed`` repeats them.
    """

    def __init__(
        self,
        neural_network: ChessNN | Evaluator | NativeEvaluator,
        num_simulations: int = 100,
        c_puct: float = 1.0,
        dirichlet_alpha: float = 0.3,
        dirichlet_epsilon: float = 0.25,
        *,
        seed: int = 0,
    ) -> None:
        known = isinstance(neural_network, ChessNN | NativeEvaluator) or hasattr(neural_network, "evaluate")
        if not known:
            raise TypeError(f"neural_network must be a ChessNN or an evaluator, not {type(neural_network).__name__}")
        self.neural_network = neural_network
        self.num_simulations, self.c_puct = num_simulations, c_puct
        self.dirichlet_alpha, self.dirichlet_epsilon = dirichlet_alpha, dirichlet_epsilon
        self.seed = checked_seed(seed)
        self.root: Node | None = None  # of the latest search
        self._searches = 0
        self.config(add_noise=True)  # raises now on a setting that is out of range

    def config(self, add_noise: bool = False) -> SearchConfig:
        """The settings as a SearchConfig."""
        return SearchConfig(
            simulations=self.num_simulations,
            c_puct=self.c_puct,
            noise_alpha=self.dirichlet_alpha,
            noise_fraction=self.dirichlet_epsilon if add_noise else 0.0,
            batch=1,
            in_flight=1,
            threads=1,
        )

    def search(self, game: ChessGame, temperature: float = 1.0, add_noise: bool = False) -> chess.Move:
        """The move to play: at temperature 0 the most visited one, otherwise drawn by visits ** (1 / temperature).

        ``add_noise`` mixes Dirichlet noise into the priors of the root. The game is not changed; a finished one raises
        a ValueError.
        """
        return self.get_policy(game, temperature, add_noise)[0]

    def get_policy(
        self, game: ChessGame, temperature: float = 1.0, add_noise: bool = False
    ) -> tuple[chess.Move, NDArray[np.float64]]:
        """The move as ``search`` chooses it, and the share of visits of every move: float64[4672].

        ``game.get_move_index(move)`` is the place of a move. With one simulation, which evaluates the position itself,
        there are no visits, and the policy is the prior.
        """
        if not isinstance(game, ChessGame):
            raise TypeError(f"game must be a ChessGame, not {type(game).__name__}")
        if game.is_game_over():
            raise ValueError(f"the game is over: there is no move to search\n{game}")
        if not temperature >= 0:
            raise ValueError(f"temperature must be 0 or more, not {temperature}")
        state = game.state
        self._searches += 1
        seed = derive(self.seed, self._searches)
        result = Searcher(state.game, self._evaluator(), self.config(add_noise), seed=seed).run(state)
        self.root = Node.root(result, state)
        player = state.acting[0]
        chosen = action_by(player, result.action(temperature, np.random.default_rng(seed)))
        return game.get_move(chosen), visit_shares(result, player)

    def _evaluator(self) -> Any:
        network = self.neural_network
        return network.evaluator if isinstance(network, ChessNN) else network


def visit_shares(result: SearchResult, player: int) -> NDArray[np.float64]:
    """The share of visits of every action; the priors where there are no visits."""
    visits = result.visits.sum(axis=1 - player).astype(np.float64)
    weights = visits if visits.any() else result.priors[player].astype(np.float64)
    policy = np.zeros(result.num_actions)
    policy[result.outcomes[player]] = weights / weights.sum()
    return policy
