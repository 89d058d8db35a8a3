# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON Schemas: they describe what the commands write, and the committed results."""

import copy
import json
from dataclasses import replace

import pytest
from commands import output_of
from gnuradio.mimopack import schemas
from gnuradio.mimopack.wifi.formats import EHT, VHTMU
from jsonschema import Draft202012Validator
from source_tree import ROOT
from wifi_frames import received

DEMO = ROOT / "examples/recordings/wifi_4x4_ht"
RESULTS = {path.name: json.loads(path.read_text(encoding="utf-8"))
           for path in sorted((ROOT / "bench/results").glob("*.json"))}


def errors(name, content):
    """Return the places of a JSON value that the schema does not allow, with the reasons."""
    validator = Draft202012Validator(schemas.load(name))
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(content)]


def written(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", schemas.NAMES)
def test_it_is_a_schema_and_printed(name):
    schema = schemas.load(name)
    Draft202012Validator.check_schema(schema)
    assert json.loads(output_of("schema", name)) == schema


@pytest.mark.parametrize("options", [
    ("--ebn0", 5), ("--snr", 3, "--interferer", 10),
    ("--snr", "4,9", "--code", "wifi:648:1/2", "-d", "mmsepic:iterations=2")])
def test_sim(tmp_path, options):
    path = tmp_path / "out.json"
    output_of("sim", "-d", "mmse", "--num-tx", 2, "--num-rx", 2, "--max-frames", 16, "-q", "-o",
              path, *options)
    content = written(path)
    assert errors("sim", content) == []
    content["results"][0]["fer"] = [2]
    content["results"][0]["more"] = 1
    assert sorted(error.split(":")[0] for error in errors("sim", content)) == [
        "$.results[0]", "$.results[0].fer[0]"]


def test_wifi(tmp_path, sky):
    for recording, formats in (
            (DEMO, {"ht"}), (sky.path, {"non-ht", "ht", "vht"}),
            (DEMO.with_name("wifi_2rx_he"), {"he-su", "he-er-su", "he-mu", "he-tb"})):
        path = tmp_path / "out.json"
        output_of("wifi", recording, "-q", "--json", path)
        content = written(path)
        assert formats <= {frame["format"] for frame in content}
        assert errors("wifi", content) == []


def test_wifi_frames_of_other_formats():
    users = [received(user) for user in VHTMU.of_lengths([{"mcs": 5}, {"mcs": 3}], [9, 9]).users]
    frames = [replace(users[0], users=tuple(users)), received(EHT(13, 20, 2, coding="ldpc"))]
    content = json.loads(json.dumps([frame.as_json() for frame in frames]))
    assert [frame["format"] for frame in content] == ["vht-mu", "eht-mu"]
    assert [user["user_position"] for user in content[0]["users"]] == [0, 1]
    assert errors("wifi", content) == []


def test_play(tmp_path):
    output_of("play", DEMO, "-d", "zf", "-q", "--no-pictures", "-o", tmp_path)
    content = written(tmp_path / "summary.json")
    assert content["frames"]["zf"] and "real_time_factor" in content["detectors"][0]
    assert errors("play", content) == []


def test_bench(tmp_path):
    path = tmp_path / "out.json"
    output_of("bench", "--detector", "zf", "--seconds", 0.01, "--rounds", 1, "--vectors", 100,
              "--output", path)
    content = written(path)
    assert errors("bench", content) == []
    wrong = copy.deepcopy(content)
    del wrong["results"][0]["seconds"]
    assert errors("bench", wrong)


@pytest.mark.parametrize("name, key, value, least", [
    ("sim", "what", "bit and frame error rates, simulated", 6), ("play", "frames_annotated", 80, 1),
    ("bench", "suite", None, 15)])
def test_committed_results(name, key, value, least):
    found = {file: content for file, content in RESULTS.items()
             if key in content and value in (None, content[key])}
    assert len(found) >= least
    assert {file: wrong for file, content in found.items()
            if (wrong := errors(name, content))} == {}


def test_the_document_has_each_key_of_a_frame():
    text = (ROOT / "docs/wifi.md").read_text(encoding="utf-8")
    assert [key for key in schemas.load("wifi")["items"]["properties"]
            if f"`{key}`" not in text] == []
