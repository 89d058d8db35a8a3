# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: MPDUs to Wi-Fi frames, one stream of samples per antenna."""

from itertools import accumulate, pairwise

import numpy as np
import pmt

from .. import wifi
from .._runtime import to_python
from ..checks import choice, flag, integer, number
from ..wifi import carriers, mac
from ..wifi.pdu import ENCODINGS
from .fec_encoder import pdu_parts
from .message_stream import message_source
from .settings import setting
from .wifi_pmt import moment, moment_to_pmt

FORMATS = ("non-ht", "ht", "vht")
_FRAME = pmt.intern("frame")
_TX_TIME = pmt.intern("tx_time")
_CRC_INCLUDED = pmt.intern("crc_included")
_AMPDU = pmt.intern("ampdu")
# What a frame may set: the defaults of a format.
_DEFAULTS = {
    "non-ht": {"mcs": 6, "bandwidth_mhz": 20},
    "ht": {"mcs": 0, "bandwidth_mhz": 20, "short_gi": False, "coding": "bcc", "stbc": 0,
           "aggregated": False, "greenfield": False},
    "vht": {"mcs": 0, "bandwidth_mhz": 20, "short_gi": False, "coding": "bcc", "stbc": 0,
            "num_streams": 1}}
_SETTINGS = ("format", "mcs", "num_streams", "bandwidth_mhz", "short_gi", "coding", "stbc",
             "aggregated", "greenfield")
_MAX_BYTES = 2**20


class wifi_transmitter(message_source):
    """Make IEEE 802.11a/g/p, n and ac frames of MPDUs: one stream of samples per antenna.

    Message port ``in`` takes PDUs: a dictionary, or nothing, and a u8vector of an MPDU. Each makes
    a frame; an empty u8vector makes an HT or VHT frame without data, for sounding (NDP). The
    dictionary may have any of

        format, mcs, num_streams, bandwidth_mhz, short_gi, coding, stbc, aggregated, greenfield: of
            this frame, instead of the block's. With another format than the block's, what is not
            given has the least value, not the block's. A bandwidth of 5 or 10 MHz is one of 20
            whose samples are to be played at that rate.
        encoding: of a non-HT frame instead of mcs, 0 to 7 for 6 to 54 Mbit/s, as in gr-ieee802-11.
        ampdu: an s32vector of lengths: the u8vector holds so many MPDUs after each other, which
            make an A-MPDU.
        crc_included: whether the MPDUs end with their frame check sequences, instead of ``fcs``.
        scrambler_seed: of this frame.
        tx_time: a tuple of whole seconds and a fraction of one, which becomes a tag of that name.

    Other keys are passed over, so PDUs of ``wifi_receiver`` can be sent again as they came. A
    message that makes no frame is left out, counted (``refused``) and logged, and so is what comes
    while 1000 wait (``dropped``). The streams end, once everything is sent, after the message
    PMT_EOF or with the block that sends the messages.

    Where the flowgraph is stopped, or changed while it runs (lock, unlock), PDUs that wait are sent
    when it starts again. The burst that is being sent is cut (``dropped``), and what GNU Radio's
    buffers hold behind this block is lost: its tag then promises more samples than come.

    The first sample of a frame carries on each output the tags named ``tag`` (samples of frame and
    gap together) and "frame" (its number). Between frames nothing is sent: the streams wait. See
    ``wifi.Transmitter`` for the waveform.

    Args:
        num_tx: transmit antennas, 1..4.
        format: "non-ht", "ht" or "vht".
        mcs: rate in Mbit/s (non-HT: 6, 9, 12, 18, 24, 36, 48, 54), MCS 0..32 (HT) or 0..9 (VHT).
        num_streams: spatial streams of VHT, 1..4; with the other formats the MCS has them.
        bandwidth_mhz: 20; 40 and 80 for VHT, 40 for HT, both as non-HT duplicates.
        short_gi, coding, stbc, aggregated, greenfield: as of ``wifi.HT`` and ``wifi.VHT``; formats
            that have none of them pass over it.
        sample_rate_mhz: 20, 40 or 80.
        centre: of the channel among the samples' subcarriers, see ``wifi.Transmitter``.
        fcs: "append" where MPDUs come without frame check sequence, "included" where with it.
        gap: samples of silence behind each frame.
        backoff_db: how far the mean power of all antennas together lies below full scale, which is
            1. At 12 dB about one sample in 10^7 of one antenna is larger than 1; ``peak`` says what
            was reached.
        clip: whether real and imaginary parts beyond full scale are limited to it, counted
            (``clipped``) and logged: many radios turn them into the other sign. Without it, samples
            are what the back-off makes of them, as simulations need it.
        scrambler_seed: 1..127, or 0 for another one in each frame.
        tag: name of the tag with a burst's length.
        mapping: spatial mapping matrix of HT and VHT frames, (num_tx, N_STS) or (subcarriers,
            num_tx, N_STS), as of ``wifi.Transmitter``; a frame with another number of space-time
            streams is refused. Frames with a matrix for each subcarrier say that receivers must not
            smooth over subcarriers. None sends each space-time stream from an antenna of its own.

    Raises:
        ValueError: an argument is not as above, or no such frame exists.
    """

    def __init__(self, num_tx=1, format="non-ht", mcs=6, num_streams=1, bandwidth_mhz=20,
                 short_gi=False, coding="bcc", stbc=0, aggregated=False, greenfield=False,
                 sample_rate_mhz=20, centre=0, fcs="append", gap=320, backoff_db=12.0,
                 scrambler_seed=0, tag="packet_len", mapping=None, clip=True):
        self._transmitter = wifi.Transmitter(num_tx, sample_rate_mhz, centre, mapping)
        self._steered = np.ndim(mapping) == 3
        settings = {
            "format": choice("format", format, FORMATS), "mcs": mcs,
            "num_streams": integer("num_streams", num_streams, 1, 4),
            "bandwidth_mhz": choice("bandwidth_mhz", bandwidth_mhz, carriers.BANDWIDTHS),
            "short_gi": flag("short_gi", short_gi),
            "coding": choice("coding", coding, ("bcc", "ldpc")), "stbc": stbc,
            "aggregated": flag("aggregated", aggregated),
            "greenfield": flag("greenfield", greenfield)}
        self._set(settings)
        self._fcs = choice("fcs", fcs, ("append", "included"))
        self._gap = np.zeros((num_tx, integer("gap", gap, 0, 2**24)), np.complex64)
        self.set_backoff_db(backoff_db)
        self._seed = integer("scrambler_seed", scrambler_seed, 0, 127)
        if not isinstance(tag, str) or not tag:
            raise ValueError(f"tag: got {tag!r}, must be a name")
        self._tag = pmt.intern(tag)
        self._clip = flag("clip", clip)
        self._frames, self._peak, self._clipped = 0, 0.0, 0
        message_source.__init__(self, "wifi_transmitter", "in", [np.complex64] * num_tx,
                                multiple=16384)

    def frames(self):
        """Frames made."""
        return self._frames

    def peak(self):
        """The largest magnitude of a sample so far, before clipping; full scale is 1."""
        return self._peak

    def clipped(self):
        """Samples so far whose real or imaginary part was beyond full scale and limited."""
        return self._clipped

    def backoff_db(self):
        """How far the mean power of all antennas together lies below full scale."""
        return self._backoff_db

    def set_backoff_db(self, backoff_db):
        """Set the back-off in dB, from the next frame on."""
        backoff_db = number("backoff_db", backoff_db)
        if not -100 <= backoff_db <= 100:
            raise ValueError(f"backoff_db: got {backoff_db}, allowed are -100 to 100")
        self._backoff_db = backoff_db

    def mcs(self):
        """The modulation and coding scheme of frames that do not say another."""
        return self._settings["mcs"]

    def set_mcs(self, mcs):
        """Set the modulation and coding scheme, from the next frame on."""
        self._set(self._settings | {"mcs": mcs})

    def _set(self, settings):
        """Take settings with which a frame can be made."""
        self._frame(settings, [b"\0" * mac.FCS])
        self._settings = settings

    def _frame(self, settings, mpdus):
        """(format, PSDU) of MPDUs with their frame check sequences; none make a frame
        without data."""
        name = settings["format"]
        own = {key: settings[key] for key in _DEFAULTS[name]}
        if name == "ht":
            own["aggregated"] |= len(mpdus) > 1
            own["smoothing"] = not self._steered
        if name == "vht":
            own["beamformed"] = self._steered
        make = {"non-ht": lambda n: wifi.NonHT(length=n, **own),
                "ht": lambda n: wifi.HT(length=n, **own),
                "vht": lambda n: wifi.VHT.of_length(apep_length=n, **own)}[name]
        f, psdu = wifi.pack(make, mpdus) if mpdus else (make(0), b"")
        self._transmitter.check(f)
        return f, psdu

    def _accept(self, message):
        self._send(*self._read(message))

    def _read(self, message):
        """(format, PSDU, scrambler seed or None, tx_time or None) of a PDU."""
        told, blob = pdu_parts(message)
        if not pmt.is_u8vector(blob):
            raise ValueError("it holds no u8vector")
        if pmt.length(blob) > _MAX_BYTES:
            raise ValueError(f"got {pmt.length(blob)} bytes, allowed are {_MAX_BYTES}")
        data = to_python(blob)
        settings, seed, tx_time = self._settings, None, None
        mpdus, included = [data] * bool(data), self._fcs == "included"
        if pmt.is_dict(told) and not pmt.is_null(told):
            settings = self._own_settings(told)
            mpdus = _cut(told, data)
            given = pmt.dict_ref(told, _CRC_INCLUDED, pmt.PMT_NIL)
            if pmt.is_bool(given):
                included = pmt.to_bool(given)
            seed = _value(told, "scrambler_seed")
            if seed is not None:
                seed = integer("scrambler_seed", seed, 0, 127) or None
            tx_time = pmt.dict_ref(told, _TX_TIME, pmt.PMT_NIL)
            tx_time = None if pmt.is_null(tx_time) else moment("tx_time", tx_time)
        if not included:
            mpdus = [mpdu + mac.fcs(mpdu) for mpdu in mpdus]
        return *self._frame(settings, mpdus), seed, tx_time

    def _own_settings(self, told):
        given = {name: value for name in _SETTINGS if (value := _value(told, name)) is not None}
        name = given.get("format", self._settings["format"])
        choice("format", name, FORMATS)
        base = self._settings
        if name != base["format"]:
            base = {"format": name, **_DEFAULTS[name]}
        encoding = _value(told, "encoding")
        if encoding is not None and name == "non-ht" and "mcs" not in given:
            given["mcs"] = ENCODINGS[integer("encoding", encoding, 0, 7)]
        # Receivers of slower clocks say how wide their channels are.
        if given.get("bandwidth_mhz") in (5, 10):
            given["bandwidth_mhz"] = 20
        for key in ("short_gi", "aggregated", "greenfield"):
            flag(key, given.get(key, False))
        return base | given

    def _send(self, f, psdu, seed, tx_time):
        samples = self._transmitter.frame(f, psdu, seed or self._seed or self._frames % 127 + 1)
        samples *= np.float32(10 ** (-self._backoff_db / 20))
        self._peak = max(self._peak, float(np.abs(samples).max()))
        if self._clip:
            self._limit(samples)
        burst = np.concatenate([samples, self._gap], axis=1)
        tags = [(self._tag, pmt.from_long(burst.shape[1])), (_FRAME, pmt.from_long(self._frames))]
        if tx_time is not None:
            tags.append((_TX_TIME, moment_to_pmt(tx_time)))
        self._queue.put(list(burst), [(port, *tag) for port in range(len(burst)) for tag in tags])
        self._frames += 1


    def _limit(self, samples):
        """Limit real and imaginary parts, in place, and count the samples."""
        parts = samples.view(np.float32).reshape(*samples.shape, 2)
        beyond = int(np.count_nonzero((np.abs(parts) > 1).any(axis=-1)))
        if beyond:
            np.clip(parts, -1, 1, out=parts)
            self._clipped += beyond
            self._log.warn("clipping", f"{beyond} samples of a frame were beyond full scale and "
                           f"clipped: backoff_db is {self._backoff_db:g}")


def _cut(told, data):
    """The MPDUs that a PDU's bytes hold."""
    lengths = pmt.dict_ref(told, _AMPDU, pmt.PMT_NIL)
    if pmt.is_null(lengths):
        return [data] * bool(data)
    if not pmt.is_s32vector(lengths):
        raise ValueError("ampdu: got another type, must be an s32vector")
    lengths = pmt.s32vector_elements(lengths)
    if not lengths or min(lengths) < 1 or sum(lengths) != len(data):
        raise ValueError(f"ampdu: got lengths of {sum(lengths)} bytes together, there are "
                         f"{len(data)}")
    return [data[begin:end] for begin, end in pairwise(accumulate(lengths, initial=0))]


def _value(told, name):
    """A setting of a dictionary, None where it has none."""
    value = pmt.dict_ref(told, pmt.intern(name), pmt.PMT_NIL)
    return None if pmt.is_null(value) else setting(name, value)
