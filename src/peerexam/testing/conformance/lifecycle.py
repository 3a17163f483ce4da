"""Checks of an agent's life: many calls at once, a cancelled call, closing, and manners."""

from __future__ import annotations

import asyncio
import contextlib
import io
import sys

from peerexam.testing.conformance.hooks import AT_ONCE, AgentHooks, demand, demand_sound

_CANCELLED_AFTER = (0.0, 0.001, 0.02)
"""Seconds into a call at which it is cancelled."""

_loaded: list[str] = []
"""Names that unpickling has looked up in this process, since the watch was set."""

_is_watched = False


class LifeChecks(AgentHooks):
    """It is shared by many tasks, and leaves nothing behind."""

    def test_many_calls_at_once_each_get_their_own_answer(self) -> None:
        """With the hook `echoes` or `answer_to`, each answer is matched to its prompt."""

        async def check() -> None:
            asked = [self.prompts[n % len(self.prompts)] for n in range(AT_ONCE)]
            async with self.opened() as agent:
                async with asyncio.TaskGroup() as group:
                    tasks = [group.create_task(agent.complete(self.ask(text))) for text in asked]
                for text, completion in zip(asked, (task.result() for task in tasks), strict=True):
                    demand_sound(completion)
                    due = self.answer_to(text)
                    demand(
                        due is None or due in completion.text,
                        f"{AT_ONCE} calls at once: {text!r} got {completion.text[:80]!r}, which "
                        "does not hold its answer: keep what belongs to one call out of the "
                        "agent's attributes",
                    )

        self.run(check)

    def test_a_cancelled_call_leaves_it_usable(self) -> None:
        """The cancellation gets through, and the next call is answered."""

        async def check() -> None:
            async with self.opened() as agent:
                for seconds in _CANCELLED_AFTER:
                    task = asyncio.ensure_future(agent.complete(self.ask()))
                    await asyncio.sleep(seconds)
                    was_cancelled = task.cancel()
                    await asyncio.wait((task,))
                    demand(
                        not was_cancelled or task.cancelled(),
                        "a cancelled call went on to its end: let asyncio.CancelledError through "
                        "(catch Exception, never BaseException)",
                    )
                    completion = await agent.complete(self.ask())
                    demand_sound(completion, "after a cancelled call: ")

        self.run(check)

    def test_closing_twice_does_no_harm(self) -> None:
        """Nor does closing an agent that was never asked."""

        async def check() -> None:
            unused = await self.built()
            await unused.close()
            async with self.opened() as agent:
                await agent.complete(self.ask())
                await agent.close()  # `opened` closes it again

        try:
            self.run(check)
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(
                f"closing raised {type(error).__name__}: {error}. Let close() do nothing where "
                "everything is closed already"
            ) from error

    def test_it_works_in_one_event_loop_after_another(self) -> None:
        """Nothing that belongs to a loop is kept where the next agent finds it."""

        async def check() -> None:
            async with self.opened() as agent:
                demand_sound(await agent.complete(self.ask()))

        self.run(check)
        try:
            self.run(check)
        except RuntimeError as error:
            raise AssertionError(
                f"in a second event loop it raised {error}: make locks, queues and clients when "
                "the agent is first asked, not in its module"
            ) from error

    def test_it_prints_nothing(self) -> None:
        """Standard output belongs to the program; use `logging`."""
        out = io.StringIO()

        async def check() -> None:
            async with self.opened() as agent:
                await agent.complete(self.ask())

        with contextlib.redirect_stdout(out):
            self.run(check)
        demand(
            not out.getvalue(),
            f"it printed {out.getvalue()[:80]!r}: use logging, since `--json` promises that "
            "standard output is JSON",
        )

    def test_it_loads_no_pickles(self) -> None:
        """A pickle runs whatever its author wrote into it."""
        _watch_pickles()
        before = len(_loaded)

        async def check() -> None:
            async with self.opened() as agent:
                await agent.complete(self.ask())

        self.run(check)
        loaded = _loaded[before:]
        demand(
            self.may_unpickle or not loaded,
            f"it unpickled {', '.join(loaded[:3])}: read safetensors, JSON or another format that "
            "cannot run code; where the pickle is its own process's, set may_unpickle = True",
        )


def _watch_pickles() -> None:
    """Note what unpickling looks up. An audit hook cannot be taken back, so there is one."""
    global _is_watched
    if not _is_watched:
        _is_watched = True
        sys.addaudithook(_note)


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "pickle.find_class":
        _loaded.append(".".join(str(part) for part in arguments))
