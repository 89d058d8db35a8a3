# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract of every decoder of ``coding``, for arguments that Hypothesis chooses."""

import numpy as np
import pytest
from convolutional_code import exact, metric, quantised
from gnuradio.mimopack import _core, coding
from gnuradio.mimopack.coding import ldpc, turbo
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import EDGES, NOT_FINITE, SEEDS, fewer, junk, misaligned, wrong

# Small codes of every family, so that an example takes milliseconds. A test checks that no family
# is missing.
NAMES = {
    "wimax": st.sampled_from(["wimax:576:1/2", "wimax:672:2/3A", "wimax:576:5/6"]),
    "wifi": st.sampled_from(["wifi:648:1/2", "wifi:648:2/3", "wifi:648:5/6"]),
    "nr": st.sampled_from(["nr:1:2", "nr:2:2", "nr:2:3", "nr:2:16"]),
    "nr_matched": st.builds(
        "nr_matched:{}:{}:{}:{}".format, st.integers(1, 400),
        st.integers(10, 100).map(lambda tens: 24 * tens), st.sampled_from([1, 2, 4, 6, 8]),
        st.integers(0, 3)),
    "turbo": st.sampled_from(turbo.TURBO_SIZES[:20]).map("turbo:{}".format),
    "turbo_matched": st.builds("turbo_matched:{}:{}:{}".format, st.integers(1, 200),
                               st.integers(1, 900), st.integers(0, 3)),
    "conv": st.builds("conv:{}:{}".format, st.integers(3, 120),
                      st.sampled_from(["1/2", "2/3", "3/4", "5/6"])),
    "alist": st.just("alist"),
}
every_family = pytest.mark.parametrize("family", list(NAMES))
_OPTIONS = {
    "ldpc": {"algorithm": st.sampled_from(["normalized", "offset"]), "factor": st.floats(0.5, 1),
             "offset": st.floats(0, 1), "early_stop": st.booleans()},
    "turbo": {"extrinsic_scale": st.floats(0.5, 1), "early_stop": st.booleans(),
              "precision": st.sampled_from(["float32", "int16"])},
    "conv": {"margin": st.floats(0, 50), "precision": st.sampled_from(["float32", "int16"])},
}
# Families with rate matching: functions of the number of information bits that return the number of
# bits in a codeword, before some are left out or repeated.
MATCHED = {"nr_matched": lambda info: ldpc.NrRateMatching(info, 2**15).num_bits,
           "turbo_matched": lambda info: turbo.RateMatching(info, 1).num_bits}
_KIND = {"conv": "conv", "turbo": "turbo", "turbo_matched": "turbo"}
HAMMING = ldpc.ParityChecks(3, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2],
                            [0, 2, 4, 6, 1, 2, 5, 6, 3, 4, 5, 6])


@pytest.fixture(scope="module")
def alist(tmp_path_factory):
    path = tmp_path_factory.mktemp("codes") / "hamming.alist"
    ldpc.write_alist(HAMMING, path)
    return str(path)


def draw_code(draw, family, alist):
    name = draw(NAMES[family])
    return coding.get(alist if name == "alist" else name)


def draw_options(draw, family, code, backends=("cpu", "reference"), soft=False, most=8):
    """Draw keyword arguments of a decoder with up to ``most`` iterations.

    With ``soft``, the decoder has soft output, and so a reference.
    """
    if code.num_bits > 200:    # the reference takes seconds
        backends = ("cpu",)
    if family == "conv" and not soft and draw(st.booleans()):
        return {"algorithm": "viterbi", "backend": "cpu"}
    kinds = _OPTIONS[_KIND.get(family, "ldpc")]
    return {"backend": draw(st.sampled_from(backends)), "iterations": draw(st.integers(1, most)),
            **draw(st.fixed_dictionaries({}, optional=kinds))}


def draw_words(draw, code, least=0, most=20, quiet=False):
    """(bits, LLRs) of codewords over a channel with noise, or with little noise."""
    n, rng = draw(st.integers(least, most)), np.random.default_rng(draw(SEEDS))
    bits = rng.integers(0, 2, (n, code.num_info), np.uint8)
    mean = 10.0 ** draw(st.floats(0.5 if quiet else -3, 3))
    llr = mean * (2.0 * code.encode(bits) - 1) + rng.normal(0, np.sqrt(2 * mean),
                                                            (n, code.num_bits))
    return bits, llr.astype(np.float32)


def draw_spoilt(draw, llr, values=NOT_FINITE):
    """Spoil some rows of LLRs; return which ones."""
    spoilt = np.zeros(len(llr), bool)
    for _ in range(draw(st.integers(0, 3)) if len(llr) else 0):
        row = draw(st.integers(0, len(llr) - 1))
        if draw(st.booleans()):
            llr[row] = draw(st.sampled_from([0.0, -0.0]))
        else:
            llr[row, draw(st.integers(0, llr.shape[1] - 1))] = draw(st.sampled_from(values))
        spoilt[row] = True
    return spoilt


def outcome(decoder, llr):
    """Return (LLRs, bits, what else a decoder says about each codeword) for a batch."""
    posterior = decoder.decode(llr)
    return posterior, decoder.bits.copy(), np.stack([decoder.found, decoder.iterations_taken], 1)


def information(decoder, llr):
    """Return the LLRs of the information bits of a codeword, also of those that are not sent."""
    whole = llr if decoder._matching is None else decoder._matching.recover(llr)
    return decoder._information.of(decoder.decoder.decode(whole))[0]


def agree(decoder, other, llr, exempt, rounds=False):
    """Assert that two decoders find the same of a batch.

    Rounding may send an iteration elsewhere. A codeword may only differ as much as the other
    decoder's results do when its LLRs change by up to a ten-thousandth; one in twenty may.

    Args:
        decoder, other: the decoders.
        llr: the batch.
        exempt: counts the codewords that differ.
        rounds: whether the first decoder rounds LLRs to multiples of 1/32 of their mean, and the
            other one does not. Then only bits are compared. A codeword may differ if changes of the
            LLRs by this much change any of the other decoder's bits.
    """
    exempt.share = 0.05
    posterior, bits, told = outcome(decoder, llr)
    expected, other_bits, other_told = outcome(other, llr)
    assert decoder.erasures == other.erasures
    allowed = 1e-3 * np.abs(expected).max(axis=1, keepdims=True, initial=0)
    differ = (bits != other_bits).any(axis=1)
    if not rounds:
        differ |= (np.abs(posterior - expected) > allowed).any(axis=1)
        differ |= (told != other_told).any(axis=1)
    exempt.count(len(llr), np.count_nonzero(differ))
    for at in np.flatnonzero(differ):
        again, again_bits, again_told = outcome(other, almost_as(llr[at], 200, rounds))
        if rounds:
            assert (again_bits != other_bits[at]).any(), at
            continue
        spread = allowed[at] + np.ptp(again, axis=0) / 2
        # Rounding alone also decides bits whose LLRs cancel, and what the decoder says of them.
        open_bits = np.abs(information(other, llr[at:at + 1])) <= 1e-2 * allowed[at]
        for one, many, margin in ((posterior, again, spread), (bits, again_bits, open_bits),
                                  (told, again_told, open_bits.any() * llr.size)):
            assert (many.min(axis=0) - 1.0 * margin <= one[at]).all(), at
            assert (one[at] <= many.max(axis=0) + 1.0 * margin).all(), at


def almost_as(llr, count, rounds):
    """Return the LLRs of ``count`` codewords that are almost the given one.

    LLRs of 0 change too, by a share of the mean: they may leave no reason for a decision.
    """
    rng, mean = np.random.default_rng(1), np.abs(llr[llr != 0]).mean()
    if rounds:
        noise = rng.uniform(-mean / 32, mean / 32, (count, llr.size))
    else:
        size = 10.0 ** rng.uniform(-7, -4, (count, 1))
        noise = size * np.hypot(llr, mean) * rng.normal(0, 1, (count, llr.size))
    return (llr + noise).astype(np.float32)


def test_each_family_is_here():
    assert set(NAMES) == {name for name, family in coding.FAMILIES.items()
                          if not family.in_files} | {"alist"}


def decode_sure_bits(draw, code, options):
    """Decode codewords without noise; return (decoder, bits, LLRs, signs of the bits sent)."""
    decoder = code.decoder(**options)
    rng = np.random.default_rng(draw(SEEDS))
    bits = rng.integers(0, 2, (draw(st.integers(0, 17)), code.num_info), np.uint8)
    words = code.encode(bits)
    assert words.dtype == np.uint8 and words.shape == (len(bits), code.num_bits)
    magnitude = 20 * 10.0 ** draw(st.integers(0, 2))
    posterior = decoder.decode(np.where(words, magnitude, -magnitude).astype(np.float32))
    return decoder, bits, posterior / magnitude, 2.0 * words - 1


@every_family
@given(data=st.data())
@fewer(2)
def test_sure_bits_arrive(family, alist, data):
    """Encoding, then LLRs without noise: each decoder returns the bits and finds the codeword."""
    if family in MATCHED:    # at least as many bits as the codeword has, so that none is missing
        info = data.draw(st.integers(1, 400))
        whole = MATCHED[family](info)
        sent = 24 * data.draw(st.integers(-(-whole // 24), 2 * whole // 24))
        depth = f":{data.draw(st.sampled_from([1, 2, 4, 6, 8]))}" if family == "nr_matched" else ""
        code = coding.get(f"{family}:{info}:{sent}{depth}:{data.draw(st.integers(0, 3))}")
    else:
        code = draw_code(data.draw, family, alist)
    options = draw_options(data.draw, family, code)
    decoder, bits, posterior, signs = decode_sure_bits(data.draw, code, options)
    np.testing.assert_array_equal(decoder.bits, bits)
    np.testing.assert_array_equal(np.sign(posterior), signs)
    assert decoder.found.all() and decoder.erasures == 0


@every_family
@given(data=st.data())
@fewer(2)
def test_sure_bits_never_mislead(family, alist, data):
    """However many bits are missing, no LLR gets the wrong sign, up to rounding."""
    code = draw_code(data.draw, family, alist)
    options = draw_options(data.draw, family, code)
    decoder, bits, posterior, signs = decode_sure_bits(data.draw, code, options)
    assert (posterior * signs > -1e-3).all() and decoder.erasures == 0


@every_family
@given(data=st.data())
def test_posteriors_are_finite_and_erasures_are_counted(family, alist, data):
    code = draw_code(data.draw, family, alist)
    decoder = code.decoder(**draw_options(data.draw, family, code))
    _, llr = draw_words(data.draw, code)
    erased = draw_spoilt(data.draw, llr)
    erased = ~np.isfinite(llr).all(axis=1) | ~llr.any(axis=1)
    given_llr = llr.copy()
    posterior = decoder.decode(llr)
    np.testing.assert_array_equal(llr, given_llr)
    assert posterior.dtype == np.float32 and posterior.shape == llr.shape
    assert np.isfinite(posterior).all()
    assert decoder.erasures == np.count_nonzero(erased)
    assert not posterior[erased].any() and not decoder.found[erased].any()
    assert decoder.bits.shape == (len(llr), code.num_info) and decoder.bits.dtype == np.uint8
    assert not decoder.bits[erased].any() and decoder.bits.max(initial=0) <= 1
    assert decoder.found.shape == (len(llr),) and decoder.found.dtype == bool
    assert decoder.iterations_taken.shape == (len(llr),)
    assert decoder.iterations_taken.max(initial=0) <= max(decoder.iterations, 1)


@every_family
@given(data=st.data())
def test_nothing_but_a_codeword_itself_changes_its_result(family, alist, data):
    code = draw_code(data.draw, family, alist)
    decoder = code.decoder(**draw_options(data.draw, family, code, ("cpu",)), threads=1)
    _, llr = draw_words(data.draw, code, least=1, most=40)
    clean = decoder.decode(llr), decoder.bits.copy(), decoder.found.copy()
    spoilt = draw_spoilt(data.draw, llr, NOT_FINITE + EDGES)
    decoder.threads = data.draw(st.integers(1, 3))
    llr.flags.writeable = False
    together = decoder.decode(llr), decoder.bits.copy(), decoder.found.copy()
    for one, other in zip(together, clean, strict=True):
        np.testing.assert_array_equal(one[~spoilt], other[~spoilt])
    cut = data.draw(st.integers(0, len(llr)))
    for part in (slice(cut), slice(cut, None)):
        for own in (llr[part], misaligned(llr[part])):
            np.testing.assert_array_equal(decoder.decode(own), together[0][part])
            np.testing.assert_array_equal(decoder.bits, together[1][part])


@every_family
@given(data=st.data())
def test_no_number_of_float32_makes_a_nan(family, alist, data):
    code = draw_code(data.draw, family, alist)
    decoder = code.decoder(**draw_options(data.draw, family, code))
    _, llr = draw_words(data.draw, code, least=1, most=5)
    for _ in range(data.draw(st.integers(1, 6))):
        row, column = (data.draw(st.integers(0, size - 1)) for size in llr.shape)
        value = data.draw(st.sampled_from(EDGES + NOT_FINITE))
        if data.draw(st.booleans()):
            llr[row] = value
        llr[row, column] = value
    assert np.isfinite(decoder.decode(llr)).all()
    assert decoder.bits.max(initial=0) <= 1


def test_what_once_became_infinite():
    """Sums of the largest numbers of float32, in the reference."""
    decoder = coding.get("nr:1:2").decoder(backend="reference")
    llr = np.full((1, decoder.num_bits), 3.4e38, np.float32)
    llr[0, 0] = 0
    assert np.isfinite(decoder.decode(llr)).all()


@every_family
@given(data=st.data())
@fewer(2)
def test_each_instruction_set_gives_the_same(family, alist, exempt, data):
    code = draw_code(data.draw, family, alist)
    options = draw_options(data.draw, family, code, ("cpu",))
    _, llr = draw_words(data.draw, code)
    first, *others = (code.decoder(**options, isa=isa) for isa in _core.available_isas())
    for decoder in others:
        agree(decoder, first, llr, exempt)


@every_family
@given(data=st.data())
@fewer(2)
def test_cpu_and_reference_agree(family, alist, exempt, data):
    """In up to four iterations: rounding grows in those that do not converge.

    With a factor of 1 or an offset of 0, sums can cancel, and rounding alone decides a bit.
    """
    code = draw_code(data.draw, family, alist)
    options = draw_options(data.draw, family, code, ("cpu",), soft=True, most=4)
    for key, limit, bound in (("factor", 0.95, min), ("offset", 0.05, max)):
        if key in options:
            options[key] = bound(options[key], limit)
    rounds = options.get("precision") == "int16"
    _, llr = draw_words(data.draw, code, quiet=rounds)
    punctured = data.draw(st.sampled_from([0, 0, 0.2]))
    llr[np.random.default_rng(data.draw(SEEDS)).random(llr.shape) < punctured] = 0
    draw_spoilt(data.draw, llr)
    same = {key: value for key, value in options.items() if key != "precision"}
    reference = code.decoder(**same | {"backend": "reference"})
    agree(code.decoder(**options), reference, llr, exempt, rounds)


@pytest.mark.parametrize("rate", coding.CODE_RATES)
@given(data=st.data())
def test_the_viterbi_decoder_finds_the_best_codeword(rate, data):
    size = data.draw(st.integers(3, 120))
    code, convolutional = coding.get(f"conv:{size}:{rate}"), coding.ConvolutionalCode(rate)
    _, llr = draw_words(data.draw, code)
    for isa in _core.available_isas():
        decided = code.decoder(algorithm="viterbi", backend="cpu", isa=isa).decide(llr)
        for word, bits in zip(llr, decided, strict=True):
            integers = quantised(word, rate)
            assert metric(integers, convolutional, bits) == exact(integers, rate)[1]


@every_family
@given(data=st.data())
def test_wrong_llrs_and_bits_are_refused_by_name(family, alist, data):
    code = draw_code(data.draw, family, alist)
    decoder = code.decoder(**draw_options(data.draw, family, code, ("cpu", "auto")))
    bits, llr = draw_words(data.draw, code, least=1, most=3)
    with pytest.raises(ValueError, match="^llr: "):
        decoder.decode(data.draw(wrong(llr) | st.none()))
    with pytest.raises(ValueError, match="^bits: "):
        code.encode(data.draw(wrong(bits) | st.just(bits + np.uint8(2)) | st.none()))


@every_family
@given(data=st.data())
def test_wrong_options_are_refused_by_name(family, alist, data):
    code = draw_code(data.draw, family, alist)
    kinds = ["iterations", "algorithm", "factor", "offset", "early_stop", "keep_messages",
             "threads", "device", "isa", "extrinsic_scale", "precision", "margin"]
    keys = data.draw(st.sets(st.sampled_from(kinds), min_size=1, max_size=2))
    options = {key: data.draw(junk()) for key in keys}
    try:
        decoder = code.decoder(backend="cpu", **options)
    except ValueError as error:
        assert str(error).startswith(tuple(f"{one}: " for one in (*kinds, "parameters")))
    else:
        decoder.decode(np.ones((1, code.num_bits), np.float32))


@pytest.mark.parametrize("name", ["turbo:40", "conv:3:1/2"])
def test_what_once_was_refused_without_its_name(name):
    code = coding.get(name)
    with pytest.raises(ValueError, match="^precision: "):
        code.decoder(backend="cpu", precision=np.array([None, 1], object))


@given(name=junk() | st.text() | st.builds(
    "{}:{}".format, st.sampled_from(list(NAMES)),
    st.lists(st.text("0123456789/:=-.aAB", max_size=5), max_size=4).map(":".join)))
@example(name="conv:3:1/2:algorithm=viterbi")
@fewer(1)
def test_a_name_gives_a_code_or_is_refused(name):
    # Valid sizes may be large, and then take long.
    assume(not isinstance(name, str) or len(name) < 20)
    try:
        code = coding.get(name)
    except ValueError as error:
        assert str(error).startswith("code: got ")
    else:
        assert code.num_bits > 0
    try:
        ldpc.get(name)
    except ValueError as error:
        assert str(error).startswith("code: got ")
