"""The endpoints of one model: which of them a call goes to, its tries, and when to give up.

All turns of a conversation go to one endpoint, whose cache holds their prefix; a new conversation goes to the one with
the least to do. An endpoint that is down is left out until it answers again. A call goes on to the next endpoint where
one fails, and gives up after a number of tries at each: its seed goes back to the queue. The run stops if none has
answered anything for `patience_seconds`. A request that always fails while others are answered is given up: the run
would never end.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile

from pipeline.config.models import Limits
from pipeline.errors import ProviderError
from pipeline.llm import budget
from pipeline.llm.base import Completion, Request
from pipeline.llm.cached import request_digest
from pipeline.llm.deadline import pause_clock
from pipeline.llm.endpoint import Endpoint
from pipeline.llm.retry import CallFailure, CallTries, EndpointHealth
from pipeline.llm.token_estimate import size

CROWDED = 2.0
"""The load from which on a conversation moves to an endpoint with room: as many calls wait as are in flight."""
MOST_CONVERSATIONS = 65_536


class Pool:
    def __init__(self, members: Sequence[Endpoint], limits: Limits) -> None:
        self.members = tuple(members)
        self._attempts, self._patience = limits.attempts, limits.patience_seconds
        self._places: OrderedDict[bytes, Endpoint] = OrderedDict()
        self._suspects: set[bytes] = set()
        self._given_up: set[bytes] = set()

    async def complete(self, request: Request) -> Completion:
        """Ask until an endpoint answers. Raises ProviderError and BudgetExceeded, and the last CallFailure where the
        request is given up.
        """
        tries = CallTries(1 if self._given_up and request_digest(request) in self._given_up else self._attempts)
        with pause_clock() as clock:
            while left := [member for member in self._up() if tries.left(member.health)]:
                if wait := min(tries.wait(member.health) for member in left):
                    await asyncio.sleep(wait)
                member = self._placed(request, [one for one in left if not tries.wait(one.health)] or left)
                async with member.limiter.slot(
                    size(request.messages, request.tools, thoughts=request.thoughts)
                ) as slot:
                    budget.check()
                    if member not in self._up():  # it went down while the call waited for its turn
                        slot.tokens = 0
                        continue
                    began = time.monotonic()
                    try:
                        completion = await member.answer(request)
                    except CallFailure as caught:
                        failure = caught
                        tries.failed(member.health, failure)
                        if failure.kind == "throttled":
                            member.limiter.throttled(slot)
                    else:
                        clock.used = time.monotonic() - began
                        slot.tokens = completion.usage.total_tokens
                        member.limiter.succeeded()
                        member.health.answered()
                        return completion
                await self._failed(member.health, failure)
            if await self._own_fault(tries, request):
                raise failure
        line = f"{member.health.described(failure)}, {tries.most} times in a row"
        raise ProviderError(line, then="requeue") from failure

    def _up(self) -> Sequence[Endpoint]:
        """Those that are not down; where all are, all."""
        return [member for member in self.members if not member.health.down] or self.members

    def _placed(self, request: Request, among: Sequence[Endpoint]) -> Endpoint:
        if len(self.members) == 1:
            return self.members[0]
        for member in self.members:
            member.health.look_again()
        key = _conversation(request)
        least = min(among, key=lambda member: member.limiter.load)
        member = self._places.get(key, least)
        if member not in among or (member.limiter.load >= CROWDED and least.limiter.load < 1):
            member = least
        self._places[key] = member
        self._places.move_to_end(key)
        if len(self._places) > MOST_CONVERSATIONS:
            self._places.popitem(last=False)
        return member

    async def _failed(self, health: EndpointHealth, failure: CallFailure) -> None:
        """Count a failure. Raises ProviderError where waiting is in vain."""
        before = health.down
        health.failed(failure)
        if not all(member.health.down or member.health is health for member in self.members):
            if health.down and not before:
                health.warn(failure, "it is left out until it answers")
            return
        if failure.kind == "fatal":
            raise ProviderError(str(failure), then="stop") from failure
        if health.failures == self._attempts + 1:
            health.warn(failure, f"trying again for up to {self._patience:.0f} s")
        everyone = [member.health for member in self.members]
        silent = min(one.silent for one in everyone)
        if (
            silent > self._patience
            and sum(one.failures for one in everyone) >= self._attempts
            and not any(await asyncio.gather(*(one.alive() for one in everyone)))
        ):
            line = f"no answer for {silent:.0f} s: {health.described(failure)}"
            raise ProviderError(line, then="stop") from failure

    async def _own_fault(self, tries: CallTries, request: Request) -> bool:
        """Is the request to blame for all its failures? Not if the endpoints answer nothing else either: nothing since
        its first failure there, and no probe now. Failures inside a server that answers others count at once; what may
        be a bad gateway or connection counts when the request comes back from the queue and fails again. What it met
        at endpoints that are down, while others are not, does not count."""
        up = {member.health for member in self._up()}
        failures = [one for health in up for one in tries.failures.get(health, ())]
        blamed = [failure for failure in failures if failure.kind != "throttled"]
        idle = [health for health in up if health.answers == tries.answers.get(health)]
        if 2 * len(blamed) <= len(failures) or not all([await health.alive() for health in idle]):
            return False
        digest = request_digest(request)
        if digest in self._suspects or (not idle and all(failure.kind == "inside" for failure in failures)):
            self._given_up.add(digest)
        self._suspects.add(digest)
        return digest in self._given_up


def _conversation(request: Request) -> bytes:
    """The same for all turns of one conversation: the digest of what it began with."""
    began = tuple(takewhile(lambda message: message.role != "assistant", request.messages))
    return request_digest(Request(model=request.model, messages=began, sample=request.sample))
