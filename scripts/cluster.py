"""Play the deployment of deploy/ on one machine, each host in a network namespace of its own.

    scripts/cluster install            unpack Debian's packages into a folder; nothing is started
    scripts/cluster up [--servers]     three engine hosts, two servers, one client
    scripts/cluster status             who leads, and who follows
    scripts/cluster url TENANT         what a server gives to doxa.open
    scripts/cluster kill-leader        as if the power of the leader's host went; prints its name
    scripts/cluster start HOST         power it on again
    scripts/cluster partition HOST...  cut these hosts off from the others, not from each other
    scripts/cluster heal               put all hosts on one network again
    scripts/cluster exec HOST COMMAND  run a command on a host
    scripts/cluster down               end every process of these hosts, and remove what they kept

    db1 db2 db3      etcd, Patroni, PostgreSQL, Redis and its Sentinel
    app1 app2        a balancer on 127.0.0.1:5432 that leads to the primary; doxa serve (--servers)
    client           a balancer on 10.207.24.31:8040 that leads to a doxa server

It takes root (network namespaces), iproute2 and util-linux. The network has no way out of this
machine. DOXA_CLUSTER names another cluster than `doxa`; DOXA_CACHE is the folder of packages.
"""

from __future__ import annotations

import argparse
import json
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from string import Template
from typing import Any

DEPLOY = Path(__file__).resolve().parent.parent / "deploy"
FOLDER = Path(os.environ.get("DOXA_CACHE") or Path.home() / ".cache/doxa-tests") / "cluster"
ROOT = FOLDER / "root"
PACKAGES = "patroni etcd-server etcd-client haproxy redis-server redis-sentinel postgresql-15"
ENGINES = {"db1": "10.207.24.11", "db2": "10.207.24.12", "db3": "10.207.24.13"}
SERVERS = {"app1": "10.207.24.21", "app2": "10.207.24.22"}
CLIENT = {"client": "10.207.24.31"}
HOSTS = ENGINES | SERVERS | CLIENT
_START_S = 90.0
_DATABASE = "doxa"


class Refused(Exception):
    """What cannot be done here, said to a person."""


def missing() -> str:
    """What is absent, or nothing."""
    if os.geteuid():
        return "a cluster in network namespaces takes root"
    if not all(map(shutil.which, ("ip", "setpriv"))):
        return "iproute2 or util-linux is absent"
    if not (ROOT / "usr/bin/patroni").exists():
        return "Patroni and etcd are absent: run scripts/cluster install"
    made = subprocess.run(["ip", "netns", "add", "doxa-probe"], capture_output=True)
    if made.returncode:
        return f"the kernel refuses network namespaces: {made.stderr.decode().strip()}"
    subprocess.run(["ip", "netns", "del", "doxa-probe"], check=True)
    return ""


def install() -> None:
    """Unpack what is not installed; the libraries that those packages lack come with them."""
    packages = FOLDER / "packages"
    (packages / "partial").mkdir(parents=True, exist_ok=True)
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Refused("There is no apt-get here: install Patroni, etcd and HAProxy by hand.")
    get = ["apt-get", "-y", "-q", "--no-install-recommends", "-o", "Debug::NoLocking=1"]
    get += ["-o", f"Dir::Cache::archives={packages}", "--download-only", "--reinstall", "install"]
    _run([*get, *PACKAGES.split()])
    for package in sorted(packages.glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(ROOT)])


class Cluster:
    """The hosts of one cluster. Its state is a folder and the kernel's namespaces, so that every
    command finds what another one started."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name or os.environ.get("DOXA_CLUSTER", "doxa")
        self.folder = Path("/tmp") / f"{self.name}-cluster"
        self.programs = self.folder / "programs"
        self.settings = self.folder / "deploy"
        self._switch = f"{self.name}-switch"
        self._started: list[subprocess.Popen[bytes]] = []  # by this process

    # Hosts and the network

    def namespace(self, host: str) -> str:
        return f"{self.name}-{host}"

    def up(self, *, servers: bool = False) -> None:
        """Start everything, and wait until there is a primary with a synchronous standby."""
        if problem := missing():
            raise Refused(f"Cannot start: {problem}.")
        if self.folder.exists():
            raise Refused(f"{self.folder} exists: run scripts/cluster down first.")
        self.folder.mkdir(mode=0o755)
        words = ("superuser", "replication", "rewind", "doxa", "redis")
        passwords = {f"{word}_password".upper(): secrets.token_hex(12) for word in words}
        self._secrets.write_text(json.dumps(passwords))
        self._secrets.chmod(0o600)
        # what the hosts run and read: the user of PostgreSQL may see no more of this machine
        shutil.copytree(ROOT, self.programs, symlinks=True)
        shutil.copytree(DEPLOY, self.settings)
        _run(["ip", "netns", "add", self._switch])
        for bridge in ("one", "two"):
            self._on(self._switch, "ip", "link", "add", bridge, "type", "bridge")
            self._on(self._switch, "ip", "link", "set", bridge, "up")
        for host, address in HOSTS.items():
            self._plug_in(host, address)
        for host in HOSTS:
            self.start(host, servers=servers)
        self.wait_until_safe()
        self._create_database()
        if servers:
            self.start_servers()

    def _plug_in(self, host: str, address: str) -> None:
        own = self.namespace(host)
        _run(["ip", "netns", "add", own])
        ends = ["netns", own, "type", "veth", "peer", "name", host, "netns", self._switch]
        _run(["ip", "link", "add", "eth0", *ends])
        self._on(self._switch, "ip", "link", "set", host, "master", "one", "up")
        self._on(own, "ip", "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            self._on(own, "ip", "link", "set", device, "up")

    def partition(self, *hosts: str) -> None:
        """Move the ports of these hosts to another switch."""
        for host in hosts:
            self._on(self._switch, "ip", "link", "set", host, "master", "two")

    def heal(self) -> None:
        for host in HOSTS:
            self._on(self._switch, "ip", "link", "set", host, "master", "one")

    def processes(self, host: str) -> list[int]:
        told = _run(["ip", "netns", "pids", self.namespace(host)], check=False)
        return [int(one) for one in told.split()]

    def kill(self, host: str) -> None:
        """End every process of a host at once, as a power failure does."""
        until = time.monotonic() + 10
        while (alive := self.processes(host)) and time.monotonic() < until:
            for process in alive:
                with _absent_is_fine():
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.02)
        self._started = [one for one in self._started if one.poll() is None]

    def kill_postgres(self, host: str) -> None:
        """End PostgreSQL of a host, and nothing else: Patroni sees it."""
        own = str(self._own(host) / "data/postgresql")
        for process in self.processes(host):
            with _absent_is_fine():
                command = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
                if command[0].endswith("/postgres") and own in command:
                    os.kill(process, signal.SIGKILL)

    def down(self) -> None:
        """End all processes of these hosts, remove the namespaces and the folder."""
        known = _run(["ip", "netns", "list"], check=False).split()
        for host in HOSTS:
            if self.namespace(host) in known:
                self.kill(host)
                _run(["ip", "netns", "del", self.namespace(host)], check=False)
        if self._switch in known:
            _run(["ip", "netns", "del", self._switch], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    # What runs on a host

    def start(self, host: str, *, servers: bool = False, only_etcd: bool = False) -> None:
        """Start what belongs to a host."""
        if host in ENGINES:
            own = self._own(host)
            (own / "data").mkdir(exist_ok=True)
            shutil.chown(own / "data", _user(), pwd.getpwnam(_user()).pw_gid)
            self._spawn(
                host, "etcd", [str(self.programs / "usr/bin/etcd")], self._file(host, "etcd.env")
            )
            if not only_etcd:
                self._patroni(host)
                self._start_redis(host)
        elif host in SERVERS:
            self._balance(host, "haproxy-log.cfg")
            if servers:
                self.serve(host)
        else:
            self._balance(host, "haproxy-doxa.cfg")

    def _patroni(self, host: str) -> None:
        command = ["/usr/bin/python3", "-m", "patroni", str(self.settings / "patroni.yml")]
        self._spawn(host, "patroni", command, self._file(host, "patroni.env"))

    def _balance(self, host: str, configuration: str) -> None:
        program = [
            str(self.programs / "usr/sbin/haproxy"),
            "-f",
            str(self.settings / configuration),
        ]
        self._spawn(host, "haproxy", program, self._values(host))

    def _start_redis(self, host: str) -> None:
        data, values = self._own(host) / "data", self._values(host)
        first = ENGINES["db1"]
        for name in ("redis", "sentinel"):
            place = data / f"{name}.conf"
            if place.exists():  # Redis and Sentinel write what they learn into their own files
                continue
            text = Template((self.settings / f"{name}.conf").read_text()).substitute(values)
            if name == "redis" and host != "db1":
                text += f"replicaof {first} 6379\n"
            place.write_text(text)
            shutil.chown(place, _user(), pwd.getpwnam(_user()).pw_gid)
        programs = self.programs / "usr/bin"
        self._spawn(host, "redis", [str(programs / "redis-server"), str(data / "redis.conf")], {})
        sentinel = [str(programs / "redis-sentinel"), str(data / "sentinel.conf")]
        self._spawn(host, "sentinel", sentinel, {})

    def _spawn(
        self,
        host: str,
        name: str,
        command: Sequence[str],
        more: Mapping[str, str],
        *,
        user: str = "",
    ) -> None:
        """Start a program on a host, apart from this process."""
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "HOME": str(self._own(host)),
            "LD_LIBRARY_PATH": str(self.programs / "usr/lib/x86_64-linux-gnu"),
            "PYTHONPATH": str(self.programs / "usr/lib/python3/dist-packages"),
            **more,
        }
        known = pwd.getpwnam(user or _user())
        runner = ["ip", "netns", "exec", self.namespace(host), "setpriv", f"--reuid={known.pw_uid}"]
        runner += [f"--regid={known.pw_gid}", "--clear-groups", "--"]
        with (self._own(host) / f"{name}.log").open("ab") as log:
            self._started.append(
                subprocess.Popen(
                    [*runner, *command],
                    cwd="/",
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )

    def start_servers(self) -> None:
        if not self.users.exists():
            made = self._doxa("users", "token", "ana", "--role", "operator", "--json")
            (self.folder / "token").write_text(json.loads(made)["token"])
        for host in SERVERS:
            if not self._server_of(host):
                self.serve(host)
        until = time.monotonic() + _START_S
        places = [f"{address}:7474" for address in SERVERS.values()]
        places.append(f"{CLIENT['client']}:8040")
        ready = [f"http://{place}/readyz" for place in places]
        _until(lambda: all(self._answers("client", url) for url in ready), until)

    @property
    def token(self) -> str:
        """What the doxa servers let in."""
        return (self.folder / "token").read_text()

    def _doxa(self, *given: str) -> str:
        """Run a command of doxa that needs no host."""
        command = [sys.executable, "-m", "doxa.cli", *given, "--users", str(self.users)]
        return _run(command, env=os.environ | self._doxa_environment())

    def _doxa_environment(self) -> dict[str, str]:
        """The code of this checkout, and the driver of PostgreSQL."""
        paths = [str(DEPLOY.parent / "src"), str(FOLDER.parent / "postgres/site")]
        return {"PYTHONPATH": os.pathsep.join(paths), "DOXA_CONFIG": os.devnull}

    def serve(self, host: str) -> None:
        """Start doxa on a server, which keeps nothing but a replica that it can make again."""
        doxa = [sys.executable, "-m", "doxa.cli", "serve", "--http", "--plaintext"]
        doxa += ["--host", HOSTS[host], "--db", self.url("shop"), "--users", str(self.users)]
        more = self._doxa_environment() | {
            "LD_LIBRARY_PATH": "",
            "DOXA_WORKING": self.working_url(),
        }
        self._spawn(host, "doxa", doxa, more, user="root")

    def kill_server(self, host: str) -> None:
        """End doxa on a server; its balancer goes on."""
        for process in self._server_of(host):
            with _absent_is_fine():
                os.kill(process, signal.SIGKILL)

    def _server_of(self, host: str) -> list[int]:
        found = []
        for process in self.processes(host):
            with _absent_is_fine():
                if b"doxa.cli" in Path(f"/proc/{process}/cmdline").read_bytes():
                    found.append(process)
        return found

    # What is asked

    def members(self) -> list[dict[str, Any]]:
        """What Patroni says of its members, asked at whichever answers."""
        for host in ENGINES:
            told = self._get(host, f"http://{ENGINES[host]}:8008/cluster")
            if told is not None:
                return list(json.loads(told)["members"])
        return []

    def leader(self) -> str | None:
        """The host that accepts writes, as a balancer sees it."""
        for host, address in ENGINES.items():
            if self._answers(host, f"http://{address}:8008/primary"):
                return host
        return None

    def wait_until_safe(self, timeout_s: float = _START_S) -> str:
        """Wait for a primary with a synchronous standby; the name of its host."""

        def found() -> bool:
            roles = [one["role"] for one in self.members() if one["state"] == "running"]
            return self.leader() is not None and "sync_standby" in roles

        _until(found, time.monotonic() + timeout_s)
        leader = self.leader()
        assert leader is not None
        return leader

    def url(self, tenant: str | None = None) -> str:
        word = self._passwords()["DOXA_PASSWORD"]
        at = f"postgresql://doxa:{word}@127.0.0.1:5432/{_DATABASE}"
        return at if tenant is None else f"{at}?tenant={tenant}"

    def working_url(self) -> str:
        word = self._passwords()["REDIS_PASSWORD"]
        places = ",".join(f"{address}:26379" for address in ENGINES.values())
        return f"redis+sentinel://:{word}@{places}/doxa/0?prefix=shop"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement at the primary, as its superuser."""
        word = self._passwords()["SUPERUSER_PASSWORD"]
        at = f"postgresql://postgres:{word}@127.0.0.1:5432/{database}"
        return self.run(
            "app1",
            str(postgresql(self.programs) / "psql"),
            at,
            "-v",
            "ON_ERROR_STOP=1",
            "-Atc",
            statement,
        )

    def redis(self, host: str, port: int, *command: str) -> str:
        """Ask the Redis or the Sentinel of a host."""
        client = str(self.programs / "usr/bin/redis-cli")
        libraries = f"LD_LIBRARY_PATH={self.programs}/usr/lib/x86_64-linux-gnu"
        at = ["-h", HOSTS[host], "-p", str(port), "--no-auth-warning"]
        word = self._passwords()["REDIS_PASSWORD"]
        return self.run(host, "env", libraries, f"REDISCLI_AUTH={word}", client, *at, *command)

    def run(self, host: str, *command: str) -> str:
        """Run a command on a host, and return what it printed."""
        return self._on(self.namespace(host), *command)

    def _create_database(self) -> None:
        word = self._passwords()["DOXA_PASSWORD"]
        self.sql(f"CREATE ROLE doxa LOGIN CREATEROLE PASSWORD '{word}'")
        self.sql(f"CREATE DATABASE {_DATABASE} OWNER doxa")

    def _answers(self, host: str, url: str) -> bool:
        return self._get(host, url) is not None

    def _get(self, host: str, url: str) -> str | None:
        """Ask a server from a host; None unless it answers 200."""
        asked = ["ip", "netns", "exec", self.namespace(host), sys.executable, "-c", _ASK, url]
        done = subprocess.run(asked, capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None

    # Backup and restore of the engine (deploy/README.md)

    def back_up(self, place: Path) -> None:
        """A base backup of the primary, checked against its manifest."""
        word = self._passwords()["REPLICATION_PASSWORD"]
        at = f"postgresql://replicator:{word}@127.0.0.1:5432/postgres"
        programs = postgresql(self.programs)
        base = [str(programs / "pg_basebackup"), "-d", at, "-D", str(place), "-X", "stream"]
        self.run("app1", *base, "-c", "fast", "--manifest-checksums=SHA256")
        self.run("app1", str(programs / "pg_verifybackup"), str(place))

    def restore(self, place: Path) -> None:
        """Put a backup in the place of all that the engine hosts have."""
        for host in ENGINES:
            self.kill(host)
            for data in ("postgresql", "etcd"):
                shutil.rmtree(self._own(host) / "data" / data, ignore_errors=True)
        first = self._own("db1") / "data/postgresql"
        shutil.copytree(place, first)
        user = pwd.getpwnam(_user())
        for one in [first, *first.rglob("*")]:
            os.chown(one, user.pw_uid, user.pw_gid)
        first.chmod(0o700)
        for host in ENGINES:  # a new etcd has no version before all its members are there
            self.start(host, only_etcd=True)
            self._start_redis(host)
        self._patroni("db1")
        _until(lambda: self.leader() == "db1", time.monotonic() + _START_S)
        for host in ("db2", "db3"):
            self._patroni(host)
        self.wait_until_safe()

    # Files

    @property
    def users(self) -> Path:
        """The file of logins, the same on each server."""
        return self.folder / "users.json"

    @property
    def _secrets(self) -> Path:
        return self.folder / "passwords.json"

    def _passwords(self) -> dict[str, str]:
        return dict(json.loads(self._secrets.read_text()))

    def _own(self, host: str) -> Path:
        place = self.folder / host
        place.mkdir(exist_ok=True)
        return place

    def _values(self, host: str) -> dict[str, str]:
        """What the files of deploy/ leave open."""
        places = {name.upper(): address for name, address in HOSTS.items()}
        own = {"HOST": host, "ADDRESS": HOSTS[host], "DATA": str(self._own(host) / "data")}
        return (
            places
            | own
            | {"LISTEN": "127.0.0.1"}
            | self._passwords()
            | {"POSTGRESQL_BIN": str(postgresql(self.programs))}
        )

    def _file(self, host: str, name: str) -> dict[str, str]:
        """The environment in a file of deploy/."""
        text = Template((self.settings / name).read_text()).substitute(self._values(host))
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return dict(line.split("=", 1) for line in lines)

    def _on(self, namespace: str, *command: str) -> str:
        return _run(["ip", "netns", "exec", namespace, *command])


_ASK = """
import sys, urllib.request
try:
    answer = urllib.request.urlopen(sys.argv[1], timeout=2)
except OSError:
    sys.exit(1)
sys.stdout.write(answer.read().decode())
"""


def postgresql(unpacked: Path) -> Path:
    """The folder of the server's programs."""
    for root in (Path("/"), unpacked):
        found = sorted(root.glob("usr/lib/postgresql/*/bin/postgres"))
        if found:
            return found[-1].parent
    raise Refused("PostgreSQL is absent: run scripts/cluster install.")


def _user() -> str:
    """PostgreSQL refuses to run as root."""
    known = {one.pw_name for one in pwd.getpwall()}
    return "postgres" if "postgres" in known else "nobody"


@contextmanager
def _absent_is_fine() -> Iterator[None]:
    with suppress(ProcessLookupError, FileNotFoundError):
        yield


def _until(holds: Callable[[], bool], end: float) -> None:
    while not holds():
        if time.monotonic() > end:
            raise Refused("The cluster did not come up in time; its logs are in its folder.")
        time.sleep(0.3)


def _run(
    command: Sequence[str], *, check: bool = True, env: Mapping[str, str] | None = None
) -> str:
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if check and done.returncode:
        raise Refused(f"{' '.join(command[:6])} ...: {done.stderr.strip()[-600:]}")
    return done.stdout


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/cluster", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    verbs = "install up status url kill-leader start partition heal exec down".split()
    parser.add_argument("verb", choices=verbs)
    parser.add_argument("--servers", action="store_true", help="start doxa on app1 and app2")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    told = parser.parse_args(given)
    cluster = Cluster()
    try:
        print(_carried_out(cluster, told.verb, told.rest, told.servers), end="")
    except Refused as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _carried_out(cluster: Cluster, verb: str, rest: Sequence[str], servers: bool) -> str:
    match verb:
        case "install":
            install()
        case "up":
            cluster.up(servers=servers or "--servers" in rest)
            return f"The primary is on {cluster.leader()}.\n"
        case "status":
            return "".join(
                f"{one['name']}: {one['role']}, {one['state']}, lag {one.get('lag', 0)}\n"
                for one in cluster.members()
            )
        case "url":
            return cluster.url(*rest[:1]) + "\n"
        case "kill-leader":
            leader = cluster.leader()
            if leader is None:
                raise Refused("There is no leader now.")
            cluster.kill(leader)
            return f"{leader}\n"
        case "start":
            for host in rest:
                cluster.start(host)
        case "partition":
            cluster.partition(*rest)
        case "heal":
            cluster.heal()
        case "exec":
            return cluster.run(*rest)
        case "down":
            cluster.down()
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
