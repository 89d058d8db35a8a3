# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples for clusters: they run here, or are checked against a schema."""

import json
import os
import socket
import subprocess
import sys

import jsonschema
import pytest
import yaml
from gnuradio.mimopack.sim.campaign import Campaign
from source_tree import ROOT

EXAMPLES = ROOT / "examples" / "cluster"
SMALL = """
[defaults]
num_tx = 2
num_rx = 2
constellation = "qpsk"
detectors = ["mmse"]
[[simulation]]
name = "one"
snr = 3
errors = 20
"""
# What stands for SLURM: jobs are processes of this machine.
# Like SLURM's, it reads the script before it returns: the caller deletes it then.
SBATCH = """#!/bin/sh
for script; do :; done
sh -c "$(cat "$script")" > "$LOG/job.log" 2>&1 &
echo "Submitted batch job $!"
"""


@pytest.fixture
def small(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path / "small.toml"


def environment(**more):
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | more


def test_start(small, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    done = subprocess.run(
        [EXAMPLES / "start.sh", "2", sys.executable, "-c",
         "from gnuradio.mimopack.apps.cli import main; main()", "sim", "campaign", small, "-q"],
        cwd=tmp_path, env=environment(PYTHON=sys.executable, PORT=port), capture_output=True,
        text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    content = json.loads((tmp_path / "small" / "one.json").read_text())
    assert content["results"][0]["complete"]
    assert content["runs"][0]["machine"]["cluster"]["scheduler"] == f"tcp://127.0.0.1:{port}"
    assert subprocess.run([EXAMPLES / "start.sh"], capture_output=True).returncode == 2


def test_slurm(small, tmp_path):
    for name, text in (("sbatch", SBATCH), ("scancel", '#!/bin/sh\nkill "$1" || true\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    where = {"cwd": tmp_path, "text": True, "capture_output": True, "timeout": 300,
             "env": environment(PATH=f"{tmp_path}:{os.environ['PATH']}", LOG=str(tmp_path))}
    command = [sys.executable, EXAMPLES / "slurm.py", small, "--jobs", "2", "--cores", "1",
               "--memory", "2GB"]
    script = subprocess.run([*command, "--script", "--partition", "night"], **where).stdout
    assert script.startswith("#!/usr/bin/env bash") and "#SBATCH -p night" in script
    assert "#SBATCH -t 04:00:00" in script and "distributed.cli.dask_worker" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    done = subprocess.run(command, **where)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"written: {tmp_path}/small/one.json\n"
    assert json.loads((tmp_path / "small" / "one.json").read_text())["results"][0]["complete"]


def test_kubernetes():
    schema = json.loads((ROOT / "tests" / "data" / "dask_operator.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    cluster, group = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    for manifest in (cluster, group):
        validator.validate(manifest)
    assert group["spec"]["cluster"] == cluster["metadata"]["name"]
    service = cluster["spec"]["scheduler"]["service"]
    assert service["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    container, = cluster["spec"]["scheduler"]["spec"]["containers"]
    assert {port["targetPort"] for port in service["ports"]} == {
        port["name"] for port in container["ports"]}
    del cluster["spec"]["scheduler"]["service"]
    with pytest.raises(jsonschema.ValidationError, match="'service' is a required property"):
        validator.validate(cluster)


def test_the_campaign_is_that_of_the_paper():
    campaign = Campaign(EXAMPLES / "figure.toml")
    assert [(part.name, len(part.snrs)) for part in campaign.parts] == [("qam16", 11),
                                                                       ("qam64", 11)]
    assert not (EXAMPLES / "figure").exists()
