# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, classes and objects of detectors."""

import pytest
from gnuradio.mimopack import _core, constellation, detectors
from gnuradio.mimopack.detectors.choosing import check_fit, for_link, recipe, registered
from own_detectors import OwnZf


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_a_recipe_makes_the_same_detector(name):
    isa = _core.compiled_isas()[-1]    # with all of them, the baseline
    det = detectors.create(name, num_tx=2, num_rx=3, backend="cpu", isa=isa,
                           llr_type="int8", llr_scale=5)
    label, kind, keywords = recipe(det)
    again = kind(2, 3, backend="cpu", **keywords)
    assert kind is type(det) and repr(again) == repr(det) and again.plan() == det.plan()
    assert (again.llr_dtype, again.llr_scale) == (det.llr_dtype, det.llr_scale)
    assert label == f"{name}:isa={isa}"


def test_labels():
    assert recipe(detectors.NWay).label == recipe(detectors.NWay(2, 2)).label == "nway"
    made = detectors.SoftSphere(2, 2, llr_clip=8.0, extrinsic=True)
    assert recipe(made).label == "softsphere:llr_clip=8.0"
    assert recipe(made).keywords["extrinsic"] is True
    assert recipe(OwnZf).label == recipe(OwnZf(2, 2, "qpsk")).label == "own_zf"
    assert recipe(OwnZf(2, 2, "qpsk", scale=0.5)).label == "own_zf:scale=0.5"


def test_the_name_of_a_class_is_known_afterwards():
    assert registered("nway") == registered(detectors.NWay) == "nway"
    assert registered("auto", also=("auto",)) == "auto"
    assert registered("nway:num_passes=2") == "nway:num_passes=2"
    kind = type("Passing", (OwnZf,), {"name": "passing"})
    with pytest.raises(ValueError, match="got 'passing', allowed are zf"):
        registered("passing:scale=2")
    try:
        assert registered(kind) == registered(kind) == registered("passing") == "passing"
        assert registered(detectors.find("passing")) == "passing"
        detectors.create("passing", num_tx=2, num_rx=2)
    finally:
        detectors.REGISTRY.pop("passing", None)
    for wrong, message in (
            (type("Taken", (OwnZf,), {"name": "nway"}), "got the name 'nway', which is taken"),
            (int, "got <class 'int'>, whose name is None")):
        with pytest.raises(ValueError, match=f"detector: {message}"):
            registered(wrong)


def test_parameters_after_a_name():
    label, kind, keywords = recipe("kbest:k=8,llr_clip=none:device=1")
    assert (label, kind) == ("kbest:k=8,llr_clip=none:device=1", detectors.KBest)
    assert keywords == {"k": 8, "llr_clip": None, "device": 1}
    assert for_link("nway:num_passes=1,turns=3", 2, 2, "qpsk", also=("turns",)).keywords == {
        "num_passes": 1, "turns": 3}
    made = detectors.create("kbest:k=8", num_tx=2, num_rx=2)
    assert made.k == 8 and made.label == recipe(made).label == "kbest:k=8"
    assert detectors.create("kbest:k=8", k=4, num_tx=2, num_rx=2).k == 4
    for text, message in (
            ("kbest:q=8", "got 'kbest:q=8': kbest has no parameter 'q', allowed are k, llr_clip, "
                          "device, isa"),
            ("zf:num_tx=2", "zf has no parameter 'num_tx', allowed are device, isa"),
            ("nway:2", "got 'nway:2', where '2' is not key=value"),
            ("kbest:k=1:k=1", "got 'kbest:k=1:k=1': k is given twice"),
            ("nwai:k=1", "got 'nwai', allowed are zf, mmse")):
        with pytest.raises(ValueError, match=f"detector: .*{message}"):
            detectors.create(text)


@pytest.mark.parametrize("wrong", [None, 3, object(), lambda *size: None, int])
def test_refusals(wrong):
    with pytest.raises(ValueError, match="detector: got "):
        recipe(wrong)


@pytest.mark.parametrize("made, message", [
    ((2, 3, "qpsk"), "detector: own_zf has num_rx = 3, but the link has 2"),
    ((1, 2, "qpsk"), "detector: own_zf has num_tx = 1, but the link has 2"),
    ((2, 2, "qam16"), "own_zf has the constellation qam16, but the link has qpsk")])
def test_fit(made, message):
    check_fit(OwnZf(2, 2, "qpsk"), 2, 2, constellation.get("qpsk"))
    with pytest.raises(ValueError, match=message):
        check_fit(OwnZf(*made), 2, 2, constellation.get("qpsk"))
