# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Counts of a recording's frames, for the table at the end and for summary.json."""

import re
from dataclasses import dataclass, field

from .words import format_class, is_sounding, loss, plural


@dataclass
class Row:
    """Counts of the frames of one class.

    Attributes:
        frames: number of frames announced by a signal field.
        complete: number of frames with all MPDUs, each with a correct FCS.
        sounding: number of frames that announce no payload.
        mpdus: number of MPDUs found.
        mpdus_ok: number of MPDUs with a correct FCS.
        bytes_ok: length of the MPDUs with a correct FCS, in bytes.
        snr_sum: sum of the frames' SNR in dB.
    """

    frames: int = 0
    complete: int = 0
    sounding: int = 0
    mpdus: int = 0
    mpdus_ok: int = 0
    bytes_ok: int = 0
    snr_sum: float = 0.0

    def add(self, frame):
        """Count a frame."""
        good = [len(mpdu.data) for mpdu in frame.mpdus if mpdu.fcs_ok]
        self.frames += 1
        self.complete += frame.complete
        self.sounding += is_sounding(frame)
        self.mpdus += len(frame.mpdus)
        self.mpdus_ok += len(good)
        self.bytes_ok += sum(good)
        self.snr_sum += frame.snr_db

    def as_json(self):
        """Return a dictionary for JSON."""
        return {"frames": self.frames, "frames_complete": self.complete,
                "frames_sounding": self.sounding, "mpdus": self.mpdus, "mpdus_ok": self.mpdus_ok,
                "bytes_ok": self.bytes_ok,
                "mean_snr_db": round(self.snr_sum / self.frames, 3) if self.frames else None}


@dataclass
class Summary:
    """Counts of frames, in total and by class, and the reasons why frames were lost.

    Attributes:
        rows: {class of frames: ``Row``}, see ``format_class``.
        losses: {reason: [count, start of the first such frame]}.
    """

    rows: dict = field(default_factory=dict)
    losses: dict = field(default_factory=dict)

    def add(self, frame):
        """Count a frame."""
        name = format_class(frame)
        if name not in self.rows:
            self.rows[name] = Row()
        self.rows[name].add(frame)
        reason = loss(frame)
        if reason:
            self.losses.setdefault(reason, [0, frame.start])[0] += 1

    @property
    def total(self):
        """``Row`` of all frames."""
        return Row(*map(sum, zip(*(vars(row).values() for row in self.rows.values()), strict=True)))

    def as_json(self):
        """Return a dictionary for JSON."""
        return {**self.total.as_json(),
                "formats": {name: row.as_json() for name, row in self._ordered_rows()},
                "losses": [{"reason": reason, "frames": count, "first_start": start}
                           for reason, (count, start) in self._ordered_losses()]}

    def table(self):
        """Return the lines of the table."""
        if not self.total.frames:
            return ["", "No frame was found."]
        rows = [*self._ordered_rows(), ("all", self.total)]
        width = max(len(name) for name, _ in rows)
        lines = ["", f"{'format':<{width}}  {'frames':>7}  {'complete':>8}  {'MPDUs':>7}  "
                     f"{'FCS ok':>7}  {'share':>7}  {'bytes':>10}  {'mean SNR':>9}"]
        for name, row in rows if len(rows) > 2 else rows[:1]:
            share = f"{100 * row.mpdus_ok / row.mpdus:.1f} %" if row.mpdus else "-"
            lines.append(
                f"{name:<{width}}  {row.frames:>7}  {row.complete:>8}  {row.mpdus:>7}  "
                f"{row.mpdus_ok:>7}  {share:>7}  {row.bytes_ok:>10}  "
                f"{row.snr_sum / row.frames:>6.1f} dB")
        if self.total.sounding:
            lines.append(f"{plural(self.total.sounding, 'frame')} of these without payload, for "
                         "sounding")
        if self.losses:
            lost = sum(count for count, _ in self.losses.values())
            lines += ["", f"Lost or incomplete: {lost} of "
                          f"{plural(self.total.frames, 'frame')}"]
            lines += [f"{count:>7}  {reason} ({'first ' * (count > 1)}at sample {start})"
                      for reason, (count, start) in self._ordered_losses()]
        return lines

    def _ordered_rows(self):
        return sorted(self.rows.items(), key=lambda item: _order(item[0]))

    def _ordered_losses(self):
        return sorted(self.losses.items(), key=lambda item: (-item[1][0], item[1][1]))


def _order(name):
    """Return a sort key for classes of frames: non-HT, HT, VHT, then the numbers in the name."""
    kinds = ("non-HT", "HT", "VHT")
    kind = name.split()[0]
    return (kinds.index(kind) if kind in kinds else len(kinds),
            [float(number) for number in re.findall(r"[\d.]+", name)])
