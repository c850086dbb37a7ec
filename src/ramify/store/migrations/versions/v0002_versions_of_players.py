"""Players with the versions of the code that played. Null for those met before: nobody noted what they were."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column. Games stay as they are, under the identities they were played by."""
    op.add_column("players", sa.Column("versions", sa.JSON(none_as_null=True), nullable=True))
