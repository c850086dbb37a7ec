"""Work on several machines with Ray: connect to a cluster, and run workers on every node that answer by messages.

Nothing here knows about games. Ray is imported only when a cluster is used; ``pip install 'ramify[cluster]'``.
"""

from ramify.cluster.config import ClusterConfig
from ramify.cluster.connection import Node, connected
from ramify.cluster.helpers import helped
from ramify.cluster.link import Link, Published
from ramify.cluster.workers import Ended, Failed, Worker, Workers

__all__ = ["ClusterConfig", "Ended", "Failed", "Link", "Node", "Published", "Worker", "Workers", "connected", "helped"]
