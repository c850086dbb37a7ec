"""Mistakes that a type checker has to find: mypy --strict rejects a `type: ignore` where there is no error."""

import ramify as rf

rf.arena.no_such_name  # type: ignore[attr-defined]
rf.no_such_package  # type: ignore[attr-defined]
rf.evaluators.Netwerk  # type: ignore[attr-defined]
rf.make("hex").initial_state().apply(1.5)  # type: ignore[arg-type]
rf.pretrained("hex-7").rating  # type: ignore[attr-defined]
