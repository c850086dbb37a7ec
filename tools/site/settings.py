"""Pages with every setting: its default, range and meaning, read from the models that check them."""

from __future__ import annotations

import math
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from ramify.base.settings import Settings
from tools.site.markdown import cell, code, table

BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "lt": "< {}"}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
NAMES = {int: "whole number", float: "number", bool: "true or false", str: "text"}


def pages() -> dict[str, str]:
    """{path: Markdown} of the pages with settings."""
    return {
        "reference/search-settings.md": search_page(),
        "reference/selfplay-settings.md": selfplay_page(),
        "reference/training-settings.md": training_page(),
        "reference/network-settings.md": network_page(),
        "reference/player-settings.md": player_page(),
        "reference/sweep-settings.md": sweep_page(),
        "reference/system-settings.md": system_page(),
    }


def search_page() -> str:
    from ramify.engine import AlphaBetaConfig, NashConfig, SearchConfig

    return (
        "# Settings of a search\n\n"
        "Give them to `rf.search(state, c_puct=2)`, to `rf.SearchConfig(c_puct=2)`, or on the command line as "
        "`-s c_puct=2`. [How the search works](../methods/search.md) derives what they do, and "
        "[Choosing settings](../howto/settings.md) says where to begin.\n\n"
        f"{settings_table(SearchConfig)}\n"
        f"## Equilibria\n\n{first_line(NashConfig)}\n\n{settings_table(NashConfig)}\n"
        f"## Alpha-beta\n\n{first_line(AlphaBetaConfig)}\n\n{settings_table(AlphaBetaConfig)}"
    )


def selfplay_page() -> str:
    from ramify.selfplay import PlayConfig

    return (
        "# Settings of self-play\n\n"
        "They are the group `play` of a training run (`ramify train hex-5 play.temperature=0.5`), and the option "
        "`--play` of `ramify selfplay`. [Self-play](../methods/selfplay.md) explains them.\n\n"
        f"{settings_table(PlayConfig)}"
    )


def training_page() -> str:
    from ramify.training import TrainConfig

    parts = [
        "# Settings of a training run\n",
        "A run is described by a preset or a YAML file, changed by words such as `loop.games=100`: "
        "`ramify train hex-5 loop.games=100 optimizer.learning_rate=0.001`. `ramify train hex-5 --show` prints all "
        "settings of a run. [Training](../methods/training.md) explains them.\n",
        settings_table(TrainConfig),
    ]
    elsewhere = {"search": "search-settings.md", "play": "selfplay-settings.md"}
    for name, field in TrainConfig.model_fields.items():
        for group in groups(field.annotation):
            parts.append(f"## {name}\n")
            if name in elsewhere:
                parts.append(
                    f"The [settings of {'a search' if name == 'search' else 'self-play'}]({elsewhere[name]}).\n"
                )
            else:
                parts.append(f"{first_line(group)}\n\n{settings_table(group)}")
    return "\n".join(parts)


def network_page() -> str:
    from ramify.evaluators import RunConfig
    from ramify.networks import NetworkConfig, Registry

    parts = [
        "# Settings of networks\n",
        'A network is given as a size, `"6x64"` or `"mlp:2x256"`, or as settings, `{"kind": "resnet", "blocks": 6}`. '
        "[Networks](../methods/networks.md) explains the kinds.\n",
        f"## All kinds\n\n{settings_table(NetworkConfig, without={'kind'})}",
    ]
    shared = set(NetworkConfig.model_fields) - {"kind"}
    for kind, (config, _) in sorted(Registry._entries.items()):
        parts.append(f"## {kind}\n\n{first_line(config)}\n\n{settings_table(config, without={*shared, 'kind'})}")
    parts.append(
        "## Running a network\n\n`rf.evaluators.Network(module, …)` and `rf.pretrained(name, …)` take these.\n\n"
        + settings_table(RunConfig)
    )
    return "\n".join(parts)


def player_page() -> str:
    import ramify.protocols  # noqa: F401  registers players that are programs
    from ramify.arena import Limits, SprtConfig, player_kinds

    parts = [
        "# Settings of players, matches and tests\n",
        "A player is a text, `search:simulations=200,c_puct=2`, wherever a player can be given. Players that search "
        "also take every [setting of a search](search-settings.md). A player of your own is a class, see "
        "[Your own player](../howto/player.md).\n",
    ]
    from ramify.engine import SearchConfig

    for kind, config in sorted(player_kinds().items()):
        without = {"kind"} | (set(SearchConfig.model_fields) if kind in ("search", "muzero") else set())
        parts.append(f"## {kind}\n\n{first_line(config)}\n\n{settings_table(config, without=without)}")
    parts.append(f"## Limits of a game\n\n{first_line(Limits)}\n\n{settings_table(Limits)}")
    parts.append(f"## Sequential test\n\n{first_line(SprtConfig)}\n\n{settings_table(SprtConfig)}")
    return "\n".join(parts)


def sweep_page() -> str:
    from ramify.sweeps import ImproveConfig, Range, SweepConfig

    return (
        "# Settings of sweeps\n\n"
        "They are the entries of the YAML file that `ramify sweep` or `ramify improve` reads, and the arguments of "
        "`ramify.sweeps.SweepConfig` and `ImproveConfig`. [Tuning settings](../sweeps.md) has examples.\n\n"
        f"## sweep\n\n{first_line(SweepConfig)}\n\n{settings_table(SweepConfig)}\n"
        f"## improve\n\n{first_line(ImproveConfig)}\n\n{settings_table(ImproveConfig)}\n"
        f"## Ranges\n\nThe values of `settings`. {first_line(Range)}\n\n{settings_table(Range)}"
    )


def system_page() -> str:
    import ramify.hex
    import ramify.muzero
    import ramify.pyrat
    from ramify.protocols.htp import HtpSettings
    from ramify.protocols.teacher import TeachConfig
    from ramify.protocols.uci_options import OPTIONS, UciSettings

    names = {field: option for option, field in OPTIONS.items()}
    return (
        "# Settings of engines and systems\n\n"
        "[Protocols](../protocols.md) explains the engines and the teacher, and [Python](../python.md) the systems.\n\n"
        "## UCI options\n\nThe options of `ramify uci`. The button `Clear Hash` forgets the search tree. `auto` and "
        "an empty text stand for the default where that is `None` or `''`.\n\n"
        f"{settings_table(UciSettings, without=set(UciSettings.model_fields) - names.keys(), names=names)}\n"
        "## HTP parameters\n\nThe parameters of `ramify htp`, for `param_mcts`, and for `param_game` (`allow_swap`)."
        f"\n\n{settings_table(HtpSettings)}\n"
        f"## teach\n\nThe settings of `ramify teach`. {first_line(TeachConfig)}\n\n{settings_table(TeachConfig)}\n"
        f"## ramify.hex\n\n{settings_table(ramify.hex.MCTSConfig)}\n"
        f"## ramify.pyrat\n\n{settings_table(ramify.pyrat.DecoupledPUCTConfig)}\n"
        f"## ramify.muzero\n\n{settings_table(ramify.muzero.MCTSConfig)}"
    )


def settings_table(config: type[Settings], without: set[str] | None = None, names: dict[str, str] | None = None) -> str:
    """Every setting of a model, one per row, under its name or that of ``names``."""
    rows = [
        [code((names or {}).get(name, name)), default_text(field), allowed(field), cell(field.description or "")]
        for name, field in config.model_fields.items()
        if name not in (without or ())
    ]
    return table(["setting", "default", "allowed", "meaning"], rows) if rows else "It has no settings of its own.\n"


def default_text(field: FieldInfo) -> str:
    """The default as it is typed; groups have a table of their own."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    return "group" if isinstance(default, Settings) else code(repr(default))


def allowed(field: FieldInfo) -> str:
    """The type and range of a setting, from its annotation and its constraints."""
    text = type_text(field.annotation)
    bounds = [
        form.format(bound_text(value))
        for constraint in field.metadata
        for key, form in BOUNDS.items()
        if (value := getattr(constraint, key, None)) is not None
    ]
    return f"{text}, {' and '.join(bounds)}" if bounds else text


def bound_text(value: float) -> str:
    """A limit as people write it: 2⁶² and 10⁹ in place of all their digits."""
    for off in (0, 1):  # 2³¹ - 1 is the largest of the whole numbers with 32 bits
        for base in (2, 10):
            power = round(math.log(value + off, base)) if value > 0 else 0
            if value + off == float(base) ** power and abs(power) * math.log10(base) > 5:
                return f"{base}{str(power).translate(RAISED)}{' - 1' * off}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def type_text(annotation: Any) -> str:
    """A type in words: `A or B`, the choices of a Literal, the parts of a union."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(code(repr(value)) for value in arguments)
    if origin in (Union, UnionType):
        return ", ".join(type_text(part) for part in arguments)
    if annotation is NoneType:
        return "`None`"
    if groups(annotation):
        return "group" if origin is None else "list of groups"
    if origin in (tuple, list):
        return f"list of {type_text(arguments[0])}"
    if origin is dict or annotation is dict:
        return "mapping"
    return NAMES.get(annotation, code(getattr(annotation, "__name__", annotation)))


def groups(annotation: Any) -> list[type[Settings]]:
    """The models inside an annotation: settings that are groups, alone or in a list."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    return [model for part in get_args(annotation) for model in groups(part)]


def first_line(model: type) -> str:
    """What a class says that it is."""
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())
