# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The final table of ``mimopack play``."""

from ..wifi.words import plural

_LEVELS = 8    # number of SNR columns that fit into a terminal


def table(summary, tallies):
    """Return the lines of the table."""
    rows = summary["detectors"]
    width = _width(rows)
    lines = ["", f"{'detector':<{width}} {'found':>6} {'decoded':>8} {'PER':>7} {'MPDUs':>7} "
                 f"{'real time':>10}"]
    for row in rows:
        rate = "-" if row["packet_error_rate"] is None else f"{row['packet_error_rate']:.3f}"
        lines.append(f"{row['detector']:<{width}} {row['frames_found']:>6} "
                     f"{row['frames_decoded']:>8} {rate:>7} {row['mpdus_ok']:>7} "
                     f"{row['real_time_factor']:>9.3f}x"
                     + f"  incomplete: {100 * row['samples'] / summary['samples']:.0f} % searched"
                     * (not row["complete"]))
    first = rows[0]
    of = (f"the {plural(first['frames_sent'], 'frame')} sent (by the annotations)"
          if first["frames_sent"] is not None else "the frames found")
    lines.append(f"PER: share not decoded, of {of}. MPDUs: with a good FCS. real time: speed of "
                 f"the flowgraph relative to {summary['sample_rate'] / 1e6:g} MS/s.")
    if not all(row["complete"] for row in rows):
        lines.append("An incomplete row counts only the frames in the samples searched.")
    if summary["iterations"] > 1:
        lines.append(f"Frames of several streams: up to {summary['iterations']} "
                     "passes of detector and decoder.")
    for row in rows:
        if row["mpdus_unknown"]:
            lines.append(f"{row['detector']}: {plural(row['mpdus_unknown'], 'MPDU')} with a good "
                         "FCS, but not in the annotations")
    problems = max((row["problems"] for row in rows), key=lambda counts: sum(counts.values()))
    lines += [f"not decoded: {plural(count, 'frame')}, {reason}"
              for reason, count in problems.items()]
    return lines + _by_snr(rows) + compare(tallies)


def _width(rows):
    return max(10, *(len(row["detector"]) for row in rows))


def _by_snr(rows):
    levels = max((row["decoded_by_snr"] or [] for row in rows), key=len)
    if not 1 < len(levels) <= _LEVELS:
        return []
    columns = [level["snr_db"] for level in levels]
    width = _width(rows)
    lines = ["", f"{'decoded':<{width}} " + "".join(f"{snr:>8g} dB" for snr in columns)]
    for row in rows:
        own = {level["snr_db"]: level for level in row["decoded_by_snr"] or []}
        lines.append(f"{row['detector']:<{width}} " + "".join(
            f"{own[snr]['decoded']:>6}/{own[snr]['sent']:<4}" if snr in own else f"{'-':>11}"
            for snr in columns))
    return lines


def compare(tallies):
    """Return lines that compare the detectors with MMSE; only complete tallies are compared."""
    complete = {tally.detector: tally for tally in tallies if tally.complete}
    mmse = complete.get("mmse")
    others = [] if mmse is None else [name for name in complete if name not in ("zf", "mmse")]
    return [""] * bool(others) + [
        f"{name} decodes {plural(complete[name].more_than(mmse), 'frame')} that mmse loses, and "
        f"loses {mmse.more_than(complete[name])} that mmse decodes" for name in others]
