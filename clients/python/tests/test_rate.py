"""Limiters and leases."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import redis.asyncio
from proxy import Proxy
from servers import wait_for
from support import URL, Awaited, Case, address, on_each_client

import redis_rank.asyncio
from redis_rank import Held, Lease, LeaseDenied, LeaseLost, RateLimited, RateLimiter, Verdict

NOW = 1_700_000_000


async def limits(client: Any, package: Any) -> list[Any]:
    limiter = Awaited(package.RateLimiter(client, "2/1s", "3/1m", prefix="{limit}:"))
    lease = Awaited(package.Lease(client, "place", 2, "10s"))
    verdicts = [await limiter.check("ann", now=NOW + second) for second in range(4)]
    return [
        verdicts[0],
        [(bool(verdict), verdict.remaining, verdict.rule, verdict.retry_after) for verdict in verdicts],
        (await limiter.peek("ann", now=NOW + 3)).remaining,
        (await limiter.refund("ann", now=NOW + 3)).remaining,
        (await limiter.check_all([("ann", "3/1m"), ("all", "9/1m")], now=NOW + 3)).rules,
        [await limiter.reset("ann"), await limiter.reset("ann")],
        [(bool(grant), grant.token > 0) for grant in [await lease.acquire() for _ in range(3)]],
        (await lease.held()).held,
    ]


class Limits(Case):
    def test_the_same_values_from_every_client(self) -> None:
        def allowed(limit: int, remaining: int, reset: float, rule: int, *rules: Verdict) -> Verdict:
            return Verdict(True, False, limit, remaining, 0, reset, rule, "server", rules)

        first = allowed(2, 1, 1, 1), allowed(3, 2, 60, 2)
        expected = [
            allowed(2, 1, 1, 1, *first),
            [(True, 1, 1, 0), (True, 1, 1, 0), (True, 0, 2, 0), (False, 0, 2, 57)],
            0,
            1,
            (allowed(3, 0, 60, 1), allowed(9, 8, 60, 2)),
            [True, False],
            [(True, True), (True, True), (False, False)],
            2,
        ]
        for variant, values in on_each_client(limits):
            with self.subTest(variant):
                self.assertEqual(values, expected)

    def test_a_denied_call_can_raise(self) -> None:
        limiter = RateLimiter(self.redis, "1/1m")
        self.assertEqual(limiter.enforce("ann").remaining, 0)
        with self.assertRaises(RateLimited) as caught:
            limiter.enforce("ann")
        self.assertGreater(caught.exception.verdict.retry_after, 0)
        with self.assertRaisesRegex(RateLimited, "bob: it costs more than the limit"):
            limiter.enforce("bob", cost=2)

    def test_options(self) -> None:
        bucket = RateLimiter(self.redis, "1/1s", algorithm="GCRA", burst=5)
        self.assertEqual([bucket.check("a", cost=2, now=NOW).remaining for _ in range(2)], [3, 1])
        self.assertTrue(bucket.check("a", cost=2, force=True, now=NOW).limited)
        self.assertEqual(bucket.peek("a", now=NOW).remaining, 0)
        self.assertTrue(bucket.check("b", cost=9, penalty="1m", now=NOW).limited)
        self.assertEqual(bucket.check("b", now=NOW).rule, 0)
        days = RateLimiter(self.redis, "2/day", algorithm="CALENDAR", offset="+09:00")
        self.assertEqual(days.check("a").remaining, 1)


class Leases(Case):
    def test_a_context_manager(self) -> None:
        with Lease(self.redis, "job", 1, "10s") as first:
            self.assertGreater(first.token, 0)
            self.assertTrue(first.renew())
            with self.assertRaises(LeaseDenied) as caught, Lease(self.redis, "job", 1, "10s"):
                self.fail("there is only one place")
            self.assertGreater(caught.exception.grant.retry_after, 0)
        self.assertEqual(Lease(self.redis, "job").held(), Held(0, None))

    def test_it_waits(self) -> None:
        Lease(self.redis, "job", 1, "300ms").acquire()
        with Lease(self.redis, "job", 1, "10s", wait=20) as lease:
            self.assertGreater(lease.token, 0)

    def test_it_renews_itself_while_its_block_runs(self) -> None:
        with Lease(self.redis, "job", lease=0.5) as lease:
            for _ in range(3):
                time.sleep(0.4)
                self.assertFalse(Lease(self.redis, "job").acquire())
            self.assertFalse(lease.lost)

        async def work() -> None:
            async with redis.asyncio.Redis.from_url(URL) as client:
                async with redis_rank.asyncio.Lease(client, "job", lease=0.5) as lease:
                    for _ in range(3):
                        await asyncio.sleep(0.4)
                        self.assertFalse(Lease(self.redis, "job").acquire())
                    self.assertFalse(lease.lost)

        asyncio.run(work())
        with self.assertRaises(LeaseLost), Lease(self.redis, "job", lease=0.2, renewing=False) as lease:
            wait_for(lambda: lease.lost)

    def test_a_block_is_told_that_its_lease_is_lost(self) -> None:
        proxy = Proxy(address(URL)["port"])
        self.addCleanup(proxy.close)
        url = f"redis://127.0.0.1:{proxy.port}"
        with redis.Redis.from_url(url) as client:
            with self.assertRaises(LeaseLost), Lease(client, "job", lease=0.5) as lease:
                proxy.is_hole = True
                wait_for(lambda: lease.lost)
                # What comes back later does not take it back.
                proxy.mend()
                client.connection_pool.disconnect()
                lease.renew()
                self.assertTrue(lease.lost)

        async def work(end: Any) -> list[str]:
            seen = []
            async with redis.asyncio.Redis.from_url(url) as other:
                try:
                    async with redis_rank.asyncio.Lease(other, "async", lease=0.5) as lease:
                        end()
                        try:
                            await asyncio.sleep(60)
                        except asyncio.CancelledError:
                            seen.append(f"cancelled, lost {lease.lost}")
                            proxy.mend()
                            await other.connection_pool.disconnect()
                            raise
                except LeaseLost:
                    seen.append("lost")
                # Nothing of the cancellation is left.
                await asyncio.sleep(0)
            return seen

        for end in (lambda: setattr(proxy, "is_hole", True), lambda: self.redis.delete("async")):
            self.assertEqual(asyncio.run(work(end)), ["cancelled, lost True", "lost"])

    def test_waiting_asks_once_for_each_lease_that_may_end(self) -> None:
        Lease(self.redis, "job", lease=1).acquire()
        self.redis.config_resetstat()
        with Lease(self.redis, "job", wait=20):
            calls = [value["calls"] for name, value in self.redis.info("commandstats").items() if "acquire" in name.lower()]
            self.assertLessEqual(calls[0], 3)

    def test_a_lease_that_was_lost_is_an_error(self) -> None:
        with self.assertRaises(LeaseLost), Lease(self.redis, "job") as lease:
            self.assertEqual(lease.release(lease.token), 1)
        with self.assertRaises(ZeroDivisionError), Lease(self.redis, "job") as lease:
            lease.release(lease.token)
            1 / 0

    def test_each_holder_has_an_object_of_its_own(self) -> None:
        async def work() -> None:
            async with redis.asyncio.Redis.from_url(URL) as client:
                shared = redis_rank.asyncio.Lease(client, "job", 3)

                async def hold() -> None:
                    async with shared:
                        await asyncio.sleep(0.1)

                results = await asyncio.gather(hold(), hold(), hold(), return_exceptions=True)
                self.assertEqual([type(result) for result in results], [type(None), RuntimeError, RuntimeError])
                entering = asyncio.create_task(hold())
                await asyncio.sleep(0)
                entering.cancel()
                await asyncio.wait([entering])
                await hold()

        asyncio.run(work())
        lease = Lease(self.redis, "other", 1)
        with lease:
            with self.assertRaises(RuntimeError), lease:
                self.fail("it is in use")
            with self.assertRaises(LeaseDenied), Lease(self.redis, "other", 1):
                self.fail("there is only one place")
        with lease:
            self.assertEqual(lease.held().held, 1)

    def test_asyncio(self) -> None:
        async def work() -> int:
            async with redis.asyncio.Redis.from_url(URL) as client:
                async with redis_rank.asyncio.Lease(client, "job", 1, "10s") as lease:
                    self.assertTrue(await lease.renew())
                    with self.assertRaises(LeaseDenied):
                        async with redis_rank.asyncio.Lease(client, "job", 1, "10s"):
                            self.fail("there is only one place")
                return (await lease.held()).held

        self.assertEqual(asyncio.run(work()), 0)
