# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation on a Dask cluster counts as one process does, whatever happens to the cluster."""

import json
import re
import resource
import signal
import statistics
import time

import numpy as np
import pytest
from clusters import Processes, until
from distributed import Client
from gnuradio.mimopack import cluster, detectors, identity, sim
from gnuradio.mimopack.files import locked
from gnuradio.mimopack.sim import simulation as simulation_module
from limits import small_files
from own_detectors import OwnDeadly, OwnLoud, OwnPrior, OwnZf

LINK = sim.Link(2, 2, "qam16", "wifi:648:1/2")
DETECTORS = ["mmse", "mmsepic:iterations=3"]
RUN = ([9, 10, 11, 25, 26], 30, 320)


def made(client=None, **options):
    return sim.Simulation(LINK, DETECTORS, batch=16, client=client, **options)


@pytest.fixture(scope="module")
def expected():
    """The rows of one thread."""
    return made(threads=1).run(*RUN)


@pytest.fixture(autouse=True)
def short_tasks(monkeypatch):
    """Let tasks be short, so that there are many."""
    monkeypatch.setattr(cluster, "_SECONDS", 0.05)
    monkeypatch.setattr(cluster, "_LOOK", 0.2)


@pytest.fixture
def processes(tmp_path):
    with Processes(tmp_path / "cluster", patience=5) as running:
        running.workers("a", "b", "c")
        yield running


@pytest.fixture
def client(processes):
    """Client of a cluster that the test may destroy."""
    with Client(processes.address) as client:
        yield client


@pytest.fixture(scope="module")
def lasting(tmp_path_factory):
    """Client of a cluster for all tests, with a resource GPU on worker c."""
    with Processes(tmp_path_factory.mktemp("lasting") / "cluster") as running:
        running.worker("c", "--resources", "GPU=1")
        running.workers("a", "b")
        running.wait("c")
        with Client(running.address) as client:
            yield client


class Events:
    """A ``progress`` function that calls functions after so many updates."""

    def __init__(self, **calls):
        self._calls = {int(name[1:]): call for name, call in calls.items()}
        self._updates = 0

    def __call__(self, *_):
        self._updates += 1
        self._calls.pop(self._updates, lambda: None)()

    @property
    def all_happened(self):
        return not self._calls


def test_threads_and_local_workers(expected):
    assert made(threads=8).run(*RUN) == expected
    with cluster.connected("local:4") as client:
        simulation = made(client)
        assert simulation.run(*RUN) == expected and simulation.complete


def test_workers_killed_frozen_and_added(processes, client, expected, tmp_path):
    """Frozen workers come back after the scheduler has given them up."""
    path = tmp_path / "out.json"
    events = Events(n2=lambda: processes.send("a", signal.SIGKILL),
                    n4=lambda: processes.worker("d"),
                    n6=lambda: processes.send("b", signal.SIGSTOP),
                    n10=lambda: processes.send("b", signal.SIGCONT))
    simulation = made(client, output=path)
    assert simulation.run(*RUN, progress=events, say=print) == expected
    assert events.all_happened and simulation.complete
    assert json.loads(path.read_text())["results"] == json.loads(json.dumps(expected))


def test_lost_scheduler(processes, client, expected, tmp_path):
    path = tmp_path / "out.json"
    events = Events(n8=lambda: processes.send("scheduler", signal.SIGKILL))
    simulation = made(client, output=path)
    with pytest.raises(ConnectionError, match="scheduler: lost the connection to tcp://"):
        simulation.run(*RUN, progress=events)
    kept = json.loads(path.read_text())["results"]
    assert kept == json.loads(json.dumps(simulation.store.rows)) and not simulation.complete
    assert sum(row["frames"] for row in kept) > 0
    assert made(output=path).run(*RUN) == expected


def test_ended_and_continued(lasting, expected, tmp_path):
    """An interrupted run keeps what was counted, and the cluster serves the next one."""
    path = tmp_path / "out.json"

    def stop():
        raise KeyboardInterrupt

    for number in (4, 8):
        with pytest.raises(KeyboardInterrupt):
            made(lasting, output=path).run(*RUN, progress=Events(**{f"n{number}": stop}))
        assert json.loads(path.read_text())["results"]
    assert made(lasting, output=path).run(*RUN) == expected


def test_full_disk(lasting, expected, tmp_path, monkeypatch):
    path = tmp_path / "out.json"
    made(lasting, output=path).run(RUN[0], 5, 32)
    before = path.read_bytes()
    monkeypatch.setattr(simulation_module, "_SAVE_SECONDS", 0)
    with small_files(1000), pytest.raises(OSError, match="File too large"):
        made(lasting, output=path).run(*RUN)
    assert path.read_bytes() == before
    assert made(lasting, output=path).run(*RUN) == expected


def test_one_run_at_a_time(lasting, tmp_path):
    path = tmp_path / "out.json"
    simulation = made(lasting, output=path)
    with locked(path), pytest.raises(ValueError, match=f"{path} is in use by another run"):
        simulation.run(*RUN)


class TestOtherVersions:
    def test_are_refused_by_name(self, processes, client, expected):
        (processes.folder / "other.py").write_text(
            "from gnuradio import mimopack\nmimopack.__version__ = '9.9'\n"
            "from gnuradio.mimopack import identity\nidentity.__version__ = '9.9'\n")
        processes.worker("other", "--preload", "other.py")
        (processes.folder / "bare.py").write_text(
            "import sys\nsys.modules['gnuradio.mimopack'] = None    # as if it were missing\n")
        processes.worker("bare", "--preload", "bare.py")
        processes.wait("other", "bare")
        said = []
        assert made(client).run(*RUN, say=said.append) == expected
        assert len(said) == 2
        said = " ".join(said)
        assert "worker other (tcp://" in said and "has gr-mimopack 9.9 instead of " in said
        assert "worker bare (tcp://" in said and "gr-mimopack cannot be used: " in said

    def test_other_instruction_sets(self, processes, client, expected):
        """Workers of two kinds would give results that depend on who computed what."""
        (processes.folder / "other.py").write_text(
            "from types import SimpleNamespace\nfrom gnuradio.mimopack import identity\n"
            "identity._core = SimpleNamespace(isa=lambda: 'mmx')\n")
        said = []
        events = Events(n2=lambda: processes.worker("old", "--preload", "other.py"),
                        n4=lambda: processes.wait("old"))
        assert made(client).run(*RUN, progress=events, say=said.append) == expected
        assert len(said) == 1 and re.search(
            r"worker old \(tcp://.*\): has instruction set mmx instead of ", said[0])

    def test_all_are_refused(self, lasting, monkeypatch):
        monkeypatch.setattr(identity, "__version__", "1.0")
        with pytest.raises(ValueError, match="all workers are refused: worker . .*: has "
                                             "gr-mimopack .* instead of 1.0; worker"):
            made(lasting).run(*RUN, say=lambda line: None)


class TestTasks:
    def test_an_error_of_a_detector_ends_the_run(self, lasting):
        with pytest.raises(ValueError, match="own_loud.detect: failed with .*too loud"):
            sim.Simulation(LINK, [OwnLoud], client=lasting).run(*RUN)

    def test_a_task_that_ends_workers_ends_the_run(self, tmp_path):
        ended = tmp_path / "ended"
        with Processes(tmp_path / "cluster", allowed=1) as processes:
            processes.workers("a", "b", "c")
            with Client(processes.address) as client, pytest.raises(
                    ConnectionError, match="workers ended one after another"):
                sim.Simulation(LINK, [OwnDeadly(2, 2, "qam16", str(ended))], batch=16,
                               client=client).run([9], 1, 16)
        assert ended.read_text() == 2 * "ended\n"

    def test_own_detectors(self, lasting):
        """Objects and classes go to the workers with their parameters."""
        given = [detectors.NWay(2, 2, num_passes=1), OwnZf,
                 OwnPrior(2, 2, "qam16", scale=0.5)]
        rows = [sim.Simulation(LINK, given, client=client).run([11], 20, 160)
                for client in (None, lasting)]
        assert rows[0] == rows[1] and [row["detector"] for row in rows[0]] == [
            "nway:num_passes=1", "own_zf", "own_prior:scale=0.5"]

    def test_resources(self, lasting):
        """A task that needs a GPU goes to a worker with one, others go anywhere."""
        workers = lasting.scheduler_info(n_workers=-1)["workers"]
        with cluster.Cluster(lasting) as crew:
            for resource in ("GPU", None):
                until(lambda resource=resource: crew.finished(0.1) or crew.room(resource) == (
                    2 if resource else 6))
                for index in range(12):
                    crew.submit(index, time.sleep, 0.1, resource=resource)
                assert crew.room(resource) < 0
                found = []
                while len(crew):
                    found += crew.finished(1)
                assert sorted(tag for tag, *_ in found) == list(range(12))
                names = {worker["name"] for address, worker in workers.items()
                         if address in {one for *_, one in found}}
                assert names == ({"c"} if resource else {"a", "b", "c"})

    def test_no_gpu_here(self, lasting):
        """The machine that starts a run needs no GPU: the worker does."""
        simulation = sim.Simulation(LINK, ["mmse"], backend="cuda", client=lasting)
        with pytest.raises((ImportError, ValueError), match="cupy|CuPy|GPU"):
            simulation.run(*RUN)

    def test_a_missing_resource_is_said(self, lasting):
        said = []
        with cluster.Cluster(lasting, said.append) as crew:
            until(lambda: crew.finished(0.1) or crew.room("FPGA") or said)
        assert said == ["waiting for a worker with the resource FPGA: "
                        "dask worker --resources FPGA=1"]

    def test_the_length_of_tasks_follows_the_speed(self, lasting, monkeypatch):
        monkeypatch.setattr(cluster, "_SECONDS", 0.5)
        before, after = [], []    # lengths of tasks before the first result, and after it
        sizes = before
        submit, finished = cluster.Cluster.submit, cluster.Cluster.finished

        def counting(self, task, *rest, **options):
            sizes.append(task.arguments[2])
            submit(self, task, *rest, **options)

        def noting(self, timeout):
            nonlocal sizes
            results = finished(self, timeout)
            if results:
                sizes = after
            return results

        monkeypatch.setattr(cluster.Cluster, "submit", counting)
        monkeypatch.setattr(cluster.Cluster, "finished", noting)
        rows = made(lasting).run([25], 10**6, 9600)
        assert set(before) == {1} and max(after) > 10
        monkeypatch.undo()
        assert rows == made().run([25], 10**6, 9600)


def page_faults():
    """Make an array of 8 MiB again and again; return the page faults of one, the median.

    Other threads of the worker, which may fault at any time, do not change a median.
    """
    faults = []
    for _ in range(21):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        np.ones(1 << 20)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return statistics.median(faults)


def profiles():
    import dask

    return dask.config.get("distributed.worker.profile.enabled")


def test_local_workers_are_not_profiled():
    """Dask's profiler would take a twentieth of the time."""
    with cluster.connected("local:1") as client:
        assert client.submit(profiles).result() is False
    assert profiles()    # of other clusters of this program


def test_workers_keep_their_memory():
    """Workers of Dask give it back, see ``cluster._keep_memory``."""
    with cluster.connected("local:1") as client:
        assert client.submit(page_faults).result() >= 3    # with huge pages, too
        with cluster.Cluster(client) as crew:
            crew.submit("tag", page_faults)
            ((_, faults, *_),) = until(lambda: crew.finished(0.1))
    assert faults < 2


@pytest.mark.parametrize("scheduler", ["", "here", "local:", "local:0", "local:x", "local:2:3"])
def test_names_of_schedulers(scheduler):
    with pytest.raises(ValueError, match=f"scheduler: got '{scheduler}', allowed are local, "):
        with cluster.connected(scheduler):
            pass


def test_nobody_answers():
    with pytest.raises(OSError, match="scheduler: tcp://127.0.0.1:1 cannot be used: "):
        with cluster.connected("tcp://127.0.0.1:1", timeout=1):
            pass


def test_no_client():
    with pytest.raises(ValueError, match="client: got 'tcp://x', must be a distributed.Client"):
        made("tcp://x").run(*RUN)
