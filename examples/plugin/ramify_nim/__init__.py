"""Nim for ramify."""
