# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The receiver with a user's detector in Python, by class, name and factory."""

import pytest
from gnuradio import mimopack
from gnuradio.mimopack import detectors
from gnuradio.mimopack.wifi import Receiver, can_iterate
from own_detectors import OwnPrior, OwnZf
from wifi_air import FRAMES, air, frames_in

SAMPLES, SENT = air(FRAMES, num_rx=2, gap=120)


def received(detector, **options):
    return frames_in(SAMPLES, detector=detector, **options)


@pytest.fixture
def registered():
    for kind in (OwnZf, OwnPrior):
        detectors.register(kind)
    yield
    for kind in (OwnZf, OwnPrior):
        del detectors.REGISTRY[kind.name]


def test_frames_are_those_sent(registered):
    sent = [one.psdu for one in SENT]
    nameless = type("Nameless", (OwnZf,), {"name": None})
    for detector in (OwnZf, "own_zf", detectors.look_up(OwnZf).kind, nameless,
                     lambda *size: OwnZf(*size, scale=0.5)):
        frames = received(detector, threads=2)
        assert [frame.psdu for frame in frames] == sent
    assert "own_zf" in {frame.detector for frame in received(OwnZf)}


def test_iterations(registered):
    assert can_iterate("own_prior") and not can_iterate("own_zf")
    frames = received("own_prior", iterations=2)
    assert [frame.psdu for frame in frames] == [one.psdu for one in SENT]
    with pytest.raises(ValueError, match="got 'own_zf', which takes no.*allowed are .*own_prior"):
        Receiver(2, detector="own_zf", iterations=2)


@pytest.mark.parametrize("block", [mimopack.wifi_receiver, mimopack.wifi_decoder])
def test_blocks_take_the_class(block):
    """The class is registered nowhere."""
    receiver = block(2, detector=OwnZf)
    assert receiver.detector() is OwnZf
    for detector in ("mmse", OwnPrior, detectors.MLA):
        receiver.set_detector(detector)
        assert receiver.detector() is detector
    with pytest.raises(ValueError, match="got 'own_zf', allowed are"):
        receiver.set_detector("own_zf")
    assert "own_zf" not in detectors.REGISTRY


def test_refusals():
    with pytest.raises(ValueError, match="Bad.*, whose name is 'two words', not a word"):
        Receiver(2, detector=type("Bad", (), {"name": "two words"}))
    bare = type("Bare", (), {"name": "bare", "detect": lambda self, y, h, noise_var: None})()
    with pytest.raises(ValueError, match="bare has no attribute constellation. Add it"):
        Receiver(2, detector=bare)
