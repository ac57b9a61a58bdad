"""The endpoints of one model: which of them gets a call, the attempts of a call, and when to give up.

All turns of a conversation go to one endpoint, whose cache holds their prefix. A new conversation goes to the least
loaded endpoint. An endpoint that is down gets no calls until it answers again. If an endpoint fails, the call moves to
the next one. After a number of attempts at each endpoint the call fails and its seed goes back to the queue. The run
stops if no endpoint has answered for `patience_seconds`. A request that always fails while others are answered is given
up, since the run would never end.
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
from pipeline.llm.retry import CallAttempts, CallFailure, EndpointHealth
from pipeline.llm.token_estimate import size

CROWDED = 2.0
"""The load at which a conversation moves to an endpoint with room: as many calls wait as are in flight."""
MOST_CONVERSATIONS = 65_536


class Pool:
    def __init__(self, members: Sequence[Endpoint], limits: Limits) -> None:
        self.members = tuple(members)
        self._attempts, self._patience = limits.attempts, limits.patience_seconds
        self._homes: OrderedDict[bytes, Endpoint] = OrderedDict()
        self._suspects: set[bytes] = set()
        self._given_up: set[bytes] = set()

    async def complete(self, request: Request) -> Completion:
        """Send the request until an endpoint answers it.

        Raises ProviderError and BudgetExceeded, and the last CallFailure if the request is given up.
        """
        attempts = CallAttempts(1 if self._given_up and request_digest(request) in self._given_up else self._attempts)
        with pause_clock() as clock:
            while candidates := [member for member in self._live_members() if attempts.remain(member.health)]:
                if wait := min(attempts.wait_seconds(member.health) for member in candidates):
                    await asyncio.sleep(wait)
                member = self._choose_member(
                    request, [member for member in candidates if not attempts.wait_seconds(member.health)] or candidates
                )
                async with member.limiter.slot(
                    size(request.messages, request.tools, thoughts=request.thoughts)
                ) as slot:
                    budget.check()
                    if member not in self._live_members():  # it went down while the call waited for its turn
                        slot.tokens = 0
                        continue
                    start = time.monotonic()
                    try:
                        completion = await member.answer(request)
                    except CallFailure as error:
                        failure = error
                        attempts.record_failure(member.health, failure)
                        if failure.kind == "throttled":
                            member.limiter.record_throttling(slot)
                    else:
                        clock.used = time.monotonic() - start
                        slot.tokens = completion.usage.total_tokens
                        member.limiter.record_success()
                        member.health.record_answer()
                        return completion
                await self._record_failure(member.health, failure)
            if await self._is_request_at_fault(attempts, request):
                raise failure
        line = f"{member.health.describe(failure)}, {attempts.limit} times in a row"
        raise ProviderError(line, then="requeue") from failure

    def _live_members(self) -> Sequence[Endpoint]:
        """Return the members that are not down, or all members if all are down."""
        return [member for member in self.members if not member.health.down] or self.members

    def _choose_member(self, request: Request, candidates: Sequence[Endpoint]) -> Endpoint:
        if len(self.members) == 1:
            return self.members[0]
        for member in self.members:
            member.health.probe_if_down()
        key = _conversation_key(request)
        least_loaded = min(candidates, key=lambda member: member.limiter.load)
        member = self._homes.get(key, least_loaded)
        if member not in candidates or (member.limiter.load >= CROWDED and least_loaded.limiter.load < 1):
            member = least_loaded
        self._homes[key] = member
        self._homes.move_to_end(key)
        if len(self._homes) > MOST_CONVERSATIONS:
            self._homes.popitem(last=False)
        return member

    async def _record_failure(self, health: EndpointHealth, failure: CallFailure) -> None:
        """Count a failure. Raises ProviderError if waiting cannot help."""
        was_down = health.down
        health.record_failure(failure)
        if not all(member.health.down or member.health is health for member in self.members):
            if health.down and not was_down:
                health.warn(failure, "it is left out until it answers")
            return
        if failure.kind == "fatal":
            raise ProviderError(str(failure), then="stop") from failure
        if health.failures == self._attempts + 1:
            health.warn(failure, f"trying again for up to {self._patience:.0f} s")
        healths = [member.health for member in self.members]
        silent_seconds = min(health.silent_seconds for health in healths)
        if (
            silent_seconds > self._patience
            and sum(health.failures for health in healths) >= self._attempts
            and not any(await asyncio.gather(*(health.is_alive() for health in healths)))
        ):
            line = f"no answer for {silent_seconds:.0f} s: {health.describe(failure)}"
            raise ProviderError(line, then="stop") from failure

    async def _is_request_at_fault(self, attempts: CallAttempts, request: Request) -> bool:
        """Return whether the request itself causes its failures.

        It does not if the endpoints answer nothing else either: no call since its first failure there, and no probe
        now. A failure inside a server that answers other requests counts at once. A failure that may come from a bad
        gateway or connection counts when the request comes back from the queue and fails again. Failures at endpoints
        that are down do not count, unless all are down.
        """
        live_healths = {member.health for member in self._live_members()}
        failures = [failure for health in live_healths for failure in attempts.failures.get(health, ())]
        throttled = sum(failure.kind == "throttled" for failure in failures)
        idle = [health for health in live_healths if health.answers == attempts.answers.get(health)]
        if 2 * throttled >= len(failures) or not all([await health.is_alive() for health in idle]):
            return False
        digest = request_digest(request)
        if digest in self._suspects or (not idle and all(failure.kind == "inside" for failure in failures)):
            self._given_up.add(digest)
        self._suspects.add(digest)
        return digest in self._given_up


def _conversation_key(request: Request) -> bytes:
    """Return the digest of the messages before the model's first turn, which all turns of a conversation share."""
    opening = tuple(takewhile(lambda message: message.role != "assistant", request.messages))
    return request_digest(Request(model=request.model, messages=opening, sample=request.sample))
