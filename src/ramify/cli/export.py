"""``ramify export``: write a network as an ONNX model, or in half precision."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ramify.cli import options
from ramify.cli.common import fail, parse_settings, print_json


def export(
    network: Annotated[
        str,
        typer.Argument(help="A .safetensors file, the folder of a training run or checkpoint, or a shipped network."),
    ],
    file: Annotated[Path, typer.Argument(help="The file to write: .onnx, or .safetensors with --half.")],
    param: options.Params = None,
    half: Annotated[
        bool, typer.Option("--half", help="Write a network file with 16-bit weights, half as large.")
    ] = False,
    json: options.AsJson = False,
) -> None:
    """Export a network to ONNX, or to a network file of half the size.

    The model takes observations and returns logits and values of the player to
    move. It accepts any batch size, but a single board size.

    \b
    ramify export hex-7 net.onnx
    ramify export runs/hex-5 net.onnx
    ramify export hex-11 nine.onnx -p size=9
    ramify export runs/chess chess.safetensors --half
    """
    if file.is_dir():
        fail(f"{file} is a folder; give a file, such as net.onnx")
    try:
        import ramify.networks as networks
        from ramify.arena.network_files import network_facts, network_file
        from ramify.cli.train import import_remembered
        from ramify.games import make

        path = network_file(network)
        if path.suffix == ".onnx":
            raise ValueError(f"{path} is an ONNX model already")
        for folder in list(path.resolve().parents)[:3]:  # a network, a checkpoint, all checkpoints, the run
            import_remembered(folder)
        facts = network_facts(path)
        game = make(facts["game"], **{**facts["params"], **parse_settings(param or [])})
        module = networks.load(path, game)
        if half:
            if file.suffix != ".safetensors":
                raise ValueError(
                    f"--half writes a network file: give a name such as {file.with_suffix('.safetensors')}"
                )
            networks.save(file, module, half=True)
            facts = network_facts(file)
        else:
            if file.suffix == ".safetensors":
                raise ValueError(f"{file} would be an ONNX model: name it .onnx, or write a network file with --half")
            networks.export_onnx(file, module)
        size = {"parameters": sum(networks.parameter_counts(module).values()), "flops": networks.flops(module)}
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if json:
        print_json({"file": str(file), "game": str(game), "network_id": facts["network_id"], **size})
    else:
        print(f"Wrote {file}: {game}, observations {list(game.observation_shape)}, {game.num_actions} actions.")
        print(f"{size['parameters']:,} parameters, {size['flops']:,} floating-point operations per evaluation.")
