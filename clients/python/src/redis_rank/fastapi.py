"""A limit for single routes of FastAPI.

    @app.get("/search", dependencies=[Depends(RateLimit(redis.asyncio.Redis(), "10/1m"))])

A denied request gets 429 with Retry-After; other responses have the fields RateLimit-Policy and RateLimit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import HTTPException, Request, Response

from .middleware import Options, Policies, Rule, asgi_request, decide
from .middleware import Request as PlainRequest
from .send import Async

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack


class RateLimit:
    """Limits the routes that depend on it, by default each by itself; with the same `name`, together.

    `key` says who is counted (None: nobody), by default the address of the client; the options are those of the
    middleware.
    """

    def __init__(
        self,
        client: Any,
        *rules: str,
        name: str | None = None,
        key: Callable[[PlainRequest], str | None] = lambda request: request.client,
        **options: Unpack[Options],
    ):
        self.name = name
        self.key = key
        names = [name or "route" if at == 1 else f"{name or 'route'}-{at}" for at in range(1, len(rules) + 1)]
        self.policies = Policies([Rule(shown, rule, key) for shown, rule in zip(names, rules)], options)
        self.link = Async(client, self.policies.timeout)

    async def __call__(self, request: Request, response: Response) -> None:
        plain = asgi_request(request.scope, self.policies.client_address)
        asked = self.policies.asked(plain)
        route = getattr(request.scope.get("route"), "path", plain.path)
        # One key for all rules, so that they are in one slot.
        asked.keys[:] = [f"{self.name or f'{plain.method} {route}'}:{self.key(plain)}"] * len(asked.keys)
        verdict = await decide(self.link, self.policies, asked)
        if isinstance(verdict, tuple):
            status, fields, _ = verdict
            raise HTTPException(status, "The rate limiter does not answer", dict(fields[2:]))
        if verdict is None:
            return
        fields = self.policies.fields(asked, verdict)
        if verdict.limited:
            raise HTTPException(429, self.policies.problem(asked, verdict), dict(fields))
        for name, value in fields:
            response.headers[name] = value
