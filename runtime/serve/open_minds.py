"""The pool of open minds in the server process: opened on first use, shared, closed when unused."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from mnemic.actors.kernel.errors import ActorStopped, StoreBusy
from mnemic.runtime.api.mind import Mind


class OpenMinds:
    """Open minds by name. Any thread may use it."""

    def __init__(self, opened: Callable[[str, bool], Mind], closed: Callable[[str], None] = lambda name: None) -> None:
        """Open none yet.

        Args:
            opened: opens a mind by its name; told whether to make it where there is none.
            closed: told the name of each that was closed, before anybody can open it again.
        """
        self._opened = opened
        self._closed = closed
        self._changed = threading.Condition()  # over all below
        self._minds: dict[str, Mind | None] = {}  # None while it is being opened or closed
        self._users: dict[str, int] = {}  # those that have any
        self._is_closing = False  # whether whoever comes has to wait, or to go
        self._ended = False

    @contextmanager
    def use(self, name: str, create: bool) -> Iterator[Mind]:
        """A mind, held open for as long as the context lasts.

        Raises:
            ActorStopped: the process is leaving.
            MnemicError: it cannot be opened.
        """
        mind = self._acquire(name, create)
        try:
            yield mind
        finally:
            with self._changed:
                self._drop_user(name)

    def open_minds(self) -> dict[str, Mind]:
        """Those that are open now."""
        with self._changed:
            return {name: mind for name, mind in self._minds.items() if mind is not None}

    def close_when_unused(self, timeout_s: float) -> bool:
        """Close all once nobody uses them, so that the next use opens them anew; returns whether that came to pass.

        Args:
            timeout_s: how long those who use one may take.
        """
        return self._close(timeout_s, for_good=False)

    def close_if_unused(self, name: str, mind: Mind, idle: Callable[[], bool]) -> bool:
        """Close one mind that nobody uses; whoever comes meanwhile waits, and has it opened anew. Says whether it did.

        Args:
            mind: nothing happens where another one is open under the name by now.
            idle: whether it may be closed still, asked once nobody can come any more; it must not wait.
        """
        with self._changed:
            if self._is_closing or self._minds.get(name) is not mind or name in self._users or not idle():
                return False
            self._claim(name)
        with self._closed_while(name, mind):
            return True

    @contextmanager
    def release_mind(self, name: str, timeout_s: float) -> Iterator[None]:
        """Have a mind closed for as long as the context lasts; whoever wants it meanwhile waits.

        Args:
            timeout_s: how long those who use it may take.

        Raises:
            StoreBusy: they took longer.
            ActorStopped: the process is leaving.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._ended or self._is_free(name), timeout_s):
                raise StoreBusy(path=name, waited_s=timeout_s)
            if self._ended:
                raise ActorStopped(actor="the process", message="anything more")
            mind = self._minds.get(name)
            self._claim(name)
        with self._closed_while(name, mind):
            yield

    def close(self, timeout_s: float) -> None:
        """Close all; those who still use one after the time get `ActorStopped`."""
        self._close(timeout_s, for_good=True)

    def _acquire(self, name: str, create: bool) -> Mind:
        with self._changed:
            self._changed.wait_for(lambda: self._ended or not (self._is_closing or self._minds.get(name, self) is None))
            if self._ended:
                raise ActorStopped(actor="the process", message="anything more")
            self._users[name] = self._users.get(name, 0) + 1
            mind = self._minds.get(name)
            if mind is not None:
                return mind
            self._minds[name] = None  # whoever comes meanwhile waits
        try:
            mind = self._opened(name, create)
        except BaseException:
            with self._changed:
                del self._minds[name]
                self._drop_user(name)
            raise
        with self._changed:
            if not self._closed_for_good():
                self._minds[name] = mind
                self._changed.notify_all()
                return mind
            del self._minds[name]
            self._drop_user(name)
        self._close_mind(
            name, mind
        )  # those that were open have been closed meanwhile, and nobody else knows of this one
        raise ActorStopped(actor="the process", message="anything more")

    def _claim(self, name: str) -> None:
        """Have whoever wants a mind wait, and whoever closes all of them wait for this one; the lock is held."""
        self._minds[name] = None
        self._users[name] = 1

    @contextmanager
    def _closed_while(self, name: str, mind: Mind | None) -> Iterator[None]:
        """Close a mind that was claimed, and give the name free once the context ends."""
        try:
            if mind is not None:
                self._close_mind(name, mind)
            yield
        finally:
            with self._changed:
                del self._minds[name]
                self._drop_user(name)

    def _is_free(self, name: str) -> bool:
        """Whether nobody uses, opens or closes a mind; the lock is held."""
        return not self._is_closing and name not in self._users and self._minds.get(name, self) is not None

    def _drop_user(self, name: str) -> None:
        """One user less; the lock is held."""
        self._users[name] -= 1
        if not self._users[name]:
            del self._users[name]
        self._changed.notify_all()

    def _close_mind(self, name: str, mind: Mind) -> None:
        try:
            mind.close()
        finally:
            self._closed(name)

    def _closed_for_good(self) -> bool:
        return self._ended

    def _close(self, timeout_s: float, *, for_good: bool) -> bool:
        with self._changed:
            self._is_closing = True
            self._ended = self._ended or for_good
            self._changed.notify_all()
            unused = self._changed.wait_for(lambda: not self._users, timeout_s)
            closing = self.open_minds() if unused or for_good else {}
            if closing:
                self._minds = {name: mind for name, mind in self._minds.items() if mind is None}
        try:
            with ExitStack() as stack:  # one that cannot be closed does not keep the others open
                for name, mind in closing.items():
                    stack.callback(self._close_mind, name, mind)
        finally:
            with self._changed:
                self._is_closing = False
                self._changed.notify_all()
        return unused
