"""Rate limits for HTTP: ASGI (Starlette, FastAPI) and WSGI (Flask); redis_rank.fastapi limits single routes.

    app.add_middleware(AsgiRateLimit, client=redis.asyncio.Redis(), rules=[
        Rule("burst", "10/1s", lambda request: request.client),
        Rule("daily", "10000/1d", lambda request: request.headers.get("x-api-key")),
    ])

All rules are asked at once: a request counts for all of them, or for none. A denied one gets 429 with Retry-After;
every response has the fields RateLimit-Policy and RateLimit of the IETF draft.
"""

from __future__ import annotations

import sys
import fnmatch
import inspect
import ipaddress
import json
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from redis.crc import key_slot

from .call import Call, Duration, Steps, known, milliseconds
from .errors import is_outage
from .rate import Algorithm, Failing, Fallback, LimiterCalls, Limits, Parsed, check_rules, total
from .send import Async, Sync, succeeded
from .values import Verdict

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger(__name__)

Answer = tuple[int, list[tuple[str, str]], bytes]
Proxies = int | Sequence[str]

_PROBLEM = "https://iana.org/assignments/http-problem-types#quota-exceeded"


@dataclass(frozen=True)
class Request:
    """The request, as rules and costs see it. Header names are in lower case.

    `client` is the address of the client, of IPv6 the network (/64), in which a client has all addresses. `native` is
    what the framework knows: the scope of ASGI, the environment of WSGI, the request of FastAPI.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    client: str
    native: Any = None


Key = str | int | float | None


@dataclass(frozen=True)
class Rule:
    """A limit, the key that it counts, and the name that clients see. Requests whose key is None are not counted.

    With ASGI the function for the key may be asynchronous.
    """

    name: str
    rule: str
    key: Callable[[Request], Key | Awaitable[Key]] = lambda request: request.client

    def __post_init__(self) -> None:
        if not (self.name.isascii() and self.name.isprintable()):
            raise ValueError(f"the name of a rule is printable ASCII, got {self.name!r}")
        self.policy()

    def policy(self) -> str:
        rule = Parsed(self.rule)
        window = f";w={math.ceil(rule.window)}" if rule.has_fixed_length else ""
        return f"{_text(self.name)};q={rule.limit}{window}"


class Options(TypedDict, total=False):
    """`cost` is a function, or maps patterns of paths to units; 0 is free. `failing` is what happens if the server
    does not answer within `timeout`. `refund` says for which status the units are given back: True is 500 and above;
    by default for none. `trusted_proxies` is how many proxies append to X-Forwarded-For, or their networks. What
    services with the same `prefix` call by the same name, they share."""

    cost: Callable[[Request], int | Awaitable[int]] | Mapping[str, int]
    failing: Failing
    timeout: Duration
    refund: Callable[[int], bool] | bool
    prefix: str
    algorithm: Algorithm
    offset: str
    trusted_proxies: Proxies


class ClientAddress:
    """Who sent a request: what the trusted proxies say, and the peer where there are none."""

    def __init__(self, proxies: Proxies):
        if isinstance(proxies, (str, bytes)) or (isinstance(proxies, int) and proxies < 0):
            raise ValueError(f"trusted_proxies is a number, or a list of networks, got {proxies!r}")
        self._hops = proxies if isinstance(proxies, int) else None
        self._networks = [] if isinstance(proxies, int) else [ipaddress.ip_network(network) for network in proxies]

    def __call__(self, peer: str, forwarded: str | None) -> str:
        address, hops = peer, 0
        # The nearest proxy has written the last one.
        for said in reversed((forwarded or "").split(",")):
            is_trusted = hops < self._hops if self._hops is not None else self._is_proxy(address)
            if not is_trusted or not said.strip():
                break
            address, hops = _address(said.strip()), hops + 1
        parsed = _parsed(address)
        # Who has one IPv6 address has 2^64 of them.
        return str(ipaddress.ip_network((int(parsed), 64), strict=False) if parsed and parsed.version == 6 else parsed or address)

    def _is_proxy(self, address: str) -> bool:
        parsed = _parsed(address)
        return parsed is not None and any(parsed in network for network in self._networks)


def _parsed(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    # A server that listens on IPv6 sees ::ffff:192.0.2.1.
    return getattr(parsed, "ipv4_mapped", None) or parsed


def _address(said: str) -> str:
    """Without a port: 192.0.2.1:80, [2001:db8::1]:80."""
    if said.startswith("["):
        return said[1:].partition("]")[0]
    return said.partition(":")[0] if said.count(":") == 1 else said


@dataclass(frozen=True)
class Asked:
    """The rules that apply to one request."""

    rules: Sequence[Rule]
    keys: list[str]
    cost: int

    def __post_init__(self) -> None:
        if isinstance(self.cost, bool) or not isinstance(self.cost, int) or self.cost < 0:
            raise TypeError(f"a cost is a whole number of units, got {self.cost!r}")


class Policies:
    """What all kinds of middleware share: which calls to make, and what the answers mean."""

    def __init__(self, rules: Sequence[Rule], options: Options):
        known(options, Options)
        self.rules = rules
        self.cost = options.get("cost", {})
        self.timeout = milliseconds(options.get("timeout", 0.5)) / 1000
        self.fallback = Fallback(options.get("failing", "open"))
        self.errors = 0
        self.client_address = ClientAddress(options.get("trusted_proxies", 0))
        refund = options.get("refund", False)
        self.refunds_status = refund if callable(refund) else _is_failure if refund else _is_never
        self.prefix = options.get("prefix", "limit:")
        self.limits: Limits = {"algorithm": options.get("algorithm", "GCRA")}
        if "offset" in options:
            self.limits["offset"] = options["offset"]
        check_rules([rule.rule for rule in rules], self.limits)
        self.calls = LimiterCalls([], self.limits, self.prefix)

    def questions(self, request: Request) -> list[Any]:
        """The cost of a request and its keys, which may have to be awaited."""
        return [self.cost_of(request), *(rule.key(request) for rule in self.rules)]

    def asked(self, answers: Sequence[Any]) -> Asked:
        cost, *keys = answers
        known = [(rule, f"{rule.name}:{checked_key(key)}") for rule, key in zip(self.rules, keys) if key is not None]
        return Asked([rule for rule, _ in known], [key for _, key in known], cost)

    def cost_of(self, request: Request) -> int | Awaitable[int]:
        if callable(self.cost):
            return self.cost(request)
        matching = (cost for pattern, cost in self.cost.items() if fnmatch.fnmatchcase(request.path, pattern))
        return next(matching, 1)

    def check(self, asked: Asked, is_cluster: bool) -> Steps[Verdict]:
        rules = [(key, rule.rule) for key, rule in zip(asked.keys, asked.rules)]
        if not is_cluster or len({key_slot(self.calls.key(key)) for key in asked.keys}) == 1:
            [verdict] = yield [self.calls.check_all(rules, cost=asked.cost)]
            return succeeded(verdict)  # type: ignore[no-any-return]
        # The keys are on different nodes: each is asked by itself, and what was taken in vain is given back.
        states = yield [self._one(rule).check(key, cost=asked.cost) for key, rule in rules]
        if not all(states) or any(isinstance(state, Exception) for state in states):
            taken = [at for at, state in enumerate(states) if isinstance(state, Verdict) and state.allowed]
            given = yield [self._one(rules[at][1]).refund(rules[at][0], cost=asked.cost) for at in taken]
            for at, state in zip(taken, given):
                states[at] = state
        return total([replace(succeeded(state), rule=at, rules=()) for at, state in enumerate(states, 1)])

    def _one(self, rule: str) -> LimiterCalls:
        return LimiterCalls([rule], self.limits, self.prefix)

    def refund(self, asked: Asked) -> list[Call[Verdict]]:
        return [self._one(rule.rule).refund(key, cost=asked.cost) for key, rule in zip(asked.keys, asked.rules)]

    def undecided(self, asked: Asked, error: Exception) -> Verdict | Answer | None:
        """What to do without the server's verdict: another verdict, an answer, or None: let the request pass."""
        if is_outage(error):
            log.warning("the rate limiter does not answer: %r", error)
            if self.fallback.failing == "local":
                keys = [self.calls.key(key) for key in asked.keys]
                return self.fallback.verdict(error, list(zip(keys, [rule.rule for rule in asked.rules])), asked.cost)
        else:
            self.errors += 1
            log.error("the rate limiter is not set up correctly: %r", error)
        return None if self.fallback.failing == "open" else self.failure()

    def fields(self, asked: Asked, verdict: Verdict) -> list[tuple[str, str]]:
        """The header fields of a response."""
        states = [
            f"{_text(rule.name)};r={state.remaining};t={math.ceil(state.reset_after)}"
            for rule, state in zip(asked.rules, verdict.rules)
        ]
        policies = [rule.policy() for rule in asked.rules]
        fields = [("RateLimit-Policy", ", ".join(policies)), ("RateLimit", ", ".join(states))]
        if verdict.limited and verdict.retry_after is not None:
            fields.append(("Retry-After", str(max(1, math.ceil(verdict.retry_after)))))
        return fields

    def problem(self, asked: Asked, verdict: Verdict) -> dict[str, Any]:
        violated = [rule.name for rule, state in zip(asked.rules, verdict.rules) if state.limited]
        return {"type": _PROBLEM, "title": "Too many requests", "status": 429, "violated-policies": violated}

    def denial(self, asked: Asked, verdict: Verdict) -> Answer:
        return _answer(429, self.fields(asked, verdict), self.problem(asked, verdict))

    def failure(self) -> Answer:
        return _answer(503, [("Retry-After", "1")], {"title": "The rate limiter does not answer", "status": 503})


def _answer(status: int, fields: list[tuple[str, str]], problem: dict[str, Any]) -> Answer:
    body = json.dumps(problem).encode()
    content = [("Content-Type", "application/problem+json"), ("Content-Length", str(len(body)))]
    return status, [*content, *fields], body


def checked_key(key: Any) -> str:
    """Anything else, such as an object that shows its address, would be another key for each request."""
    if isinstance(key, bool) or not isinstance(key, (str, int, float)):
        raise TypeError(f"the function for the key must return text, a number or None, got {key!r}")
    return str(key)


async def awaited(values: Iterable[Any]) -> list[Any]:
    return [await value if inspect.isawaitable(value) else value for value in values]


def not_awaited(values: Iterable[Any]) -> list[Any]:
    values = list(values)
    for value in values:
        if inspect.iscoroutine(value):
            value.close()
        if inspect.isawaitable(value):
            raise TypeError("WSGI cannot await: the functions for keys and costs must be ordinary ones")
    return values


def _is_failure(status: int) -> bool:
    return status >= 500


def _is_never(status: int) -> bool:
    return False


def _text(name: str) -> str:
    """A string of RFC 9651."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


# --- ASGI ---------------------------------------------------------------------------------------------


class AsgiRateLimit:
    """For Starlette, FastAPI and every other ASGI application; `client` is of redis.asyncio."""

    def __init__(self, app: Any, client: Any, rules: Sequence[Rule], **options: Unpack[Options]):
        self.app = app
        self.policies = Policies(rules, options)
        self.link = Async(client, self.policies.timeout)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)  # type: ignore[no-any-return]
        request = asgi_request(scope, self.policies.client_address)
        asked = self.policies.asked(await awaited(self.policies.questions(request)))
        verdict = await decide(self.link, self.policies, asked)
        if verdict is None:
            return await self.app(scope, receive, send)  # type: ignore[no-any-return]
        if isinstance(verdict, tuple):
            return await _respond(send, *verdict)
        taken = Taken(self.link, self.policies, asked, verdict)
        all_taken = taken_by(scope)
        if verdict.limited:
            await refund_all(all_taken)
            return await _respond(send, *self.policies.denial(asked, verdict))
        all_taken.append(taken)

        # A client that goes away before the response gets nothing back.
        status = 0

        async def send_with_fields(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                # After a denial by a limit for the route, the response has the fields of that one.
                if not taken.is_refunded:
                    names = {name.lower().encode() for name in _FIELDS}
                    headers = [(name, value) for name, value in message.get("headers", ()) if name.lower() not in names]
                    message = {**message, "headers": [*headers, *_encoded(merged_fields(all_taken))]}
            await send(message)

        try:
            await self.app(scope, receive, send_with_fields)
        except Exception:
            status = 500
            raise
        finally:
            if status and self.policies.refunds_status(status):
                await refund_all([taken])


_FIELDS = ("RateLimit-Policy", "RateLimit")


@dataclass
class Taken:
    """Units that a request has taken from one limit. Several limits of one request take from all, or from none."""

    link: Async
    policies: Policies
    asked: Asked
    verdict: Verdict
    is_refunded: bool = False


def taken_by(scope: Any) -> list[Taken]:
    """All limits that have let this request pass so far."""
    taken: list[Taken] = scope.setdefault("redis_rank.taken", [])
    return taken


async def refund_all(all_taken: Sequence[Taken]) -> None:
    for taken in all_taken:
        # What was decided while the server was away was not counted there.
        if taken.is_refunded or taken.verdict.source != "server":
            continue
        taken.is_refunded = True
        for result in await taken.link.send(taken.policies.refund(taken.asked)):
            if isinstance(result, Exception):
                log.warning("a refund failed: %r", result)


def merged_fields(all_taken: Sequence[Taken]) -> list[tuple[str, str]]:
    """The fields of all limits of a request, in one list."""
    fields = [dict(taken.policies.fields(taken.asked, taken.verdict)) for taken in all_taken]
    return [(name, ", ".join(each[name] for each in fields)) for name in _FIELDS]


async def decide(link: Async, policies: Policies, asked: Asked) -> Verdict | Answer | None:
    if not asked.rules or asked.cost == 0:
        return None
    try:
        return await link.run(policies.check(asked, link.is_cluster))
    except Exception as error:
        return policies.undecided(asked, error)


def asgi_request(scope: Any, client_address: ClientAddress, native: Any = None) -> Request:
    headers: dict[str, str] = {}
    for name, value in scope["headers"]:
        name, value = name.decode("latin-1"), value.decode("latin-1")
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    client = client_address((scope.get("client") or ("",))[0], headers.get("x-forwarded-for"))
    return Request(scope["method"], scope["path"], headers, client, scope if native is None else native)


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
        self.policies = Policies(rules, options)
        for function in (self.policies.cost, *(rule.key for rule in rules)):
            if inspect.iscoroutinefunction(function):
                raise TypeError(f"WSGI cannot await {function!r}: the functions for keys and costs must be ordinary ones")
        self.link = Sync(client, self.policies.timeout)

    def _decide(self, asked: Asked) -> Verdict | Answer | None:
        if not asked.rules or asked.cost == 0:
            return None
        try:
            return self.link.run(self.policies.check(asked, self.link.is_cluster))
        except Exception as error:
            return self.policies.undecided(asked, error)

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        request = _wsgi_request(environ, self.policies.client_address)
        asked = self.policies.asked(not_awaited(self.policies.questions(request)))
        verdict = self._decide(asked)
        if verdict is None:
            return self.app(environ, start_response)  # type: ignore[no-any-return]
        if isinstance(verdict, tuple):
            return _start(start_response, *verdict)
        if verdict.limited:
            return _start(start_response, *self.policies.denial(asked, verdict))

        def end(status: int) -> None:
            if status and verdict.source == "server" and self.policies.refunds_status(status):
                for result in self.link.send(self.policies.refund(asked)):
                    if isinstance(result, Exception):
                        log.warning("a refund failed: %r", result)

        response = _Response(start_response, self.policies.fields(asked, verdict), end)
        try:
            response.body = self.app(environ, response.start)
        except Exception:
            response.status = 500
            response.close()
            raise
        return response


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


def _wsgi_request(environ: dict[str, Any], client_address: ClientAddress) -> Request:
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    client = client_address(environ.get("REMOTE_ADDR", ""), headers.get("x-forwarded-for"))
    return Request(environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/"), headers, client, environ)


def _start(start_response: Any, status: int, fields: list[tuple[str, str]], body: bytes) -> list[bytes]:
    reason = {429: "Too Many Requests", 503: "Service Unavailable"}[status]
    start_response(f"{status} {reason}", fields)
    return [body]
