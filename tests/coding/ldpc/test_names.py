# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""LDPC codes by their names."""

import numpy as np
import pytest
from gnuradio.mimopack.coding import ldpc


@pytest.mark.parametrize("name, code", [
    ("wimax:2304:2/3A", ldpc.wimax(2304, "2/3A")), ("wifi:1944:5/6", ldpc.wifi(1944, "5/6")),
    ("nr:1:384", ldpc.nr(1, 384)), ("nr:2:7", ldpc.nr(2, 7))])
def test_codes_by_name(name, code):
    got = ldpc.get(name)
    assert got.size == code.size and np.array_equal(got.shifts, code.shifts)


def test_a_file_by_its_name(tmp_path):
    path = tmp_path / "small.alist"
    path.write_text(SMALL)
    for name in (path, str(path)):
        assert ldpc.get(name).dense().tolist() == [[1, 1, 1], [0, 1, 1]]


@pytest.mark.parametrize("name, message", [
    ("dvb:64800", "code: got 'dvb:64800', which is not a file, allowed are wimax:N:RATE, wifi:"),
    ("wimax", "code: got 'wimax', must be wimax:N:RATE"),
    ("wifi:long:1/2", "code: got 'wifi:long:1/2', must be wifi:N:RATE"),
    ("nr:1:384:0", "code: got 'nr:1:384:0', must be nr:BASE_GRAPH:LIFTING_SIZE"),
    ("nr:1:17", "code: got 'nr:1:17'; lifting_size: got 17, allowed are 2, 3"),
    ("wimax:2304:2/3", "code: got 'wimax:2304:2/3'; rate: got '2/3', allowed are 1/2, 2/3A")])
def test_names_of_no_code(name, message):
    with pytest.raises(ValueError) as caught:
        ldpc.get(name)
    assert message in str(caught.value)


# Columns of weight 1, 2 and 2, rows of weight 3 and 2, in MacKay's format.
SMALL = "3 2\n2 3\n1 2 2\n3 2\n1 0\n1 2\n1 2\n1 2 3\n2 3 0\n"
