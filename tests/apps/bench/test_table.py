# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of results, for the terminal and for documents."""

from gnuradio.mimopack.apps.bench.table import (
    Table,
    bit_error_rate,
    markdown,
    number,
    percent,
    text,
)


def test_columns_are_aligned_and_documents_have_the_same_cells():
    parts = [Table(["case", "Mbit/s"], [["`mmse`", "1045"], ["zf", "-"]]), "Missing: ep."]
    assert text(parts) == "case  Mbit/s\nmmse    1045\nzf         -\n\nMissing: ep."
    assert markdown(parts) == ("| case | Mbit/s |\n| --- | --- |\n| `mmse` | 1045 |\n| zf | - |"
                               "\n\nMissing: ep.")


def test_cells():
    assert [number(value) for value in (None, 0.01234, 12.34, 123.4, 12345.6)] == [
        "-", "0.0123", "12.3", "123", "12346"]
    assert [percent(value) for value in (None, 0.953, 4.37)] == ["-", "95", "437"]
    row = {"ber": 0.0, "vectors_compared": 5000, "bits_compared": 80_000}
    assert bit_error_rate(row) == "< 4e-05" and bit_error_rate(row | {"ber": 0.0123}) == "1.2e-02"
    assert bit_error_rate(row | {"vectors_compared": 100}) == "-"
