# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: make Wi-Fi frames from MPDUs, as one stream of samples per antenna."""

from itertools import accumulate, pairwise

import numpy as np
import pmt

from .. import wifi
from .._runtime import to_python
from ..checks import back_off, choice, flag, integer
from ..wifi import carriers, mac
from ..wifi.formats import BY_NAME
from ..wifi.pdu import ENCODINGS
from ..wifi.transmitter import WINDOWING
from .fec_encoder import pdu_parts
from .message_stream import message_source
from .settings import TX_TIME, Controlled, setting, tag_key
from .wifi_pmt import moment, moment_to_pmt

FORMATS = tuple(BY_NAME)
_FRAME = pmt.intern("frame")
_CRC_INCLUDED = pmt.intern("crc_included")
_AMPDU = pmt.intern("ampdu")
_USER = pmt.intern("user")
# {format: {setting that a frame may have: default}}
_DEFAULTS = {
    "non-ht": {"mcs": 6, "bandwidth_mhz": 20},
    "ht": {"mcs": 0, "bandwidth_mhz": 20, "short_gi": False, "coding": "bcc", "stbc": 0,
           "aggregated": False, "greenfield": False},
    "vht": {"mcs": 0, "bandwidth_mhz": 20, "short_gi": False, "coding": "bcc", "stbc": 0,
            "num_streams": 1},
    "vht-mu": {"bandwidth_mhz": 20, "short_gi": False, "group_id": 1}}
_HE = {"bandwidth_mhz": 20, "gi_us": 0.8, "ltf": 2, "stbc": 0, "midamble": 0, "bss_color": 0,
       "uplink": False, "txop": 127}
_DEFAULTS["he-mu"] = _HE
_DEFAULTS["he-su"] = _HE | {"mcs": 0, "num_streams": 1, "coding": "bcc", "dcm": False}
_DEFAULTS["he-er-su"] = _DEFAULTS["he-su"]
_DEFAULTS["he-tb"] = _DEFAULTS["he-su"] | {"gi_us": 1.6, "uplink": True}
_DEFAULTS["eht-mu"] = {key: value for key, value in _DEFAULTS["he-su"].items()
                       if key not in ("stbc", "dcm", "midamble")}
_SETTINGS = ("format", "mcs", "num_streams", "bandwidth_mhz", "short_gi", "coding", "stbc",
             "aggregated", "greenfield", "gi_us", "ltf", "dcm", "midamble", "bss_color", "uplink",
             "txop", "group_id")
_FLAGS = ("short_gi", "aggregated", "greenfield", "dcm", "uplink")
_MAX_BYTES = 2**20


class wifi_transmitter(Controlled, message_source):
    """Make IEEE 802.11a/g/p, n, ac, ax and be frames from MPDUs: one stream of samples per antenna.

    Ports:
        message in ``in``: PDUs, each of which makes a frame.
        out 0 to num_tx - 1: complex: the samples of each antenna. Full scale is 1.

    A PDU is a pair of a dictionary, or PMT_NIL, and a u8vector with an MPDU. An empty u8vector
    makes an HT or VHT frame without data, for sounding (null data packet, NDP). The dictionary may
    have any of these keys:

        format, mcs, num_streams, bandwidth_mhz, short_gi, coding, stbc, aggregated, greenfield,
        gi_us, ltf, dcm, midamble, bss_color, uplink, txop, group_id:
            settings of this frame in place of the block's. If the format differs from the block's,
            missing settings have the defaults of the format: mcs 6 (non-HT) or 0, one stream,
            20 MHz, BCC, 2x HE-LTFs with 0.8 us (HE TB: 1.6 us), and no option. A bandwidth of 5 or
            10 MHz makes a 20 MHz frame; play its samples at 5 or 10 MS/s.
        encoding: rate of a non-HT frame in place of mcs, 0 to 7 for 6 to 54 Mbit/s, as in
            gr-ieee802-11.
        ampdu: an s32vector with the length of each of several MPDUs in bytes. The u8vector then
            holds these MPDUs one after another. They form an A-MPDU.
        user: an s32vector with the number of the user of each MPDU, from 0, in a VHT or
            HE MU frame. Without it, each user gets one MPDU, in the order of ``users``.
        crc_included: whether the MPDUs end with their FCS, in place of ``fcs``.
        scrambler_seed: scrambler seed of this frame.
        tx_time: a tuple of whole seconds and a fraction. It becomes a tag of that name.

    Other keys are ignored, so PDUs of ``wifi_receiver`` can be sent again unchanged. A message that
    makes no frame is skipped, counted (``refused``) and logged. At most 1000 messages wait; further
    messages are dropped and counted (``dropped``). After the message PMT_EOF, or when all blocks
    that send messages have ended, the streams end as soon as all frames are sent. GNU Radio's
    Message Strobe never ends, so a flowgraph that it feeds runs until ``stop()``.

    If the flowgraph is stopped, or changed while it runs (lock, unlock), waiting PDUs are sent
    after the restart. The burst in progress is cut off and counted (``dropped``). Its samples in
    GNU Radio's buffers after this block are lost too, so fewer samples arrive than its length tag
    announces.

    The first sample of a frame carries two tags on each output: the length tag
    ``length_tag_name``, with the number of samples of frame and gap together, and ``frame``, with
    the number of the frame, from 0. Nothing is sent between frames: the streams wait. See
    ``wifi.Transmitter`` for the waveform.

    Args:
        num_tx: number of transmit antennas, 1..8.
        format: "non-ht", "ht", "vht", "vht-mu", "he-su", "he-er-su", "he-mu", "he-tb" or "eht-mu".
        mcs: rate in Mbit/s (non-HT: 6, 9, 12, 18, 24, 36, 48, 54), MCS 0..76 (HT), 0..9 (VHT),
            0..11 (HE), or 0..13 and 15 (EHT).
        num_streams: number of spatial streams of VHT, HE and EHT, 1..4; in the other formats, the
            MCS determines it.
        bandwidth_mhz: 20; 40 for HT; 40, 80 or 160 for VHT, HE, EHT and non-HT duplicates.
        short_gi, coding, stbc, aggregated, greenfield: see ``wifi.HT`` and ``wifi.VHT``; ignored by
            formats without them.
        sample_rate: 20e6, 40e6, 80e6 or 160e6, in samples per second.
        centre: subcarrier index of the channel's centre in the band of the samples, see
            ``wifi.Transmitter``.
        fcs: "append" if MPDUs come without their FCS, "included" if they come with it.
        gap: number of zero samples after each frame.
        backoff_db: mean power of all antennas together, in dB below full scale, -100..100. With one
            antenna at 12 dB, the magnitude of about one sample in 10^7 exceeds full scale. The
            method ``peak`` returns the largest magnitude so far.
        clip: whether to limit real and imaginary parts to +-1. Clipped samples are counted
            (``clipped``) and logged. In many radios, larger values wrap around. False
            leaves the samples as they are, which suits simulations.
        scrambler_seed: 1..127, for EHT 1..2047, or 0 for a different seed in each frame.
        length_tag_name: name of the length tag of a burst.
        mapping: spatial mapping matrix of HT, VHT, HE and EHT frames, (num_tx, N_STS) or
            (subcarriers, num_tx, N_STS), see ``wifi.Transmitter``. Frames with another number of
            space-time streams are refused. With one matrix per subcarrier, the signal fields tell
            receivers not to smooth over subcarriers. None sends each space-time stream from its own
            antenna.
        gi_us, ltf, dcm, midamble, bss_color, uplink, txop: see ``wifi.HE`` and ``wifi.EHT``;
            ignored by formats without them.
        ru: resource unit of HE ER SU and HE TB frames as (size, index); None takes the one that
            fills the channel.
        users: users of VHT MU and HE MU frames, a list of dictionaries, see
            ``wifi.VHTMU.of_lengths`` and ``wifi.HEMU.of_lengths``. They have mcs, num_streams,
            coding and, in HE, dcm of their own.
        group_id: group of the users of VHT MU frames, 1..62.
        windowing: duration of the transition from symbol to symbol in seconds, 0..200e-9. It keeps
            the spectrum inside the standard's masks, see ``wifi.Transmitter``.

    Raises:
        ValueError: an argument is not as above, or the settings do not make a valid frame.
    """

    def __init__(self, num_tx=1, format="non-ht", mcs=6, num_streams=1, bandwidth_mhz=20,
                 short_gi=False, coding="bcc", stbc=0, aggregated=False, greenfield=False,
                 sample_rate=20e6, centre=0, fcs="append", gap=320, backoff_db=12.0,
                 scrambler_seed=0, length_tag_name="packet_len", mapping=None, clip=True,
                 gi_us=0.8, ltf=2, dcm=False, midamble=0, bss_color=0, uplink=False, txop=127,
                 ru=None, users=None, group_id=1, windowing=WINDOWING):
        self._transmitter = wifi.Transmitter(num_tx, sample_rate, centre, mapping, windowing)
        self._steered = np.ndim(mapping) == 3
        self._ru, self._users = ru, [] if users is None else list(users)
        settings = {
            "format": choice("format", format, FORMATS), "mcs": mcs,
            "num_streams": integer("num_streams", num_streams, 1, 4),
            "bandwidth_mhz": choice("bandwidth_mhz", bandwidth_mhz, carriers.BANDWIDTHS),
            "short_gi": flag("short_gi", short_gi),
            "coding": choice("coding", coding, ("bcc", "ldpc")), "stbc": stbc,
            "aggregated": flag("aggregated", aggregated),
            "greenfield": flag("greenfield", greenfield), "gi_us": gi_us, "ltf": ltf,
            "dcm": flag("dcm", dcm), "midamble": midamble, "bss_color": bss_color,
            "uplink": flag("uplink", uplink), "txop": txop,
            "group_id": integer("group_id", group_id, 1, 62)}
        self._set(settings)
        self._fcs = choice("fcs", fcs, ("append", "included"))
        self._gap = np.zeros((num_tx, integer("gap", gap, 0, 2**24)), np.complex64)
        self.set_backoff_db(backoff_db)
        self._seed = _seed(scrambler_seed, format)
        self._tag = tag_key("length_tag_name", length_tag_name)
        self._clip = flag("clip", clip)
        self._frames, self._peak, self._clipped = 0, 0.0, 0
        message_source.__init__(self, "wifi_transmitter", "in", [np.complex64] * num_tx,
                                batch=16384)

    def frames(self):
        """Return the number of frames made."""
        return self._frames

    def peak(self):
        """Return the largest magnitude of a sample so far, before clipping; full scale is 1."""
        return self._peak

    def clipped(self):
        """Return the number of samples clipped because a real or imaginary part exceeded 1."""
        return self._clipped

    def backoff_db(self):
        """Return the mean power of all antennas together, in dB below full scale."""
        return self._backoff_db

    def set_backoff_db(self, backoff_db):
        """Set the back-off in dB, from the next frame on."""
        self._backoff_db = back_off(backoff_db)

    def mcs(self):
        """Return the modulation and coding scheme of frames whose PDU does not set it."""
        return self._settings["mcs"]

    def set_mcs(self, mcs):
        """Set the modulation and coding scheme, from the next frame on."""
        self._set(self._settings | {"mcs": mcs})

    def _set(self, settings):
        """Adopt settings if a frame can be made with them."""
        self._frame(settings, [b"\0" * mac.FCS] * max(1, len(self._users)))
        self._settings = settings

    def _frame(self, settings, mpdus, user=None):
        """Return (format, PSDU) for MPDUs that include their FCS.

        Without MPDUs, it is a frame without data. ``user`` has the number of the user of each MPDU
        in a VHT or HE MU frame.
        """
        name = settings["format"]
        own = {key: settings[key] for key in _DEFAULTS[name]}
        if name in ("vht-mu", "he-mu"):
            f, psdu = self._frame_of_users(name, own, mpdus, user)
            self._transmitter.check(f)
            return f, psdu
        if name.startswith("he"):
            own |= {"name": name, "ru": None if name == "he-su" else self._ru,
                    "beamformed": self._steered}
        if name == "ht":
            own["aggregated"] |= len(mpdus) > 1
            own["smoothing"] = not self._steered
        if name in ("vht", "eht-mu"):
            own["beamformed"] = self._steered
        make = {"non-ht": lambda n: wifi.NonHT(length=n, **own),
                "ht": lambda n: wifi.HT(length=n, **own),
                "vht": lambda n: wifi.VHT.of_length(apep_length=n, **own),
                "eht-mu": lambda n: wifi.EHT.of_length(apep_length=n, **own)}.get(
                    name, lambda n: wifi.HE.of_length(apep_length=n, **own))
        f, psdu = wifi.pack(make, mpdus) if mpdus else (make(0), b"")
        self._transmitter.check(f)
        return f, psdu

    def _frame_of_users(self, name, own, mpdus, user):
        count = len(self._users)
        if not count:
            raise ValueError("users: got none, a frame for several users has one or more")
        user = range(len(mpdus)) if user is None else user
        parts = [[mpdu for mpdu, number in zip(mpdus, user, strict=True) if number == i]
                 for i in range(count)]
        if not all(parts) or not set(user) <= set(range(count)):
            raise ValueError(f"user: got MPDUs of users {sorted(set(user))}, must be one or more "
                             f"of each of {count} users")
        kind = wifi.HEMU if name == "he-mu" else wifi.VHTMU
        return wifi.pack_users(
            lambda lengths: kind.of_lengths(self._users, lengths, **own), parts)

    def _accept(self, message):
        self._send(*self._read(message))

    def _read(self, message):
        """Return (format, PSDU, scrambler seed or 0, tx_time or None) of a PDU."""
        dictionary, blob = pdu_parts(message)
        if not pmt.is_u8vector(blob):
            raise ValueError("the message has no u8vector")
        if pmt.length(blob) > _MAX_BYTES:
            raise ValueError(f"got {pmt.length(blob)} bytes, allowed are up to {_MAX_BYTES}")
        data = to_python(blob)
        settings, seed, tx_time = self._settings, self._seed, None
        mpdus, included, user = [data] * bool(data), self._fcs == "included", None
        if pmt.is_dict(dictionary) and not pmt.is_null(dictionary):
            settings = self._own_settings(dictionary)
            mpdus = _cut(dictionary, data)
            user = pmt.dict_ref(dictionary, _USER, pmt.PMT_NIL)
            user = pmt.s32vector_elements(user) if pmt.is_s32vector(user) else None
            if user is not None and len(user) != len(mpdus):
                raise ValueError(f"user: got {len(user)} numbers, must be one for each MPDU")
            given = pmt.dict_ref(dictionary, _CRC_INCLUDED, pmt.PMT_NIL)
            if pmt.is_bool(given):
                included = pmt.to_bool(given)
            own_seed = _value(dictionary, "scrambler_seed")
            seed = seed if own_seed is None else own_seed
            tx_time = pmt.dict_ref(dictionary, TX_TIME, pmt.PMT_NIL)
            tx_time = None if pmt.is_null(tx_time) else moment("tx_time", tx_time)
        if not included:
            mpdus = [mpdu + mac.fcs(mpdu) for mpdu in mpdus]
        return *self._frame(settings, mpdus, user), _seed(seed, settings["format"]), tx_time

    def _own_settings(self, dictionary):
        given = {name: value for name in _SETTINGS
                 if (value := _value(dictionary, name)) is not None}
        name = given.get("format", self._settings["format"])
        choice("format", name, FORMATS)
        base = self._settings
        if name != base["format"]:
            base = {"format": name, **_DEFAULTS[name]}
        encoding = _value(dictionary, "encoding")
        if encoding is not None and name == "non-ht" and "mcs" not in given:
            given["mcs"] = ENCODINGS[integer("encoding", encoding, 0, 7)]
        # Receivers at lower sample rates report the actual width of the channel.
        if given.get("bandwidth_mhz") in (5, 10):
            given["bandwidth_mhz"] = 20
        for key in _FLAGS:
            flag(key, given.get(key, False))
        return base | given

    def _send(self, f, psdu, seed, tx_time):
        samples = self._transmitter.frame(f, psdu, seed or self._frames % 127 + 1)
        samples *= np.float32(10 ** (-self._backoff_db / 20))
        self._peak = max(self._peak, float(np.abs(samples).max()))
        if self._clip:
            self._limit(samples)
        burst = np.concatenate([samples, self._gap], axis=1)
        tags = [(self._tag, pmt.from_long(burst.shape[1])), (_FRAME, pmt.from_long(self._frames))]
        if tx_time is not None:
            tags.append((TX_TIME, moment_to_pmt(tx_time)))
        self._queue.put(list(burst), [(port, *tag) for port in range(len(burst)) for tag in tags])
        self._frames += 1

    def _limit(self, samples):
        """Clip real and imaginary parts in place, and count the clipped samples."""
        parts = samples.view(np.float32).reshape(*samples.shape, 2)
        beyond = int(np.count_nonzero((np.abs(parts) > 1).any(axis=-1)))
        if beyond:
            np.clip(parts, -1, 1, out=parts)
            self._clipped += beyond
            self._log.warn("clipping", f"{beyond} samples of a frame exceeded full scale and were "
                           f"clipped: backoff_db is {self._backoff_db:g}")


def _seed(seed, format):
    """Return a scrambler seed that frames of a format may have, or 0."""
    return integer("scrambler_seed", seed, 0, 2**BY_NAME[format].scrambler - 1)


def _cut(dictionary, data):
    """Return the MPDUs in the bytes of a PDU."""
    lengths = pmt.dict_ref(dictionary, _AMPDU, pmt.PMT_NIL)
    if pmt.is_null(lengths):
        return [data] * bool(data)
    if not pmt.is_s32vector(lengths):
        raise ValueError("ampdu: got a value of the wrong type, must be an s32vector")
    lengths = pmt.s32vector_elements(lengths)
    if not lengths or min(lengths) < 1 or sum(lengths) != len(data):
        raise ValueError(f"ampdu: got lengths of {sum(lengths)} bytes in total, must be positive "
                         f"and add up to the {len(data)} bytes of the PDU")
    return [data[begin:end] for begin, end in pairwise(accumulate(lengths, initial=0))]


def _value(dictionary, name):
    """Return a setting of a dictionary, None if it is missing."""
    value = pmt.dict_ref(dictionary, pmt.intern(name), pmt.PMT_NIL)
    return None if pmt.is_null(value) else setting(name, value)
