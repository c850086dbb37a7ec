"""Run by Alembic, on the connection that ``ramify.store.database`` hands over: one transaction for everything."""

from alembic import context

from ramify.store.tables import Base

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=Base.metadata, render_as_batch=True, transactional_ddl=True)
context.run_migrations()
