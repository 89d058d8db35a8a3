# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that turn messages about Wi-Fi frames into streams for displays."""

import time
from collections import deque

import numpy as np
import pmt

from .._runtime import to_python, to_python_dict
from ..checks import integer, integer_choice, number
from ..wifi import ChannelState
from ..wifi.airtime import BEACON_INTERVAL, Airtime
from ..wifi.linear_loss import linear_loss
from ..wifi.statistics import condition_db
from .fec_encoder import pdu_parts
from .message_stream import message_source
from .wifi_pmt import format_from_pmt, read

# Maximum number of messages that wait for a display. A newer one replaces the oldest.
_MOST = 50
_MAX_POINTS = 10**6
# Of the rates in words: the time that they are counted over, the most frames, and the most kinds.
_RECENT_SECONDS, _MOST_RECENT, _MOST_KINDS = 2.0, 100_000, 3
_WIDTHS = (64, 128, 256)    # multiples of 312.5 kHz in 20, 40 and 80 MHz


def _points(message):
    dictionary, values = pdu_parts(message)
    if not pmt.is_c32vector(values):
        raise ValueError("the message has no c32vector")
    if pmt.length(values) > _MAX_POINTS:
        raise ValueError(f"got {pmt.length(values)} values, allowed are {_MAX_POINTS}")
    return dictionary, to_python(values)


def _whole(dictionary, name, most):
    return integer(name, read(dictionary, {name: int})[name], 1, most)


def _known(dictionary, name, kind):
    """Return the value of a key of a PMT dictionary; None if it has none of this kind."""
    value = to_python_dict(dictionary, {name: kind}).get(name)
    return value if isinstance(value, kind) else None


def _shown(vectors):
    """Return output items, arrays (2, width) with each vector twice.

    GNU Radio 3.10's vector sink shows the second of the available items. With only one item, it
    shows old data from the buffer.
    """
    return [np.repeat(vector[None], 2, axis=0) for vector in vectors]


def _show(block, values):
    """Queue a block's curves with the values of one more frame."""
    block._history.append(values)
    block._queue.put(_shown(np.array(block._history, np.float32).T))


def _places(dictionary, state, width):
    """Return (places in a view, indices of the subcarriers that stand there).

    A view has a place for each multiple of 312.5 kHz. The subcarriers of HE and EHT frames are four
    times as close; a view shows every fourth.
    """
    f = format_from_pmt(dictionary)
    density = 1 if f is None else f.density
    place = state.carriers // density + width // 2
    shown = np.flatnonzero((state.carriers % density == 0) & (place >= 0) & (place < width))
    return place[shown], shown


def _channel(message):
    """Return (dictionary, ``wifi.ChannelState``) of a PDU of port ``csi``."""
    dictionary, values = _points(message)
    carriers, noise = read(dictionary, {"carriers": np.ndarray, "noise": np.ndarray}).values()
    shape = (_whole(dictionary, "num_rx", 8), _whole(dictionary, "num_space_time_streams", 8))
    if values.size != carriers.size * shape[0] * shape[1] or not values.size:
        raise ValueError(f"got {values.size} values for {carriers.size} subcarriers, "
                         f"{shape[0]} antennas and {shape[1]} streams")
    if noise.size != shape[0] or not (noise >= 0).all():
        raise ValueError(f"noise: got {noise.size} values, must be {shape[0]} powers")
    return dictionary, ChannelState(carriers, values.reshape(carriers.size, *shape), noise)


class _ChannelView(message_source):
    """Base class of blocks that show PDUs of port ``csi``.

    A subclass has ``_show_channel(dictionary, state)``, which shows a ``wifi.ChannelState``.

    Args:
        name: name of the block.
        outputs: types of the outputs.
        least_streams: frames with fewer space-time streams are skipped, 1..4.
        interval: minimum time in seconds between two frames shown, 0..3600.
    """

    def __init__(self, name, outputs, least_streams, interval):
        self._least = integer("least_streams", least_streams, 1, 4)
        self._interval = number("interval", interval)
        if not 0 <= self._interval <= 3600:
            raise ValueError(f"interval: got {interval}, allowed are 0 to 3600")
        self._next = 0.0
        message_source.__init__(self, name, "csi", outputs, _MOST, newest=True)

    def _accept(self, message):
        # Look at the dictionary first: busy channels make many PDUs.
        dictionary, _ = pdu_parts(message)
        if (_whole(dictionary, "num_space_time_streams", 8) >= self._least
                and time.monotonic() >= self._next):
            self._show_channel(*_channel(message))
            self._next = time.monotonic() + self._interval


class wifi_symbols(message_source):
    """Output the equalised points of Wi-Fi frames, one output per spatial stream.

    Message port in: ``symbols`` takes the PDUs of ``wifi_receiver``'s port of that name. Output i
    (complex) carries the points of spatial stream i, frame by frame. For a frame with fewer
    streams, the other outputs carry zeros. If the display cannot keep up, frames are dropped and
    counted (``dropped``).

    Args:
        num_streams: number of outputs, 1..4.
        least_streams: frames with fewer spatial streams are skipped, 1..4.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_streams=1, least_streams=1):
        self._streams = integer("num_streams", num_streams, 1, 4)
        self._least = integer("least_streams", least_streams, 1, 4)
        message_source.__init__(self, "wifi_symbols", "symbols",
                                [np.complex64] * num_streams, _MOST, newest=True)

    def _accept(self, message):
        dictionary, points = _points(message)
        streams = _whole(dictionary, "num_streams", 8)
        if not points.size or points.size % streams:
            raise ValueError(f"got {points.size} points of {streams} streams")
        if streams < self._least:
            return
        points = points.reshape(streams, -1)
        shown = np.zeros((self._streams, points.shape[1]), np.complex64)
        shown[:len(points)] = points[:self._streams]
        self._queue.put(list(shown))


class wifi_channel_view(_ChannelView):
    """Output the channel magnitude in dB over the subcarriers, per antenna and stream.

    Message port in: ``csi`` takes the PDUs of ``wifi_receiver``'s port of that name. Output
    i * num_streams + j (float, vlen num_carriers) carries a vector per frame, sent twice because
    GNU Radio's QT GUI Vector Sink shows the second of the available items. The vector is
    20 log10 |H| from space-time stream j to antenna i, at -num_carriers / 2 to num_carriers / 2 - 1
    times 312.5 kHz, where HE and EHT frames have every fourth subcarrier (in narrow channels of
    802.11p, times the spacing of the subcarriers). 0 dB is a full-scale signal. Unused subcarriers,
    and antennas and streams that the frame does not have, are at ``floor_db``.

    Args:
        num_rx: number of receive antennas, 1..8.
        num_streams: number of space-time streams shown, 1..4.
        num_carriers: number of subcarriers: 64, 128 or 256 at 20, 40 or 80 MHz.
        floor_db: smallest value shown, -1000 to 1000.
        least_streams: frames with fewer space-time streams are skipped, 1..4.
        interval: minimum time in seconds between two frames shown, 0..3600.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1, num_streams=1, num_carriers=64, floor_db=-60.0, least_streams=1,
                 interval=0.0):
        self._shape = (integer("num_rx", num_rx, 1, 8),
                       integer("num_streams", num_streams, 1, 4))
        self._width = integer_choice("num_carriers", num_carriers, _WIDTHS)
        floor_db = number("floor_db", floor_db)
        if not -1000 <= floor_db <= 1000:
            raise ValueError(f"floor_db: got {floor_db}, allowed are -1000 to 1000")
        self._floor = np.float32(floor_db)
        _ChannelView.__init__(self, "wifi_channel_view", [(np.float32, self._width)] * (
            num_rx * num_streams), least_streams, interval)

    def _show_channel(self, dictionary, state):
        matrices = state.matrices
        places, carriers = _places(dictionary, state, self._width)
        rows, columns = (min(a, b) for a, b in zip(self._shape, matrices.shape[1:], strict=True))
        shown = np.full((*self._shape, self._width), self._floor, np.float32)
        power = np.abs(matrices[carriers, :rows, :columns].astype(complex)) ** 2
        with np.errstate(all="ignore"):
            decibels = np.nan_to_num(10 * np.log10(power), nan=self._floor, posinf=300,
                                     neginf=self._floor)
        shown[:rows, :columns, places] = np.maximum(decibels, self._floor).transpose(1, 2, 0)
        self._queue.put(_shown(shown.reshape(-1, self._width)))


class wifi_meter(message_source):
    """Count Wi-Fi frames, and output the last ones as curves.

    Message port in: ``frames`` takes the dictionaries of ``wifi_receiver``'s port of that name. For
    each frame, each output (float, vlen length) carries a vector, sent twice because GNU Radio's QT
    GUI Vector Sink shows the second of the available items. The vector has one value for each of
    the last ``length`` frames, the newest last, and zeros before the first frame:

        output 0: SNR in dB.
        output 1: error vector magnitude of the worst stream in dB.
        output 2: 1 for a lost frame (no MPDU with a correct FCS), else 0.

    For GNU Radio's Function Probe, the method ``text`` returns the totals as one line, and
    ``rates`` the frames per second of each kind.

    Args:
        length: number of frames shown, 1..100000.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, length=100):
        self._length = integer("length", length, 1, 10**5)
        self._history = deque(np.zeros((length, 3), np.float32), maxlen=length)
        self._lost = self._mpdus = 0
        self._formats = {}
        self._recent = deque(maxlen=_MOST_RECENT)    # (time, kind, MPDUs, those with correct FCS)
        message_source.__init__(self, "wifi_meter", "frames", [(np.float32, length)] * 3
                                if length > 1 else [np.float32] * 3, _MOST, newest=True)

    def frames(self):
        """Return the number of frames since the block was made."""
        return self.messages()

    def lost(self):
        """Return the number of frames without an MPDU whose FCS is correct."""
        return self._lost

    def mpdus(self):
        """Return the number of MPDUs with a correct FCS."""
        return self._mpdus

    def text(self):
        """Return the totals as one line of text."""
        kinds = ", ".join(f"{count} {name}" for name, count in sorted(self._formats.items()))
        share = 100 * self._lost / max(self.frames(), 1)
        return (f"{self.frames()} frames ({kinds or 'none'}), {self._lost} lost ({share:.1f} %), "
                f"{self._mpdus} MPDUs")

    def rates(self):
        """Return the frames per second of the three most frequent formats and MCSs as one line.

        The last two seconds count. FCS is the share of MPDUs with a correct FCS.
        """
        begin, kinds = time.monotonic() - _RECENT_SECONDS, {}
        for at, kind, *mpdus in list(self._recent):
            if at > begin:
                kinds.setdefault(kind, []).append(mpdus)
        lines = []
        for kind, frames in sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])):
            found, good = np.sum(frames, axis=0)
            share = f"FCS {100 * good / found:.3g} %" if found else "no MPDU"
            lines.append(f"{kind}: {len(frames) / _RECENT_SECONDS:g}/s, {share}")
        return "; ".join(lines[:_MOST_KINDS]) or "no frame in the last two seconds"

    def history(self):
        """Return the curves as an array (3, length)."""
        return np.array(self._history, np.float32).T

    def _accept(self, message):
        facts = read(message, {"num_mpdus_ok": int, "num_mpdus": int})
        mpdus, found = (integer(name, value, 0, 2**31) for name, value in facts.items())
        snr_db, evm_db, name, mcs = (_known(message, key, kind) for key, kind in (
            ("snr_db", float), ("evm_db", np.ndarray), ("format", str), ("mcs", (int, float))))
        worst = 0.0 if evm_db is None else max(evm_db, default=0.0)
        with np.errstate(over="ignore"):
            values = np.array([snr_db or 0.0, worst, float(mpdus == 0)]).astype(np.float32)
        name = kind = name or "unknown"
        if mcs is not None:
            kind = f"{name} {'' if name == 'non-ht' else 'MCS '}{mcs:g}"
        _show(self, np.nan_to_num(values))
        if len(self._formats) > 100:
            self._formats.clear()
        self._formats[name] = self._formats.get(name, 0) + 1
        self._recent.append((time.monotonic(), kind, found, mpdus))
        self._lost += mpdus == 0
        self._mpdus += mpdus


class wifi_condition_view(_ChannelView):
    """Output the condition number of the channel matrices in dB over the subcarriers.

    Message port in: ``csi`` takes the PDUs of ``wifi_receiver``'s port of that name. The output
    (float, vlen num_carriers) carries a vector per frame, sent twice because GNU Radio's QT GUI
    Vector Sink shows the second of the available items. The vector has the subcarriers of
    ``wifi_channel_view``. Each antenna is first divided by the standard
    deviation of its noise. The value is 0 with one stream, and at unused subcarriers. See
    ``wifi.statistics.condition_db``.

    Args:
        num_carriers: number of subcarriers: 64, 128 or 256 at 20, 40 or 80 MHz.
        least_streams: frames with fewer space-time streams are skipped, 1..4.
        interval: minimum time in seconds between two frames shown, 0..3600.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_carriers=64, least_streams=1, interval=0.0):
        self._width = integer_choice("num_carriers", num_carriers, _WIDTHS)
        _ChannelView.__init__(self, "wifi_condition_view", [(np.float32, self._width)],
                              least_streams, interval)

    def _show_channel(self, dictionary, state):
        places, carriers = _places(dictionary, state, self._width)
        shown = np.zeros(self._width, np.float32)
        shown[places] = condition_db(state)[carriers]
        self._queue.put(_shown([shown]))


class wifi_levels(message_source):
    """Output the SNR and level of each antenna, one item per Wi-Fi frame.

    Message port in: ``frames`` takes the dictionaries of ``wifi_receiver``'s port of that name.
    Outputs 0 to num_rx - 1 (float) carry the SNR of each antenna in dB. The next num_rx outputs
    (float) carry the level of each antenna in dBFS.

    Args:
        num_rx: number of receive antennas, 1..8.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_rx=1):
        self._num_rx = integer("num_rx", num_rx, 1, 8)
        message_source.__init__(self, "wifi_levels", "frames", [np.float32] * (2 * num_rx), _MOST,
                                newest=True)

    def _accept(self, message):
        facts = read(message, {"antenna_snr_db": np.ndarray, "level_dbfs": np.ndarray})
        for name, values in facts.items():
            if values.size != self._num_rx:
                raise ValueError(f"{name}: got {values.size} values, must be {self._num_rx}")
        with np.errstate(over="ignore"):
            values = np.nan_to_num(np.concatenate([*facts.values()]).astype(np.float32))
        self._queue.put([value[None] for value in values])


class wifi_airtime(message_source):
    """Output the channel occupancy over time, as rows for a QT GUI Time Raster Sink.

    Message port in: ``frames`` takes the dictionaries of ``wifi_receiver``'s port of that name. The
    output (float) carries ``columns`` items per row. Each item is the share (0 to 1) of a time
    interval that frames occupied. A row is sent when a frame is reported that ends in a later row.
    If more than 64 rows pass without a frame, only the newest 64 are sent.

    Args:
        sample_rate: samples per second of the receiver.
        columns: number of columns in a row, 1..4096.
        row_seconds: duration of a row in seconds. The default is the usual beacon interval, with
            which the beacons of an access point line up in a column.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, sample_rate=20e6, columns=64, row_seconds=BEACON_INTERVAL):
        self._air = Airtime(sample_rate, row_seconds, columns)
        self._rows = 0    # number of rows sent
        message_source.__init__(self, "wifi_airtime", "frames", [np.float32], _MOST, newest=True)

    def _accept(self, message):
        facts = read(message, {"start": int, "num_samples": int})
        air = self._air
        air.add(integer("start", facts["start"], -2**20, 2**62),
                integer("num_samples", facts["num_samples"], 0, 2**31))
        # A frame that began earlier may still reach into the last row but one.
        rows = air.row - self._rows
        if rows > 0:
            self._queue.put([air.picture()[:-1][-rows:].astype(np.float32).ravel()])
            self._rows += rows


class wifi_linear_loss(_ChannelView):
    """Output the loss of linear detectors: how much more SNR they need on the frames' channels.

    Message port in: ``csi`` takes the PDUs of ``wifi_receiver``'s port of that name. For each frame
    compared, each output (float, vlen length) carries a vector, sent twice because GNU Radio's QT
    GUI Vector Sink shows the second of the available items. The vector has one value for each of
    the last ``length`` frames compared, the newest last, and zeros before the first frame:

        output 0: loss of MMSE against the detector in use, in dB.
        output 1: loss of zero forcing against the detector in use, in dB.
        output 2: SNR margin: the frame's SNR minus the SNR that the detector in use needs, in dB.

    Values are limited to -100..40 dB. If the detector in use is linear, or the frame was not
    decoded, N-way replaces it in the comparison. See ``wifi.linear_loss``.

    The method ``text`` returns the last values as one line, for GNU Radio's Function Probe.

    Args:
        length: number of frames shown, 1..100000.
        interval: minimum time in seconds between two frames compared, 0..3600. A comparison takes
            some hundredths of a second.
        least_streams: frames with fewer space-time streams are skipped, 1..4. With one stream, no
            detector loses anything.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, length=100, interval=0.5, least_streams=2):
        length = integer("length", length, 1, 10**5)
        self._last = None
        self._history = deque(np.zeros((length, 3), np.float32), maxlen=length)
        _ChannelView.__init__(self, "wifi_linear_loss", [(np.float32, length)] * 3
                              if length > 1 else [np.float32] * 3, least_streams, interval)

    def text(self):
        """Return the last values as one line of text."""
        if self._last is None:
            return "no frame compared yet"
        return (f"MMSE {self._last.mmse_db:.1f} dB, ZF {self._last.zf_db:.1f} dB worse than "
                f"{self._last.detector}, margin {self._last.margin_db:.1f} dB")

    def history(self):
        """Return the curves as an array (3, length)."""
        return np.array(self._history, np.float32).T

    def _show_channel(self, dictionary, state):
        f = format_from_pmt(dictionary)
        if f is None or f.num_space_time_streams != state.matrices.shape[2]:
            raise ValueError("format: got none, or one of another number of space-time streams")
        with np.errstate(all="ignore"):
            losses = linear_loss(f, state, _known(dictionary, "detector", str) or "")
        if losses is not None:
            values = np.array([losses.mmse_db, losses.zf_db, losses.margin_db], np.float32)
            if np.isnan(values).any():
                raise ValueError("got channel matrices too large to compare detectors")
            _show(self, np.clip(values, -100, 40))
            self._last = losses
