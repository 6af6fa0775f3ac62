"""Probes of the machine: real variables, processes, sockets and environments."""

from __future__ import annotations

import importlib.metadata
import os
import socket
import subprocess
import sys
import time
import venv

import psutil
import pytest

from deltaspan import change, collect_reports, expects, unchanged, window
from deltaspan.exceptions import DefinitionTypeError, DefinitionValueError, ProbeError
from deltaspan.probes import system
from support.ports import hide_other_servers

WAIT = "import sys; print('up', flush=True); sys.stdin.read()"


def started(*command):
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def stop(process):
    process.stdin.close()
    process.stdout.read()
    process.stdout.close()
    process.wait()


# Environment ------------------------------------------------------------------------------------------------


def test_only_requested_values_of_the_environment_are_reported(monkeypatch):
    monkeypatch.setenv("API_KEY", "s3cret")
    monkeypatch.setenv("MODE", "test")

    found = system.environment(["MODE"])()

    assert (found["API_KEY"], found["MODE"]) == ("set", "test")
    assert set(found) == set(os.environ)
    assert "s3cret" not in str(system.environment(digests=True)())


def test_a_changed_value_is_detected_only_by_its_digest(monkeypatch):
    monkeypatch.setenv("API_KEY", "s3cret")
    with window(
        "rotate",
        unchanged("names", system.environment()),
        change("values", system.environment(digests=True)).modifying("API_KEY"),
    ) as w:
        monkeypatch.setenv("API_KEY", "other")

    assert [check.outcome for check in w.report] == ["pass", "pass"]


def test_the_credentials_in_a_url_are_hidden_and_their_change_is_seen(monkeypatch):
    monkeypatch.setenv("URL", "redis://ann:s3cret@host/0")
    with window("rotate", change("values", system.environment(["URL"])).modifying("URL")) as w:
        monkeypatch.setenv("URL", "redis://ann:other@host/0")

    assert w.report["values"].outcome == "pass"
    assert "redis://***@host/0 (digest " in str(w.report)
    assert "s3cret" not in str(w.report)


def test_a_value_that_is_not_text_has_a_digest(monkeypatch):
    monkeypatch.setenv("RAW", "\udcff")

    assert system.environment(digests=True)()["RAW"].startswith("digest ")


@pytest.mark.parametrize("values", ["PATH", [3]])
def test_a_value_that_is_not_a_list_of_names_is_rejected(values):
    with pytest.raises(DefinitionTypeError, match="takes a list of names"):
        system.environment(values)


# Processes --------------------------------------------------------------------------------------------------


def test_a_process_that_was_left_running_is_found_without_its_arguments():
    left = []
    with window("build", unchanged("processes", system.processes())) as w:
        left.append(started(sys.executable, "-c", WAIT, "--token=s3cret"))
    try:
        assert w.report["processes"].outcome == "fail"
        assert f"{left[0].pid} since " in w.report["processes"].explanation
        assert "s3cret" not in str(w.report)
        assert any("s3cret" in command for command in system.processes(arguments=True)().values())
    finally:
        stop(left[0])


def test_a_process_that_has_ended_does_not_count():
    probe = system.processes()
    before = probe()
    process = started(sys.executable, "-c", WAIT)
    running = probe()
    process.stdin.close()
    process.stdout.read()
    while psutil.Process(process.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    ended = probe()
    process.stdout.close()
    process.wait()

    assert (len(running) - len(before), ended) == (1, before)


def test_the_children_of_a_child_are_found_too():
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAIT!r}])"
    before = system.processes()()
    process = started(sys.executable, "-c", nested)
    try:
        assert len(system.processes()()) - len(before) == 2
    finally:
        stop(process)


def test_a_process_keeps_its_identity_if_the_system_clock_is_set(monkeypatch):
    process = started(sys.executable, "-c", WAIT)
    try:
        probe = system.processes()
        before = probe()
        monkeypatch.setattr(psutil.Process, "create_time", lambda self: time.time())

        assert probe() == before
    finally:
        stop(process)


# Ports ------------------------------------------------------------------------------------------------------


@pytest.fixture
def _no_other_servers(monkeypatch):
    """Leave out the ports of other processes of this machine, which come and go."""
    hide_other_servers(monkeypatch)


@pytest.mark.usefixtures("_no_other_servers")
def test_a_server_that_listens_is_found_with_its_address_and_process():
    with window("serve", change("ports", system.ports()).adding(lambda result: result)) as w:
        server = socket.create_server(("127.0.0.1", 0))
        w.result = server.getsockname()[1]
    server.close()

    assert w.report["ports"].outcome == "pass"
    assert w.report["ports"].actual_delta["added"] == {w.result: f"127.0.0.1 pid {os.getpid()}"}


def test_two_addresses_of_a_port_are_one_entry():
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
        with socket.create_server(("127.0.0.2", port)):
            found = system.ports()()

    assert found[port] == f"127.0.0.1 pid {os.getpid()}, 127.0.0.2 pid {os.getpid()}"


def test_a_connection_is_not_a_listener():
    server = socket.create_server(("127.0.0.1", 0))
    with server, socket.create_connection(server.getsockname()) as client:
        assert client.getsockname()[1] not in system.ports()()


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() != 0, reason="only the superuser can become another user"
)
def test_another_user_learns_the_port_and_not_whose_it_is():
    script = (
        "import os, sys; from deltaspan.probes import system; os.setgroups([]); os.setgid(65534); "
        "os.setuid(65534); print(system.ports()()[int(sys.argv[1])])"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = subprocess.run(
            [sys.executable, "-c", script, str(server.getsockname()[1])],
            capture_output=True,
            text=True,
            check=True,
        )

    assert done.stdout == "127.0.0.1 pid unknown\n"


# Packages ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv") / "v"
    venv.create(folder, symlinks=True)
    return folder


def install(folder, name, version):
    [site] = folder.glob("lib/python*/site-packages")
    write_package(site, name, version)


def write_package(site, name, version):
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_the_packages_of_this_interpreter_are_those_that_it_imports():
    found = system.packages()()

    assert found["pytest"] == pytest.__version__
    assert found["opentelemetry-api"] == importlib.metadata.version("opentelemetry-api")


def test_a_package_that_was_installed_meanwhile_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    stat = tmp_path.stat()
    with window("install", change("packages", system.packages()).adding("some-tool")) as w:
        write_package(tmp_path, "Some_Tool", "1.0")
        os.utime(tmp_path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # within one tick of the clock

    assert w.report["packages"].outcome == "pass"


def test_the_packages_of_a_virtual_environment_are_its_own(environment):
    @expects(change("packages", system.packages("{venv}")).adding("left-pad"))
    def add(venv):
        install(venv, "Left.Pad", "1.0")

    with collect_reports() as reports:
        add(environment)

    assert (reports[0]["packages"].outcome, reports[0]["packages"].attribution) == ("pass", "scoped")
    assert system.packages(environment / "bin" / "python")() == {"left-pad": "1.0"}


def test_another_interpreter_does_not_read_the_working_folder(environment, tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the working folder is read')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    system.packages(environment)()


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("/nowhere/python", "No such file or directory: '/nowhere/python'"),
        ("/", "a folder without an interpreter: name a virtual environment"),
        ("/bin/false", "ended with status 1"),
    ],
)
def test_an_interpreter_that_is_invalid_is_reported(python, words):
    with pytest.raises(ProbeError, match="could not be read") as caught:
        system.packages(python)()
    assert words in str(caught.value)


def test_an_interpreter_that_does_not_answer_is_stopped(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexec sleep 600\n")
    python.chmod(0o755)
    monkeypatch.setattr("deltaspan.probes._system._interpreters._TIMEOUT_SECONDS", 0.2)

    with pytest.raises(ProbeError, match=r"did not answer within 0\.2 seconds"):
        system.packages(python)()


def test_an_interpreter_with_a_wrong_field_is_rejected():
    with pytest.raises(DefinitionValueError, match="a field is the plain name of a parameter"):
        system.packages("{venv.path}")


def test_a_missing_psutil_is_reported_with_its_extra():
    script = "import sys; sys.modules['psutil'] = None; import deltaspan.probes.system"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1] == (
        "ImportError: deltaspan.probes.system needs psutil: pip install 'deltaspan[system]'"
    )
