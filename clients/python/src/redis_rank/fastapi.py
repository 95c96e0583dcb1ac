"""A limit for single routes of FastAPI.

    @app.get("/search", dependencies=[Depends(RateLimit(redis.asyncio.Redis(), "10/1m"))])

A denied request gets 429 with Retry-After; other responses have the fields RateLimit-Policy and RateLimit.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request, Response

from .middleware import Asked, Key, Options, Policies, Rule, Taken, asgi_request, awaited, checked_key, decide
from .middleware import merged_fields, refund_all, taken_by
from .middleware import Request as PlainRequest
from .send import Async
from .values import Verdict

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack


class TooManyRequests(HTTPException):
    """A denied request; an exception handler of the application may answer it in its own way."""

    verdict: Verdict


class RateLimit:
    """Limits the routes that depend on it, by default each by itself; with the same `name`, together.

    `key` says who is counted (None: nobody), by default the address of the client; it may be asynchronous, and its
    `request.native` is FastAPI's request. The options are those of the middleware. A route with several limits takes
    from all of them, or from none. The route may ask for the Verdict: `verdict: Verdict | None = Depends(limit)`.
    """

    def __init__(
        self,
        client: Any,
        *rules: str,
        name: str | None = None,
        key: Callable[[PlainRequest], Key | Awaitable[Key]] = lambda request: request.client,
        **options: Unpack[Options],
    ):
        self.name = name
        self.key = key
        names = [name or "route" if at == 1 else f"{name or 'route'}-{at}" for at in range(1, len(rules) + 1)]
        self.policies = Policies([Rule(shown, rule) for shown, rule in zip(names, rules)], options)
        self.link = Async(client, self.policies.timeout)

    async def _asked(self, request: Request) -> Asked | None:
        plain = asgi_request(request.scope, self.policies.client_address, request)
        cost, key = await awaited([self.policies.cost_of(plain), self.key(plain)])
        if key is None:
            return None
        route = getattr(request.scope.get("route"), "path", plain.path)
        # An application that is mounted in another one has routes of its own.
        mounted = request.scope.get("root_path", "").removeprefix(request.scope.get("app_root_path", ""))
        # One key for all rules, so that they are in one slot.
        shared = f"{self.name or f'{plain.method} {mounted}{route}'}:{checked_key(key)}"
        return Asked(self.policies.rules, [shared] * len(self.policies.rules), cost)

    async def __call__(self, request: Request, response: Response) -> AsyncIterator[Verdict | None]:
        asked = await self._asked(request)
        verdict = None if asked is None else await decide(self.link, self.policies, asked)
        if asked is None or verdict is None:
            yield None
            return
        all_taken = taken_by(request.scope)
        if isinstance(verdict, tuple):
            await refund_all(all_taken)
            status, fields, _ = verdict
            raise HTTPException(status, "The rate limiter does not answer", dict(fields[2:]))
        if verdict.limited:
            await refund_all(all_taken)
            error = TooManyRequests(429, self.policies.problem(asked, verdict), dict(self.policies.fields(asked, verdict)))
            error.verdict = verdict
            raise error
        taken = Taken(self.link, self.policies, asked, verdict)
        all_taken.append(taken)
        response.headers.update(dict(merged_fields(all_taken)))
        try:
            yield verdict
        except HTTPException as error:
            # Its answer is made without `response`.
            if not isinstance(error, TooManyRequests):
                error.headers = {**(error.headers or {}), **dict(merged_fields(all_taken))}
            if self.policies.refunds_status(error.status_code):
                await refund_all([taken])
            raise
        except Exception:
            if self.policies.refunds_status(500):
                await refund_all([taken])
            raise
        if response.status_code and self.policies.refunds_status(response.status_code):
            await refund_all([taken])
