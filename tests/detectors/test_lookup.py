# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, classes and objects of detectors."""

import pytest
from gnuradio.mimopack import _core, detectors
from gnuradio.mimopack.detectors import look_up
from own_detectors import OwnZf


@pytest.mark.parametrize("name", list(detectors.REGISTRY))
def test_the_same_detector_is_made_again(name):
    isa = _core.compiled_isas()[-1]    # with all of them, the baseline
    det = detectors.create(name, num_tx=2, num_rx=3, backend="cpu", isa=isa,
                           llr_type="int8", llr_scale=5)
    factory = look_up(det)
    again = factory.make(2, 3, "qam16", backend="cpu")
    assert factory.kind is type(det) and repr(again) == repr(det) and again.plan() == det.plan()
    assert (again.llr_dtype, again.llr_scale) == (det.llr_dtype, det.llr_scale)
    assert factory.label == f"{name}:isa={isa}"


def test_labels():
    assert look_up(detectors.NWay).label == look_up(detectors.NWay(2, 2)).label == "nway"
    detector = detectors.SoftSphere(2, 2, llr_clip=8.0, extrinsic=True)
    assert look_up(detector).label == "softsphere:llr_clip=8.0"
    assert look_up(detector).keywords["extrinsic"] is True
    assert look_up(OwnZf).label == look_up(OwnZf(2, 2, "qpsk")).label == "own_zf"
    assert look_up(OwnZf(2, 2, "qpsk", scale=0.5)).label == "own_zf:scale=0.5"


def test_a_class_is_not_registered():
    kind = type("Passing", (OwnZf,), {"name": "passing"})
    assert look_up(kind).make(2, 2, "qpsk").name == "passing"
    with pytest.raises(ValueError, match="got 'passing', allowed are zf"):
        look_up("passing:scale=2")
    with pytest.raises(ValueError, match="got the name 'nway', which is taken"):
        detectors.register(type("Taken", (OwnZf,), {"name": "nway"}))


def test_parameters_after_a_name():
    factory = look_up("kbest:k=8,llr_clip=none:device=1")
    assert (factory.label, factory.kind) == ("kbest:k=8,llr_clip=none:device=1", detectors.KBest)
    assert factory.keywords == {"k": 8, "llr_clip": None, "device": 1}
    factory = look_up("nway:num_passes=1,turns=3", also=("turns",))
    assert (factory.keywords, factory.extra) == ({"num_passes": 1}, {"turns": 3})
    assert detectors.create("zfsic:ordering=none").ordering == "none"
    detector = detectors.create("kbest:k=8", num_tx=2, num_rx=2)
    assert detector.k == 8 and detector.label == look_up(detector).label == "kbest:k=8"
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
        look_up(wrong)


@pytest.mark.parametrize("size, message", [
    ((2, 3, "qpsk"), "detector: own_zf has num_rx = 3, but the link has 2"),
    ((1, 2, "qpsk"), "detector: own_zf has num_tx = 1, but the link has 2"),
    ((2, 2, "qam16"), "own_zf has the constellation qam16, but the link has qpsk")])
def test_fit(size, message):
    look_up(OwnZf(2, 2, "qpsk")).make(2, 2, "qpsk")
    with pytest.raises(ValueError, match=message):
        look_up(OwnZf(*size)).make(2, 2, "qpsk")
