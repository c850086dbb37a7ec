"""``ramify export``: a network for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli.common import fail, parse_settings, print_json


def export(
    network: Annotated[str, typer.Argument(help="A saved network, or the name of a shipped one, such as hex-7.")],
    file: Annotated[Path, typer.Argument(help="The ONNX model to write, such as net.onnx.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the game: a model serves one size."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> None:
    """Write a network as an ONNX model.

    The model takes observations and gives logits and values of the player to
    move: any number of rows, one size of the board.

    \b
    ramify export hex-7 net.onnx
    ramify export runs/hex-5/checkpoints/000007/network.safetensors net.onnx
    ramify export hex-11 nine.onnx --set size=9
    """
    if file.is_dir():
        fail(f"{file} is a folder: name the file to write, such as net.onnx")
    try:
        import ramify.networks as networks
        from ramify.arena.network_files import network_facts, network_file
        from ramify.games import make

        path = network_file(network)
        facts = network_facts(path)
        game = make(facts["game"], **{**facts["params"], **parse_settings(set_ or [])})
        module = networks.load(path, game)
        networks.export_onnx(file, module)
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if json:
        print_json({"file": str(file), "game": str(game), "network_id": facts["network_id"]})
    else:
        print(f"wrote {file}: {game}, observations {list(game.observation_shape)}, {game.num_actions} actions")
