"""Protocols: the HTP engine for Hex, and external engines as players over UCI and HTP.

Importing this package registers the player kinds ``uci`` and ``htp``.
"""

from ramify.protocols.htp import HtpEngine, HtpSettings
from ramify.protocols.htp_player import HtpConfig
from ramify.protocols.process import EngineError
from ramify.protocols.uci import UciConfig

__all__ = ["EngineError", "HtpConfig", "HtpEngine", "HtpSettings", "UciConfig"]
