"""Recipes of the guides that need a framework run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
import unittest
from pathlib import Path

import pytest
from support import URL, Case, address

GUIDES = Path(__file__).parents[3] / "docs/guides"

# The smallest project that has a view, which the throttle of the guide limits.
DJANGO = '''
import sys
from django.conf import settings
settings.configure(
    SECRET_KEY="x", ALLOWED_HOSTS=["*"], ROOT_URLCONF="__main__", INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework"],
    REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": []},
)
import django
django.setup()
from django.test import Client
from django.urls import path
from rest_framework.response import Response
from rest_framework.views import APIView

class View(APIView):
    throttle_classes = [RankThrottle]

    def get(self, request):
        return Response("fine")

urlpatterns = [path("", View.as_view())]
replies = [Client().get("/", REMOTE_ADDR=address) for address in ["192.0.2.1"] * 12 + ["192.0.2.2"]]
print([reply.status_code for reply in replies])
print([reply.headers["Retry-After"] for reply in replies if reply.status_code == 429][0])
'''


class Recipes(Case):
    def test_django_rest_framework(self) -> None:
        pytest.importorskip("rest_framework")
        [block] = re.findall(r"^```python\n(from redis import Redis\n.*?rest_framework.*?)^```", (GUIDES / "rate-limits.md").read_text(), re.M | re.S)
        # Where the server is, and a limit that does not refill while the test runs.
        port = address(URL)["port"]
        code = block.replace("Redis()", f"Redis(port={port})").replace('"10/1s"', '"10/2h"').replace("timeout=0.2", "timeout=30")
        # Django wants its settings before the rest.
        before, after = DJANGO.split("class View", 1)
        shown = subprocess.run([sys.executable, "-c", before + code + "\nclass View" + after], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        statuses, wait = shown.stdout.splitlines()
        self.assertEqual(statuses, str([200] * 10 + [429] * 2 + [200]))
        self.assertIn(int(wait), range(600, 721))
        self.assertEqual(self.redis.exists("limit:api:address:192.0.2.1"), 1)


if __name__ == "__main__":
    unittest.main()
