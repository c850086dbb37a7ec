"""Protocols: the UCI engine for chess, the HTP engine for Hex, the PyRat bot, and external programs as players.

Importing this package registers the player kinds ``uci``, ``htp`` and ``pyrat-bot``.
"""

from ramify.protocols.htp import HtpEngine, HtpSettings
from ramify.protocols.htp_player import HtpConfig
from ramify.protocols.process import EngineError
from ramify.protocols.pyrat_bot import BotSettings, PyRatBot
from ramify.protocols.pyrat_player import PyRatBotConfig
from ramify.protocols.uci_player import UciConfig

__all__ = [
    "BotSettings",
    "EngineError",
    "HtpConfig",
    "HtpEngine",
    "HtpSettings",
    "PyRatBot",
    "PyRatBotConfig",
    "UciConfig",
]
