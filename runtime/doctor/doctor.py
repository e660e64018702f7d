"""`mnemic doctor`: the table of checks of a home and one of its minds, and of the repairs that lose nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from mnemic.actors.kernel.errors import MnemicError
from mnemic.runtime.doctor import backups, capture, home, mind, process
from mnemic.runtime.doctor.checks import Check, Target, run_check

Look = Callable[[Target], Iterable[Check]]
Repair = Callable[[Target], str]

_TABLE: tuple[tuple[str, Look, dict[str, Repair]], ...] = (
    ("key", mind.check_key, {"mind": mind.rewrite_key_header}),
    ("settings", home.check_settings, {}),
    ("trust", home.check_trust, {}),
    ("permissions", home.check_permissions, {"permissions": home.restrict_permissions}),
    ("leftovers", home.check_drafts, {"leftovers": home.remove_drafts}),
    ("store", mind.check_store, {"words": mind.rebuild_words}),
    ("pause", capture.check_pause, {}),
    ("clock", mind.check_clock, {}),
    ("wal", mind.check_wal, {"wal": mind.checkpoint}),
    ("commits", mind.check_commits, {"commits": mind.recapture_lost}),
    ("backups", backups.check_backups, {}),
    ("model", home.check_model, {}),
    ("native", home.check_native, {}),
    ("disk", home.check_disk, {}),
    ("engine", process.check_engine, {"engine": process.end_ray}),
    ("process", process.check_process, {"process": process.remove_stale_files}),
    ("service", process.check_service, {}),
    ("actors", process.check_actors, {"actors": process.release_actors, "letters": process.replay_dead_letters}),
    ("meaning", mind.check_embeddings, {}),
    ("shape", mind.check_shape, {"shape": mind.rebind}),
    ("labels", mind.check_labels, {}),
    ("nights", mind.check_nights, {"nights": mind.retry_stages}),
    (
        "capture",
        capture.check_capture,
        {
            "hooks": capture.restore_spool_config,
            "records": capture.read_again,
            "transcripts": capture.read_again,
        },
    ),
)
"""The name of each check, what looks, and what mends the findings of a name; a check may stand on those before it."""


class RepairResult(msgspec.Struct, frozen=True):
    """One repair."""

    name: str
    """Of the check that asked for it."""
    succeeded: bool
    """Whether it was carried out."""
    detail: str
    """What was done, or why not."""


def examine(target: Target, above: Sequence[tuple[str, Look]] = ()) -> list[Check]:
    """Look at everything; no check hides another. Nothing is changed, started or kept waiting.

    Args:
        above: what stands above looks at besides, by name, such as how the assistants are wired.
    """
    checks: list[Check] = []
    for name, look in [*((name, look) for name, look, _ in _TABLE), *above]:
        for check in run_check(name, lambda look=look: look(target)):  # type: ignore[misc]
            checks.append(check)
            if target.states.get(check.name) != "wrong":
                target.states[check.name] = check.state
    return checks


def repair(target: Target, checks: Iterable[Check]) -> list[RepairResult]:
    """Mend what can be mended without losing anything; one repair that fails keeps no other from being tried.

    Args:
        checks: what was seen of the target.
    """
    broken = {check.name for check in checks if check.repairable}
    wanted = {name: action for _, _, repairs in _TABLE for name, action in repairs.items() if name in broken}
    return [_run_repair(name, action, target) for name, action in wanted.items()]


def _run_repair(name: str, action: Repair, target: Target) -> RepairResult:
    try:
        return RepairResult(name, True, action(target))
    except MnemicError as error:
        return RepairResult(name, False, str(error))
    except OSError as error:
        return RepairResult(name, False, f"{error.filename or 'it'}: {error.strerror or type(error).__name__}")
