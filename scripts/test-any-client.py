#!/usr/bin/env python3
"""Runs the programs of docs/guides/any-client.md against a server with the module.

    test-any-client.py SERVER MODULE      SERVER is a redis-server; without a language's packages, its programs are left out

Packages on Debian: php-cli php-redis php-predis ruby-redis libredis-perl libhiredis-dev golang-go golang-github-gomodule-redigo-dev.
With CI=true, nothing may be left out.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/guides/any-client.md"
PRINTED = "1 bob 70\n2 ann 50\nallowed\n"
RUNS = {
    "c": "cc -o {dir}/program {file} -lhiredis && {dir}/program",
    "go": "GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE={dir}/cache go run {file}",
    "perl": "perl {file}",
    "php": "php -d include_path=/usr/share/php {file}",
    "ruby": "ruby {file}",
}
# What shows that a language's packages are there.
NEEDS = {
    "c": "echo '#include <hiredis/hiredis.h>' | cc -fsyntax-only -x c -",
    "go": "go version && test -d /usr/share/gocode/src/github.com/gomodule/redigo",
    "perl": "perl -MRedis -e 1",
    "php": "php -r 'exit(extension_loaded(\"redis\") && stream_resolve_include_path(\"Predis/autoload.php\") ? 0 : 1);'",
    "ruby": "ruby -e 'require \"redis\"'",
}


def has(language):
    return subprocess.run(NEEDS[language], shell=True, capture_output=True).returncode == 0


def send(port, *words):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)]))
        return connection.recv(100)


def main(server, module):
    programs = re.findall(r"^<!-- run: (\w+) -->\n```\w+\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    assert len(programs) >= 6, "the page has fewer programs than it had"
    with tempfile.TemporaryDirectory() as folder, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        unused.close()
        running = subprocess.Popen([server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder,
                                    "--loadmodule", module], stdout=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    if send(port, b"PING").startswith(b"+PONG"):
                        break
                except OSError:
                    pass
                assert time.monotonic() < deadline and running.poll() is None, "the server did not start"
                time.sleep(0.05)
            ran, left_out, failed = [], [], []
            for place, (language, code) in enumerate(programs):
                if not has(language):
                    left_out.append(language)
                    continue
                send(port, b"FLUSHALL")
                file = Path(folder, f"program{place}.{ {'perl': 'pl', 'ruby': 'rb'}.get(language, language)}")
                file.write_text(code)
                result = subprocess.run(RUNS[language].format(dir=folder, file=file), shell=True, text=True,
                                        capture_output=True, env={**os.environ, "PORT": str(port), "HOME": folder})
                ran.append(language)
                if result.returncode or result.stdout != PRINTED:
                    failed.append(f"{language}: exit {result.returncode}\n{code}\n--- printed\n{result.stdout}{result.stderr}")
        finally:
            running.terminate()
            running.wait()
    print("ran:", " ".join(ran) or "nothing")
    if left_out:
        print("LEFT OUT, because packages are missing:", " ".join(left_out))
    print("\n".join(failed), end="")
    return 1 if failed or (left_out and os.environ.get("CI") == "true") else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(shutil.which(sys.argv[1]) or sys.argv[1], os.path.abspath(sys.argv[2])))
