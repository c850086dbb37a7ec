"""The first tables: players, games, runs, metrics, checkpoints."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # files are as they always were


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "players",
        sa.Column("identity", sa.String(16), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("added", sa.DateTime(), nullable=False),
    )
    op.create_table(
        "games",
        sa.Column("id", BIG, primary_key=True),
        sa.Column("key", sa.String(32), nullable=False, unique=True),
        sa.Column("game", sa.String(), nullable=False),
        sa.Column("params", sa.String(), nullable=False),
        sa.Column("first", sa.String(16), sa.ForeignKey("players.identity"), nullable=False),
        sa.Column("second", sa.String(16), sa.ForeignKey("players.identity"), nullable=False),
        sa.Column("opening", sa.JSON(), nullable=False),
        sa.Column("start", BIG, nullable=False),
        sa.Column("seed", BIG, nullable=False),
        sa.Column("limits", sa.JSON(), nullable=False),
        sa.Column("actions", sa.JSON(), nullable=False),
        sa.Column("first_return", sa.Float(), nullable=False),
        sa.Column("second_return", sa.Float(), nullable=False),
        sa.Column("winner", sa.Integer(), nullable=True),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("detail", sa.String(), nullable=False),
        sa.Column("first_seconds", sa.Float(), nullable=False),
        sa.Column("second_seconds", sa.Float(), nullable=False),
        sa.Column("played", sa.DateTime(), nullable=False),
    )
    op.create_index("games_by_game", "games", ["game", "params"])
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("name", sa.String(), nullable=False, unique=True),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("commit", sa.String(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("started", sa.DateTime(), nullable=False),
        sa.Column("finished", sa.DateTime(), nullable=True),
    )
    op.create_table(
        "metrics",
        sa.Column("run", sa.Integer(), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("step", BIG, primary_key=True),
        sa.Column("value", sa.Float(), nullable=True),
    )
    op.create_table(
        "checkpoints",
        sa.Column("run", sa.Integer(), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("iteration", sa.Integer(), primary_key=True),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("network_id", sa.String(16), nullable=False),
        sa.Column("created", sa.DateTime(), nullable=False),
    )
