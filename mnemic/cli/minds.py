"""The command `mnemic minds`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mnemic.cli.context import CommandContext, cli, common_options
from mnemic.cli.terminal.output import Line, local_minute
from mnemic.runtime.api.reports import format_size, pluralize
from mnemic.runtime.minds.homes import DEFAULT_MIND, mind_folder, mind_options


@cli.command()
@common_options
def minds(chosen: CommandContext) -> None:
    """List the minds of the home. Of each: what it holds, and whether a passphrase locks it."""
    from mnemic.actors.kernel.times import to_iso
    from mnemic.runtime.api.lock import server_info
    from mnemic.runtime.minds.list_minds import list_minds

    unlocked = (server_info(chosen.home, DEFAULT_MIND) or {}).get("unlocked", ())
    views = []
    for one in list_minds(chosen.home):
        view = msgspec.to_builtins(one) | {"unlocked": one.name in unlocked}
        if view["unlocked"]:  # its process answers, and gives no key to look by
            with CommandContext(str(chosen.home), one.name, chosen.as_json).open(create=False) as mind:
                view["memories"] = mind.counts().memories
        view["last_captured_at"] = to_iso(one.last_captured_at)
        view["options"] = mind_options(mind_folder(chosen.home, one.name))
        views.append(view)
    options = mind_options(mind_folder(chosen.home, chosen.mind))
    chosen.print_answer({"home": str(chosen.home), "minds": views, "options": options}, minds_lines)


def minds_lines(view: dict[str, Any]) -> Iterator[Line]:
    """A line of each mind."""
    for one in view["minds"]:
        yield [(one["name"], "bold"), (" (default)" if one["default"] else "", ""), (f": {_holding(one)}", "")]
    if not view["minds"]:
        yield f"there is no mind in {view['home']} yet; `mnemic init{view['options']}` makes one"


def _holding(one: dict[str, Any]) -> str:
    size = format_size(one["size_bytes"])
    if one["error"] is not None:
        return f"{size}; {one['error']}"
    if one["memories"] is None:
        return f"{size}, locked; `mnemic unlock{one['options']}` asks for its passphrase"
    last = f", the last captured {local_minute(one['last_captured_at'])}" if one["last_captured_at"] else ""
    return f"{pluralize(one['memories'], 'memory')}, {size}{last}{', unlocked' if one['unlocked'] else ''}"
