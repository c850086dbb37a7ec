"""Protocols: HTP for Hex programs, and players that are other programs, over UCI and HTP.

Importing this package makes the kinds of players ``uci`` and ``htp`` known to the arena.
"""

from ramify.protocols.htp import HtpEngine, HtpSettings
from ramify.protocols.htp_player import HtpConfig
from ramify.protocols.process import EngineError
from ramify.protocols.uci import UciConfig

__all__ = ["EngineError", "HtpConfig", "HtpEngine", "HtpSettings", "UciConfig"]
