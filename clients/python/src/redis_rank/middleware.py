"""Rate limits for HTTP: ASGI (Starlette, FastAPI) and WSGI (Flask).

    app.add_middleware(AsgiRateLimit, client=redis.asyncio.Redis(), rules=[
        Rule("burst", "10/1s", lambda request: request.client),
        Rule("daily", "10000/1d", lambda request: request.headers.get("x-api-key")),
    ])

All rules are asked in one call: a request counts for all of them, or for none. A denied one gets 429 with
Retry-After; every response has the fields RateLimit-Policy and RateLimit of the IETF draft.
"""

from __future__ import annotations

import asyncio
import fnmatch
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .call import Call, milliseconds
from .rate import LimiterCalls, Limits
from .run import execute, execute_async
from .values import Verdict

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger(__name__)

_PROBLEM = "https://iana.org/assignments/http-problem-types#quota-exceeded"
# A month has no fixed length.
_CALENDAR = {"hour": 3600, "day": 86400, "week": 604800, "month": None, "year": None}
_RULE = re.compile(r"(?P<limit>\d+)/((?P<time>\d+(ms|[smhd]?))|(?P<unit>hour|day|week|month|year))(/\d+)?", re.I)


@dataclass(frozen=True)
class Request:
    """The request, as rules and costs see it. Header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    client: str


@dataclass(frozen=True)
class Rule:
    """A limit, the key that it counts, and the name that clients see. Requests whose key is None are not counted."""

    name: str
    rule: str
    key: Callable[[Request], str | None] = lambda request: request.client

    def __post_init__(self) -> None:
        # A mistake shall not pass for a server that does not answer.
        if not _RULE.fullmatch(self.rule):
            raise ValueError(f"a rule is limit/window, say 100/1m, got {self.rule!r}")
        if not (self.name.isascii() and self.name.isprintable()):
            raise ValueError(f"the name of a rule is printable ASCII, got {self.name!r}")

    def policy(self) -> str:
        rule = _RULE.fullmatch(self.rule)
        assert rule
        time, unit = rule["time"], rule["unit"]
        seconds = _CALENDAR[unit.lower()] if unit else _seconds(milliseconds(time.lower()) or 1)
        return f"{_text(self.name)};q={rule['limit']}" + (f";w={seconds}" if seconds else "")


class Options(TypedDict, total=False):
    """`cost` is a function, or maps patterns of paths to units; 0 is free. `failing` is what happens if the server
    does not answer within `timeout` seconds. `refund` says which responses give the units back: by default those of
    500 and above. In a cluster all keys must be in one slot, hence the braces in the prefix."""

    cost: Callable[[Request], int] | Mapping[str, int]
    failing: Literal["open", "closed"]
    timeout: float
    refund: Callable[[int], bool]
    prefix: str
    limits: Limits


@dataclass(frozen=True)
class Asked:
    """The rules that apply to one request."""

    rules: list[Rule]
    keys: list[str]
    cost: int


class Policies:
    """What both kinds of middleware share: which calls to make, and what the answers mean."""

    def __init__(self, rules: Sequence[Rule], options: Options):
        self.rules = rules
        self.cost = options.get("cost", {})
        self.closed = options.get("failing", "open") == "closed"
        self.timeout = options.get("timeout", 0.5)
        self.refunds_status = options.get("refund", _is_failure)
        self.prefix = options.get("prefix", "{rate}:")
        self.limits = options.get("limits", Limits())
        self.calls = LimiterCalls([], self.limits, self.prefix)

    def asked(self, request: Request) -> Asked:
        keys = [(rule, rule.key(request)) for rule in self.rules]
        known = [(rule, f"{rule.name}:{key}") for rule, key in keys if key is not None]
        return Asked([rule for rule, _ in known], [key for _, key in known], self._cost(request))

    def _cost(self, request: Request) -> int:
        if callable(self.cost):
            return self.cost(request)
        matching = (cost for pattern, cost in self.cost.items() if fnmatch.fnmatchcase(request.path, pattern))
        return next(matching, 1)

    def check(self, asked: Asked) -> Call[Verdict] | None:
        if not asked.rules or asked.cost == 0:
            return None
        rules = [(key, rule.rule) for key, rule in zip(asked.keys, asked.rules)]
        return self.calls.check_all(rules, cost=asked.cost)

    def refund(self, asked: Asked) -> list[Call[Verdict]]:
        return [
            LimiterCalls([rule.rule], self.limits, self.prefix).refund(key, cost=asked.cost)
            for key, rule in zip(asked.keys, asked.rules)
        ]

    def fields(self, asked: Asked, verdict: Verdict) -> list[tuple[str, str]]:
        """The header fields of a response."""
        states = [
            f"{_text(rule.name)};r={state.remaining};t={_seconds(state.reset_after_ms)}"
            for rule, state in zip(asked.rules, verdict.rules)
        ]
        policies = [rule.policy() for rule in asked.rules]
        fields = [("RateLimit-Policy", ", ".join(policies)), ("RateLimit", ", ".join(states))]
        if verdict.limited and verdict.retry_after_ms >= 0:
            fields.append(("Retry-After", str(max(1, _seconds(verdict.retry_after_ms)))))
        return fields

    def denial(self, asked: Asked, verdict: Verdict) -> tuple[int, list[tuple[str, str]], bytes]:
        violated = [rule.name for rule, state in zip(asked.rules, verdict.rules) if state.limited]
        problem = {"type": _PROBLEM, "title": "Too many requests", "status": 429, "violated-policies": violated}
        return self._answer(429, self.fields(asked, verdict), problem)

    def failure(self) -> tuple[int, list[tuple[str, str]], bytes]:
        problem = {"title": "The rate limiter does not answer", "status": 503}
        return self._answer(503, [("Retry-After", "1")], problem)

    @staticmethod
    def _answer(
        status: int, fields: list[tuple[str, str]], problem: dict[str, Any]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        body = json.dumps(problem).encode()
        content = [("Content-Type", "application/problem+json"), ("Content-Length", str(len(body)))]
        return status, [*content, *fields], body


def _is_failure(status: int) -> bool:
    return status >= 500


def _seconds(milliseconds: int) -> int:
    return -(-milliseconds // 1000)


def _text(name: str) -> str:
    """A string of RFC 9651."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- ASGI ---------------------------------------------------------------------------------------------


class AsgiRateLimit:
    """For Starlette, FastAPI and every other ASGI application; `client` is of redis.asyncio."""

    def __init__(self, app: Any, client: Any, rules: Sequence[Rule], **options: Unpack[Options]):
        self.app = app
        self.client = client
        self.policies = Policies(rules, options)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)  # type: ignore[no-any-return]
        asked = self.policies.asked(_asgi_request(scope))
        call = self.policies.check(asked)
        if call is None:
            return await self.app(scope, receive, send)  # type: ignore[no-any-return]
        try:
            [verdict] = await asyncio.wait_for(execute_async(self.client, call), self.policies.timeout)
        except Exception as error:
            log.warning("the rate limiter does not answer: %r", error)
            if self.policies.closed:
                return await _respond(send, *self.policies.failure())
            return await self.app(scope, receive, send)  # type: ignore[no-any-return]
        if verdict.limited:
            return await _respond(send, *self.policies.denial(asked, verdict))

        # A client that goes away before the response gets nothing back.
        status = 0

        async def send_with_fields(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                fields = _encoded(self.policies.fields(asked, verdict))
                message = {**message, "headers": [*message.get("headers", ()), *fields]}
            await send(message)

        try:
            await self.app(scope, receive, send_with_fields)
        except Exception:
            status = 500
            raise
        finally:
            if status and self.policies.refunds_status(status):
                await self._refund(asked)

    async def _refund(self, asked: Asked) -> None:
        try:
            await asyncio.wait_for(execute_async(self.client, *self.policies.refund(asked)), self.policies.timeout)
        except Exception as error:
            log.warning("a refund failed: %r", error)


def _asgi_request(scope: Any) -> Request:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    return Request(scope["method"], scope["path"], headers, (scope.get("client") or ("",))[0])


def _encoded(fields: list[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in fields]


async def _respond(send: Any, status: int, fields: list[tuple[str, str]], body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": _encoded(fields)})
    await send({"type": "http.response.body", "body": body})


# --- WSGI ---------------------------------------------------------------------------------------------


class WsgiRateLimit:
    """For Flask (`app.wsgi_app = WsgiRateLimit(app.wsgi_app, …)`) and every other WSGI application."""

    def __init__(self, app: Any, client: Any, rules: Sequence[Rule], **options: Unpack[Options]):
        self.app = app
        self.client = client
        self.policies = Policies(rules, options)
        # The timeout must hold whatever the client's own is.
        self._threads = ThreadPoolExecutor(max_workers=32, thread_name_prefix="redis-rank")

    def _execute(self, *calls: Call[Any]) -> list[Any]:
        future = self._threads.submit(execute, self.client, *calls)
        try:
            return future.result(self.policies.timeout)
        finally:
            future.cancel()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        asked = self.policies.asked(_wsgi_request(environ))
        call = self.policies.check(asked)
        if call is None:
            return self.app(environ, start_response)  # type: ignore[no-any-return]
        try:
            [verdict] = self._execute(call)
        except Exception as error:
            log.warning("the rate limiter does not answer: %r", error)
            if self.policies.closed:
                return _start(start_response, *self.policies.failure())
            return self.app(environ, start_response)  # type: ignore[no-any-return]
        if verdict.limited:
            return _start(start_response, *self.policies.denial(asked, verdict))

        response = _Response(
            start_response, self.policies.fields(asked, verdict), lambda status: self._end(asked, status)
        )
        try:
            response.body = self.app(environ, response.start)
        except Exception:
            response.status = 500
            response.close()
            raise
        return response

    def _end(self, asked: Asked, status: int) -> None:
        if status and self.policies.refunds_status(status):
            try:
                self._execute(*self.policies.refund(asked))
            except Exception as error:
                log.warning("a refund failed: %r", error)


class _Response:
    """The application's body, which tells its status when it is closed."""

    def __init__(self, start_response: Any, fields: list[tuple[str, str]], end: Callable[[int], None]):
        self.start_response = start_response
        self.fields = fields
        self.end = end
        self.status = 0
        self.body: Iterable[bytes] = ()

    def start(self, status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
        self.status = int(status.split()[0])
        return self.start_response(status, [*headers, *self.fields], *rest)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self.body
        except Exception:
            self.status = 500
            raise

    def close(self) -> None:
        try:
            getattr(self.body, "close", lambda: None)()
        finally:
            self.end(self.status)


def _wsgi_request(environ: dict[str, Any]) -> Request:
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    return Request(environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/"), headers, environ.get("REMOTE_ADDR", ""))


def _start(start_response: Any, status: int, fields: list[tuple[str, str]], body: bytes) -> list[bytes]:
    reason = {429: "Too Many Requests", 503: "Service Unavailable"}[status]
    start_response(f"{status} {reason}", fields)
    return [body]
