# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation on a Dask cluster counts as one process does."""

import json
import time

import pytest
from commands import output_of
from gnuradio.mimopack import cluster, detectors, identity, sim
from gnuradio.mimopack.sim import plan
from missing_packages import hide
from own_detectors import OwnLoud, OwnPrior, OwnZf

distributed = pytest.importorskip("distributed")
LINK = sim.Link(2, 2, "qam16", "wifi:648:1/2")
DETECTORS = ["mmse", "mmsepic:iterations=3"]
RUN = ([9, 10, 11, 25, 26], 30, 320)
COMMAND = ("sim", "-d", "mmse", "--num-tx", "2", "--num-rx", "2", "--constellation", "qpsk",
           "--snr", "2:4:2", "--errors", "20", "-q")


def made(client=None, **options):
    return sim.Simulation(LINK, DETECTORS, batch=16, client=client, **options)


def workers():
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0",
        silence_logs="CRITICAL", resources={"GPU": 1})


@pytest.fixture(scope="module")
def expected():
    """The rows of one thread."""
    return made(threads=1).run(*RUN)


@pytest.fixture(scope="module")
def client():
    with workers() as running, distributed.Client(running) as client:
        yield client


@pytest.fixture(autouse=True)
def short_tasks(monkeypatch):
    """Let tasks be short, so that there are many."""
    monkeypatch.setattr(plan, "_TASK_SECONDS", 0.05)


def test_workers_count_as_threads_do(client, expected):
    simulation = made(client)
    assert simulation.run(*RUN) == expected and simulation.complete


def test_own_detectors_go_to_the_workers(client):
    own = [detectors.NWay(2, 2, num_passes=1), OwnZf, OwnPrior(2, 2, "qam16", scale=0.5)]
    rows = [sim.Simulation(LINK, own, client=each).run([11], 20, 160) for each in (None, client)]
    assert rows[0] == rows[1] and [row["detector"] for row in rows[0]] == [
        "nway:num_passes=1", "own_zf", "own_prior:scale=0.5"]


def test_the_machine_that_starts_a_run_needs_no_gpu(client, monkeypatch):
    """The simulation can be made; the worker, which has none either, fails."""
    hide(monkeypatch, "cupy")
    simulation = sim.Simulation(LINK, ["mmse"], backend="cuda", client=client)
    with pytest.raises((ImportError, ValueError), match="cupy|CuPy|GPU"):
        simulation.run(*RUN)


def test_an_error_of_a_detector_ends_the_run(client):
    with pytest.raises(ValueError, match="own_loud.detect: failed with .*too loud"):
        sim.Simulation(LINK, [OwnLoud], client=client).run(*RUN)


def test_an_interrupted_run_is_continued(client, expected, tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    path = tmp_path / "out.json"
    with pytest.raises(KeyboardInterrupt):
        made(client, output=path).run(*RUN, progress=stop)
    assert json.loads(path.read_text())["results"]
    assert made(client, output=path).run(*RUN) == expected


def test_a_lost_scheduler_is_named_and_the_results_are_kept(expected, tmp_path):
    path = tmp_path / "out.json"
    with workers() as running, distributed.Client(running.scheduler_address) as client:
        simulation = made(client, output=path)

        def lose(*_):
            running.close()
            while client.status == "running":
                time.sleep(0.01)

        with pytest.raises(OSError, match=f"scheduler: lost the connection to "
                                          f"{running.scheduler_address}"):
            simulation.run(*RUN, progress=lose)
    results = json.loads(path.read_text())["results"]
    assert results == json.loads(json.dumps(simulation.store.rows)) and not simulation.complete
    assert sum(row["frames"] for row in results) > 0
    assert made(output=path).run(*RUN) == expected


def test_a_worker_of_another_version_is_refused(client, monkeypatch):
    simulation = made(client)
    monkeypatch.setattr(identity, "__version__", "9.9")    # here and, in this process, there
    with pytest.raises(ValueError, match="scheduler: a worker has gr-mimopack 9.9 instead of"):
        simulation.run(*RUN)


@pytest.mark.parametrize("scheduler", ["", "here", "local:", "local:0", "local:x", "local:2:3"])
def test_names_of_schedulers(scheduler):
    with pytest.raises(ValueError, match="scheduler: "), cluster.connected(scheduler):
        pass


def test_nobody_answers():
    with pytest.raises(OSError, match="scheduler: tcp://127.0.0.1:1 cannot be used: "):
        with cluster.connected("tcp://127.0.0.1:1", timeout=1):
            pass


def test_what_is_no_client_is_refused():
    with pytest.raises(ValueError, match="client: got 'tcp://x', must be a distributed.Client"):
        made("tcp://x")


class TestCommand:
    def test_a_local_worker_gives_the_same_file(self, tmp_path):
        here, there = tmp_path / "here.json", tmp_path / "there.json"
        text = output_of(*COMMAND, "-o", here)
        first, _, rest = output_of(*COMMAND, "-o", there, "--scheduler", "local:1").partition("\n")
        assert ": 1 worker, dashboard at http" in first
        assert rest.replace("there.json", "here.json") == text
        here, there = json.loads(here.read_text()), json.loads(there.read_text())
        assert here["results"] == there["results"]
        assert there["runs"][0]["machine"]["cluster"]["workers"] == 1

    @pytest.mark.parametrize("more, message", [
        (("--scheduler", "somewhere"), "scheduler: got 'somewhere', allowed are local, local:WORK"),
        (("--tls-ca", __file__), "--tls-ca, --tls-cert and --tls-key belong to --scheduler"),
        (("--scheduler", "tls://127.0.0.1:1", "--tls-ca", __file__),
         "scheduler: tls://127.0.0.1:1 cannot be used: ")])
    def test_refusals(self, more, message):
        assert message in output_of(*COMMAND, *more, code=2).splitlines()[-1]

    def test_without_dask(self, monkeypatch):
        hide(monkeypatch, "distributed")
        assert output_of(*COMMAND, "--scheduler", "local:2", code=2).splitlines()[-1] == (
            "Error: clusters need Dask: python3 -m pip install distributed")
