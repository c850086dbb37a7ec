"""The result of a search as tables, for ``ramify analyze``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ramify.cli.common import print_position
from ramify.games.percent import percentages

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

BAR = 8  # characters of the bar beside the visits
EIGHTHS = " ▏▎▍▌▋▊▉█"
MATRIX = 10  # largest number of outcomes for which the table of pairs is shown


def print_analysis(console: Console, data: dict[str, Any], proven: str, tree: str) -> None:
    """Print the position, one table per acting player, what is proven, and a summary."""
    from rich.text import Text

    simultaneous = len(data["acting"]) == 2
    print_position(console, Text(data["state"]))
    for player in data["players"]:
        how = "acts simultaneously" if simultaneous else "to move"
        console.print(f"\n[bold]{player['called']} {how}, value {player['value']:+.3f}[/]")
        console.print(player_table(player, simultaneous=simultaneous, ascii_only=console.options.ascii_only))
        if hidden := player["outcomes"] - len(player["actions"]):
            console.print(f"[dim]{hidden} more actions; use --top {player['outcomes']} to show all[/]")
    if "joint_visits" in data and max(map(len, data["joint_actions"])) <= MATRIX:
        console.print("\n[bold]visits by pair of actions (rows: player 0, columns: player 1)[/]")
        console.print(joint_table(data["joint_visits"], *data["joint_actions"]))
    if proven:
        console.print(f"\n[bold]{proven}[/]")
    if tree:
        console.print("\n[bold]tree[/]")
        console.print(Text(tree), soft_wrap=True)
    console.print()
    console.print(f"evaluated by {data['evaluated_by']}; {summary(data['stats'])}", soft_wrap=True, markup=False)


def player_table(player: dict[str, Any], *, simultaneous: bool, ascii_only: bool) -> Table:
    from rich.table import Column, Table
    from rich.text import Text

    with_chances = "win_draw_loss" in player["actions"][0]
    columns = (
        Column("", justify="right", style="dim"),
        "move" if with_chances else "action",
        Column("visits", justify="right"),
        Column("", style="cyan"),
        Column("share", justify="right"),
        Column("value", justify="right"),
        *([Column("win draw loss", justify="right")] if with_chances else []),
        Column("prior", justify="right"),
        Column("continuation", no_wrap=True, overflow="ellipsis", style="dim"),
    )
    table = Table(*columns, box=None, pad_edge=False)
    most = max(row["visits"] for row in player["actions"])
    for number, row in enumerate(player["actions"], 1):
        value = "" if row["value"] is None else f"{row['value']:+.3f}"
        line = row.get("san_line", row["continuation"])
        table.add_row(
            str(number),
            Text(row.get("san", row["name"]), "bold" if number == 1 else ""),
            f"{row['visits']:,}",
            bar(row["visits"] / max(most, 1), ascii_only),
            f"{row['share']:.1%}",
            f"mate {row['mate']}" if "mate" in row else value,
            *([chances(row["win_draw_loss"])] if with_chances else []),
            f"{row['prior']:.3f}",
            Text(" ".join(line[1:] if not simultaneous else line)),
        )
    return table


def chances(win_draw_loss: list[float] | None) -> str:
    """Win, draw and loss in percent, which add up to 100; nothing for a move that was never visited."""
    if win_draw_loss is None:
        return ""
    return " ".join(f"{number:>3}" for number in percentages([round(1e6 * share) for share in win_draw_loss]))


def bar(share: float, ascii_only: bool) -> str:
    """A horizontal bar of up to BAR characters, in eighths of a character if the terminal supports them."""
    if ascii_only:
        return "#" * round(share * BAR)
    eighths = round(share * BAR * 8)
    return (EIGHTHS[8] * (eighths // 8) + EIGHTHS[eighths % 8]).rstrip()


def joint_table(visits: list[list[int]], first: list[str], second: list[str]) -> Table:
    """Visits by pair of actions: player 0 in rows, player 1 in columns."""
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(Column("", style="bold"), box=None, pad_edge=False)
    for name in second:
        table.add_column(Text(name), justify="right")
    most = max(max(row) for row in visits)
    for name, row in zip(first, visits, strict=True):
        cells = [Text(f"{n:,}", "bold cyan" if n == most else "dim" if n == 0 else "") for n in row]
        table.add_row(Text(name), *cells)
    return table


def summary(stats: dict[str, Any]) -> str:
    """The statistics of the search in one line."""
    rate = stats["simulations"] / max(stats["seconds"], 1e-9)
    parts = [
        f"{stats['simulations']:,} simulations in {stats['seconds']:.2f} s ({rate:,.0f}/s)",
        f"{stats['nodes']:,} nodes",
        f"{stats['transpositions']:,} transpositions",
        f"depth {stats['max_depth']}",
        f"{stats['bytes'] / 1e6:.1f} MB",
    ]
    return ("stopped early: " if stats["interrupted"] else "") + ", ".join(parts)
