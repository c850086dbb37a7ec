"""Messages between workers and whoever directs them."""

from __future__ import annotations

import sys
import threading
import time
from types import SimpleNamespace

import pytest

from ramify.cluster import ClusterConfig, Link, connected


def test_messages_go_both_ways_in_order():
    link = Link()
    for number in range(3):
        link.put(number)
    assert [link.recv() for _ in range(3)] == [0, 1, 2]
    assert not link.poll()
    link.send("a")
    link.send("b")
    assert link.take() == ["a", "b"]
    assert link.take() == []


def test_both_sides_wait_for_messages_of_other_threads():
    link = Link()
    threading.Timer(0.05, link.put, ["late"]).start()
    assert link.poll(20)
    assert link.recv() == "late"
    threading.Timer(0.05, link.send, ["answer"]).start()
    assert link.take(20) == ["answer"]
    link.send("last")
    assert not link.drain(0.05)
    threading.Timer(0.05, link.take).start()
    started = time.monotonic()
    assert link.drain(20)
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("address", ["here", "http://host:1", "host:port", "a b:1", ""])
def test_a_wrong_address_is_rejected(address):
    with pytest.raises(ValueError, match=r"address=.*: must be local, auto or HOST:PORT"):
        ClusterConfig(address=address)


def test_without_ray_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"needs Ray: pip install 'ramify\[cluster\]'"), connected("auto"):
        pass


def test_without_a_cluster_at_the_address_it_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False))
    said = r"there is no Ray cluster at 127\.0\.0\.1:9: "
    with pytest.raises(ConnectionError, match=said), connected("127.0.0.1:9"):
        pass
