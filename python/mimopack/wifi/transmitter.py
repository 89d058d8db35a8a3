# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make frames from PSDUs: compute the samples of each transmit antenna."""

import numpy as np

from ..checks import integer, number, rate_choice
from . import carriers, eht_signal, he_signal_b, he_tables, mac, signal_fields, training
from .data_field import DataFields
from .formats import EHT, HE, HEMU, VHT, VHTMU, NonHT
from .points import known_points

MAX_ANTENNAS = 8
# Sample rates in samples per second. The higher ones oversample all channels.
SAMPLE_RATES = (*(1e6 * bandwidth for bandwidth in carriers.BANDWIDTHS), 320e6, 640e6)
# Longest transition between symbols in seconds: half of the short guard interval of HT and VHT.
MAX_WINDOWING = 200e-9
# With half of the standard's example of 100 ns, the masks are kept with 4 dB to spare, and more of
# the guard interval is left for echoes. Samples at 20 MS/s have no room for it.
WINDOWING = 50e-9
# Values of L-SIG and RL-SIG of HE frames at k = -28, -27, 27, 28 of each 20 MHz (27-12).
_OUTER = (-1, -1, -1, 1)
# Amplitude of the non-HT training fields of HE frames, epsilon of §27.3.11.3: a subcarrier has the
# power that it has in the L-SIG, which has four more of them.
_NON_HT_TRAINING = np.sqrt(52 / 56)
# Amplitude of what serves channel estimation in HE ER SU frames: all training fields, and the outer
# subcarriers of L-SIG and RL-SIG.
_BOOST = np.sqrt(2)
# Seed of the packet extension's content.
_EXTENSION_SEED = 93


class Transmitter:
    """Make the samples of non-HT, HT, VHT, HE and EHT frames.

    Sources: IEEE 802.11-2020 clauses 17, 19 and 21, IEEE 802.11ax-2021 clause 27, and IEEE
    802.11be-2024 clause 36. The non-HT part of a preamble has a cyclic shift per antenna. The
    fields after it have a cyclic shift per space-time stream (Tables 19-9, 19-10, 21-10, 21-11).
    If there is a ``mapping``, the number of its columns must be the number of space-time streams of
    the frame, of all users of a VHT frame, or of each RU of an HE MU frame. The mean power stays 1
    if the columns are orthogonal and have norm 1.

    Args:
        num_tx: number of transmit antennas, 1..8. A frame has at most four streams; the users of a
            VHT frame, or of an RU of an HE MU frame, have up to eight together.
        sample_rate: 20e6, 40e6, 80e6, 160e6, 320e6 or 640e6 samples per second. Frames of narrower
            channels lie at ``centre``. For 802.11p, play the samples of a 20 MS/s frame at 5 or
            10 MS/s.
        centre: subcarrier index of the channel's centre in the band of the samples, such as -32 for
            a 20 MHz channel in the lower half of 40 MHz.
        mapping: complex spatial mapping matrix Q of the fields after the non-HT part. The shape is
            (num_tx, N_STS) for the same matrix at all subcarriers, or (subcarriers, num_tx, N_STS)
            for one matrix per subcarrier of the frame's LTFs, ascending: 56, 114, 242 or 484
            subcarriers at 20 to 160 MHz, and in HE and EHT frames 242, 484, 996 or 1992. None sends
            each space-time stream from its own antenna. Non-HT frames do not use the mapping. With
            one matrix per subcarrier, the format should have ``smoothing=False`` (HT) or
            ``beamformed=True`` (VHT, HE, EHT).
        windowing: duration T_TR of the transition from symbol to symbol in seconds, 0 to 200e-9
            (§17.3.2.5). In a transition, the guard interval of a symbol fades in while the cyclic
            extension of the symbol before fades out, which keeps the spectrum inside the standard's
            masks. A frame is longer by one transition, less one sample. 0 sets symbol next to
            symbol, and so does the default at 20 MS/s, whose spectrum is the converter's business.

    Raises:
        ValueError: an argument is not as above.
    """

    def __init__(self, num_tx=1, sample_rate=20e6, centre=0, mapping=None,
                 windowing=WINDOWING):
        self.num_tx = integer("num_tx", num_tx, 1, MAX_ANTENNAS)
        self.sample_rate = rate_choice(sample_rate, SAMPLE_RATES)
        self._mhz = round(self.sample_rate / 1e6)
        self._scale = self._mhz // 20
        self._fft = carriers.FFT_20 * self._scale
        self.centre = integer("centre", centre, -self._fft // 2, self._fft // 2)
        self._mapping = None if mapping is None else self._checked(mapping)
        self._fields = DataFields()
        windowing = number("windowing", windowing)
        if not 0 <= windowing <= MAX_WINDOWING:
            raise ValueError(f"windowing: got {windowing}, allowed are 0 to {MAX_WINDOWING:g}")
        # Weights of a transition in samples; those of 0 and 1 at its ends are left out.
        steps = max(round(windowing * self.sample_rate), 1)
        self._rise = np.sin(np.pi / 2 * np.arange(1, steps) / steps)**2

    def _checked(self, mapping):
        try:
            matrix = np.array(mapping, complex)
        except (TypeError, ValueError):
            raise ValueError("mapping: got an unsupported type, must be an array of complex "
                             "numbers or None") from None
        sizes = sorted({carriers.high_throughput(bandwidth).used.size
                        for bandwidth in VHT.BANDWIDTHS if bandwidth <= self._mhz}
                       | {size for bandwidth, size in he_tables.WHOLE.items()
                          if bandwidth <= self._mhz})
        if (matrix.ndim not in (2, 3) or matrix.shape[-2] != self.num_tx
                or not 1 <= matrix.shape[-1] <= self.num_tx
                or matrix.shape[:-2] not in ((), *((size,) for size in sizes))):
            raise ValueError(
                f"mapping: got shape {matrix.shape}, must be ({self.num_tx}, N_STS) or "
                f"(subcarriers, {self.num_tx}, N_STS), N_STS 1 to {self.num_tx}, subcarriers "
                f"{' or '.join(map(str, sizes))}")
        if not np.isfinite(matrix).all():
            raise ValueError("mapping: got values that are not finite")
        return matrix

    def check(self, frame_format):
        """Check that :meth:`frame` can make a frame of this format.

        Raises:
            ValueError: the frame does not fit into the band of the samples, has more space-time
                streams than there are antennas, or does not match the mapping; or its fields
                contradict each other.
        """
        f, num_tx = frame_format, self.num_tx
        if f.contradiction:
            raise ValueError(f"frame_format: got {f.describe()} with {f.num_symbols} symbols: "
                             f"{f.contradiction}")
        if f.bandwidth_mhz > self._mhz:
            raise ValueError(f"sample_rate: got {self._mhz} MS/s, the frame is "
                             f"{f.bandwidth_mhz} MHz wide")
        if f.bandwidth_mhz // 2 + abs(self.centre) * 5 // 16 > self._mhz // 2:
            raise ValueError(f"centre: got {self.centre}, a frame of {f.bandwidth_mhz} MHz there "
                             f"does not fit into samples at {self._mhz} MS/s")
        streams = f.num_space_time_streams
        if streams > num_tx:
            raise ValueError(f"num_tx: got {num_tx}, the frame has {streams} space-time streams")
        if self._mapping is None or isinstance(f, NonHT):
            return
        if isinstance(f, HEMU):
            self._check_users(f)
            return
        size = (he_tables.WHOLE[f.bandwidth_mhz] if isinstance(f, HE)
                else carriers.high_throughput(f.bandwidth_mhz).used.size)
        if self._mapping.shape not in ((num_tx, streams), (size, num_tx, streams)):
            raise ValueError(f"mapping: got shape {self._mapping.shape}, the frame needs "
                             f"({num_tx}, {streams}) or ({size}, {num_tx}, {streams})")

    def _check_users(self, f):
        streams = {user.ru_streams for user in f.users}
        if streams != {self._mapping.shape[-1]}:
            raise ValueError(f"mapping: got shape {self._mapping.shape}, the RUs of the frame have "
                             f"{', '.join(map(str, sorted(streams)))} space-time streams")

    def frame(self, frame_format, psdu=b"", scrambler_seed=93):
        """Return the samples of a frame.

        Args:
            frame_format: :class:`NonHT`, :class:`HT`, :class:`VHT`, :class:`HE`, :class:`HEMU` or
                :class:`EHT`.
            psdu: ``frame_format.length`` bytes; for HEMU a list with the PSDU of each user.
            scrambler_seed: 1..127, for EHT 1..2047; for HEMU one for all users or a list.

        Returns:
            complex64 (num_tx, n). The mean power of all antennas together is 1; in HE ER SU frames,
            the training fields have twice this power. Without windowing, these are the
            ``num_samples`` of the format, at this sample rate.

        Raises:
            ValueError: the PSDU has a wrong length, or this transmitter cannot make the format, see
                :meth:`check`.
        """
        f = frame_format
        self.check(f)
        if isinstance(f, (HE, HEMU)):
            return self._joined(self._high_efficiency(f, psdu, scrambler_seed))
        parts = (self._greenfield(f) if f.greenfield else
                 [*self._legacy_preamble(f), *self._high_throughput_preamble(f)])
        if f.num_symbols:
            parts.append(self._data(f, psdu, scrambler_seed))
        elif psdu:
            raise ValueError(f"psdu: got {len(psdu)} bytes, the format takes none")
        return self._joined(parts)

    def mpdu(self, frame_format_of, mpdus, scrambler_seed=93):
        """Return the samples of a frame that carries MPDUs.

        Args:
            frame_format_of: function that makes the format for a PSDU length in bytes.
            mpdus: list of bytes, each with its FCS; several only if the format aggregates.
            scrambler_seed: 1..127.

        Returns:
            (format, samples), see :meth:`frame`.

        Raises:
            ValueError: as for :func:`pack` and :meth:`frame`.
        """
        f, psdu = pack(frame_format_of, mpdus)
        return f, self.frame(f, psdu, scrambler_seed)

    def _symbols(self, values, k, guard, length=None):
        """Modulate (symbols, len(k), num_tx) into the symbols of a field, see :meth:`_extended`."""
        spectrum = np.zeros((values.shape[0], self._fft, self.num_tx), complex)
        spectrum[:, (np.asarray(k) + self.centre) % self._fft] = values
        return self._extended(np.fft.ifft(spectrum, axis=1) * self._fft, guard, length)

    def _extended(self, periods, guard, length=None):
        """Extend symbols cyclically.

        Args:
            periods: (symbols, samples, num_tx).
            guard: guard interval in samples at 20 MS/s.
            length: duration with the guard interval in samples at 20 MS/s; None: one period after
                the guard interval.

        Returns:
            (num_tx, symbols, samples), with a transition more at the end.
        """
        size = periods.shape[1]
        length = guard * self._scale + size if length is None else length * self._scale
        n = np.arange(length + self._rise.size) - guard * self._scale
        return periods[:, n % size].transpose(2, 0, 1)

    def _joined(self, fields):
        """Join the symbols of all fields, each field as of :meth:`_extended`, into a frame.

        The transitions have the shape of (17-4). The standard centres them between two symbols;
        here they lie in the guard interval, whole, and leave the rest of each symbol as it is.
        """
        ramp = self._rise.size
        before, parts = np.zeros((self.num_tx, ramp)), []
        for field in fields:
            length = field.shape[2] - ramp
            ends = field[..., length:] * (1 - self._rise)
            body = np.array(field[..., :length], order="C")
            body[..., :ramp] *= self._rise
            body[:, 0, :ramp] += before
            body[:, 1:, :ramp] += ends[:, :-1]
            before = ends[:, -1]
            parts.append(body.reshape(self.num_tx, -1))
        return np.concatenate([*parts, before], axis=1).astype(np.complex64)

    def _per_antenna(self, values, k, f):
        """Map non-HT symbols (symbols, len(k)) to all antennas with their cyclic shifts.

        In HE frames without beam change, they go to the antennas like the first HE-LTF, on each
        space-time stream with its sign there (802.11ax-2021 §27.3.11.3).
        """
        turned = (values * carriers.rotation(f.bandwidth_mhz, k))[:, :, None] / np.sqrt(len(k))
        count = f.bandwidth_mhz // 20
        sent = _subchannels(f)
        if len(sent) < count:
            part = (np.asarray(k) + 32 * count) // carriers.FFT_20
            turned = turned * (np.isin(part, sent) * np.sqrt(count / len(sent)))[:, None]
        if isinstance(f, HE) and not f.beam_change:
            signs = he_tables.ltf_mapping(f.num_ltf)[:f.num_space_time_streams, 0]
            return self._mapped(f, 4 * np.asarray(k), turned * signs)
        shift = training.cyclic_shift(k, training.LEGACY_ADVANCE[self.num_tx])
        return turned * shift / np.sqrt(self.num_tx)

    def _from_streams(self, values, k, f):
        """Map streams (symbols, len(k), N_STS) to antennas: rotation, cyclic shifts, mapping."""
        streams = f.num_space_time_streams
        shift = training.cyclic_shift(k, training.STREAM_ADVANCE[streams])
        turned = values * (carriers.rotation(f.bandwidth_mhz, k)[:, None] * shift)
        mapping = np.eye(self.num_tx, streams) if self._mapping is None else self._mapping
        if mapping.ndim == 3:
            used = carriers.high_throughput(f.bandwidth_mhz).used
            mapping = mapping[np.clip(np.searchsorted(used, k), 0, used.size - 1)]
        return (mapping @ turned[..., None])[..., 0] / np.sqrt(streams * len(k))

    def _short_training(self, bandwidth):
        sequence = training.short_training(bandwidth)
        used = np.flatnonzero(sequence)
        return sequence[used], used - sequence.size // 2

    def _legacy_preamble(self, f):
        """Return L-STF, L-LTF and L-SIG."""
        short, long, bits = self._legacy_fields(f)
        return [short, long, self._signal(f, bits, 0, [1])]

    def _legacy_fields(self, f):
        """Return L-STF, L-LTF, and the bits of the L-SIG."""
        bandwidth = f.bandwidth_mhz
        plan = carriers.legacy(bandwidth)
        values, k = self._short_training(bandwidth)
        short = self._symbols(self._per_antenna(values[None], k, f), k, 0, training.L_STF)
        long = self._symbols(self._per_antenna(
            training.legacy_long_training(bandwidth)[None], plan.used, f), plan.used,
            2 * training.GUARD, training.L_LTF)
        if isinstance(f, NonHT):
            rate, length = f.mcs, f.length
        else:
            rate, length = 6, (f.first if isinstance(f, HEMU) else f).legacy_length
        return short, long, signal_fields.LSig(rate, length).bits()

    def _signal(self, f, bits, first, phases):
        """Return the symbols of L-SIG, HT-SIG or VHT-SIG-A on the antennas."""
        plan = carriers.legacy(f.bandwidth_mhz)
        points = self._coded_points(signal_fields.encode_signal(bits), first, phases, plan)
        return self._symbols(self._per_antenna(points, plan.used, f), plan.used,
                             training.GUARD)

    @staticmethod
    def _coded_points(coded, first, phases, plan):
        """Return the points of coded bits (symbols, subcarriers), with pilots.

        ``first`` is the index of the first symbol in the polarity sequence of pilots; ``phases``
        are 1 (BPSK) or j (QBPSK).
        """
        coded = 2.0 * coded - 1
        points = np.zeros((len(coded), plan.used.size), complex)
        points[:, plan.data_index] = np.tile(coded, plan.copies) * np.array(phases)[:, None]
        points[:, plan.pilot_index] = training.legacy_pilots(first, len(coded), plan.copies)
        return points

    def _long_training(self, f, first, last, guard=training.GUARD, length=None):
        """Return HT-LTFs or VHT-LTFs first..last-1."""
        bandwidth, streams = f.bandwidth_mhz, f.num_space_time_streams
        plan = carriers.high_throughput(bandwidth)
        signs = he_tables.ltf_mapping(f.num_ltf) if isinstance(f, VHT) else training.LTF_MAPPING
        mapping = signs[:streams, first:last].T
        values = (training.long_training(bandwidth)[None, :, None]
                  * mapping[:, None, :]).astype(complex)
        if isinstance(f, VHT):    # matrix R: pilots are equal for all streams (21-46)
            values[:, plan.pilot_index] = (
                training.long_training(bandwidth)[plan.pilot_index][None, :, None]
                * signs[0, first:last][:, None, None])
        return self._symbols(self._from_streams(values, plan.used, f), plan.used, guard, length)

    def _stream_short_training(self, f, length):
        values, k = self._short_training(f.bandwidth_mhz)
        streams = f.num_space_time_streams
        values = np.repeat(values[None, :, None], streams, axis=2)
        if f.greenfield:
            values = values * training.LTF_MAPPING[:streams, 0]
        return self._symbols(self._from_streams(values, k, f), k, 0, length)

    def _high_throughput_preamble(self, f):
        """Return the fields from HT-SIG or VHT-SIG-A to the data; nothing for a non-HT frame."""
        if isinstance(f, NonHT):
            return []
        vht = isinstance(f, VHT)
        bits = signal_fields.vht_sig_a(f) if vht else signal_fields.ht_sig(f)
        parts = [self._signal(f, bits, 1, [1, 1j] if vht else [1j, 1j]),
                 self._stream_short_training(f, training.SYMBOL),
                 self._long_training(f, 0, f.num_ltf)]
        if vht:
            parts.append(self._signal_b(f))
        return parts

    def _signal_b(self, f):
        plan, streams = f.plan, f.num_space_time_streams
        points = np.zeros((1, plan.used.size, streams), complex)
        parts = zip(f.users, f.slices, strict=True) if isinstance(f, VHTMU) else [(f, slice(None))]
        for user, own in parts:
            data = 2.0 * signal_fields.encode_sig_b(user) - 1
            points[0, plan.data_index, own] = data[:, None]
        points *= he_tables.ltf_mapping(f.num_ltf)[:streams, 0]
        points[0, plan.pilot_index] = training.vht_pilots(f.bandwidth_mhz, 3, 0, 1).T
        return self._symbols(self._from_streams(points, plan.used, f), plan.used, training.GUARD)

    def _greenfield(self, f):
        """Return HT-GF-STF, HT-LTF1, HT-SIG and further HT-LTFs (Figure 19-1)."""
        streams = f.num_space_time_streams
        first = self._long_training(f, 0, 1, 2 * training.GUARD, training.L_LTF)
        plan = carriers.legacy(f.bandwidth_mhz)
        points = self._coded_points(signal_fields.encode_signal(signal_fields.ht_sig(f)), 0,
                                    [1j, 1j], plan)
        spread = points[:, :, None] * training.LTF_MAPPING[:streams, 0]
        signal = self._symbols(self._from_streams(spread, plan.used, f), plan.used, training.GUARD)
        parts = [self._stream_short_training(f, training.L_STF), first, signal]
        if f.num_ltf > 1:
            parts.append(self._long_training(f, 1, f.num_ltf))
        return parts

    def _high_efficiency(self, f, psdus, seeds):
        """Return the fields of an HE or EHT frame (802.11ax-2021 §27.3.11, 802.11be §36.3.12)."""
        one = f.users[0]    # all users share its durations
        if isinstance(f, HE):
            psdus = [psdus]
        seeds = np.broadcast_to(seeds, len(f.users)).tolist()
        boost = _BOOST if f.name == "he-er-su" else 1
        short, long, signal = self._legacy_fields(f)
        training_fields = boost * self._he_long_training(f)
        data = self._he_data(f, psdus, seeds)
        parts = [boost * _NON_HT_TRAINING * short, boost * _NON_HT_TRAINING * long,
                 self._he_signals(f, signal), boost * self._he_short_training(f), training_fields]
        for i in range(one.num_midambles):
            parts += [data[:, i * one.midamble:(i + 1) * one.midamble], training_fields]
        parts.append(data[:, one.num_midambles * one.midamble:])
        if one.packet_extension_us:
            parts.append(self._packet_extension(f))
        return parts

    def _packet_extension(self, f):
        """Return the packet extension: any signal with the power of the data (§27.3.13)."""
        one = f.users[0]
        rng = np.random.default_rng(_EXTENSION_SEED)
        values = [rng.choice([-1, 1], (1, user.plan.used.size, user.num_space_time_streams))
                  for user in f.users]
        return self._he_symbols(f, values, one.guard, length=20 * one.packet_extension_us)

    def _he_symbols(self, f, values, guard, k=None, ltf=4, length=None):
        """Modulate symbols of the HE part of a frame.

        Args:
            f: the format.
            values: for each user, the values (symbols, len(k), N_STS) of its streams.
            guard: guard interval in samples at 20 MS/s.
            k: for each user its subcarriers, whose power is that of its RU; None takes all
                subcarriers of the RU.
            ltf: period in units of 3.2 us.
            length: see :meth:`_extended`.
        """
        k = k or [user.plan.used for user in f.users]
        fft, spectrum = 4 * self._fft, 0
        total = sum(ru.size for ru in {user.ru for user in f.users})
        for user, own, value in zip(f.users, k, values, strict=True):
            one = np.zeros((value.shape[0], fft, self.num_tx), complex)
            scale = np.sqrt(user.ru.size / len(own))
            one[:, (own + 4 * self.centre) % fft] = scale * self._mapped(user, own, value)
            spectrum = spectrum + one
        samples = np.fft.ifft(spectrum / np.sqrt(total), axis=1)[:, :fft * ltf // 4] * fft
        return self._extended(samples, guard, length)

    def _mapped(self, user, k, values):
        """Map the streams (symbols, len(k), N_STS) of a user to antennas."""
        streams, first = user.num_space_time_streams, user.first_stream
        among = user.ru_streams or streams
        advance = training.STREAM_ADVANCE[max(among, first + streams)][first:first + streams]
        turned = values * training.cyclic_shift(k, advance, he_tables.FFT_20)
        mapping = self._he_mapping(user, k)
        return (mapping @ turned[..., None])[..., 0] / np.sqrt(among)

    def _he_mapping(self, user, k):
        """Return the spatial mapping matrix of a user at subcarriers k."""
        first, streams = user.first_stream, user.num_space_time_streams
        if user.name == "he-tb":    # the other users' streams come from elsewhere
            first = 0
        if self._mapping is None:
            return np.eye(self.num_tx, first + streams)[:, first:]
        mapping = self._mapping
        if mapping.ndim == 3:
            whole = he_tables.WHOLE[user.bandwidth_mhz]
            used = he_tables.plan(user.bandwidth_mhz, (whole, 1)).used
            mapping = mapping[np.clip(np.searchsorted(used, k), 0, used.size - 1)]
        return mapping[..., first:first + streams]

    def _he_signals(self, f, signal):
        """Return L-SIG, RL-SIG, HE-SIG-A and HE-SIG-B of an HE frame; U-SIG, EHT-SIG of EHT."""
        plan, legacy = carriers.extended(f.bandwidth_mhz), carriers.legacy(f.bandwidth_mhz)
        points = np.zeros((2, plan.used.size), complex)
        coded = np.tile(signal_fields.encode_signal(signal), (2, 1))
        points[:, np.searchsorted(plan.used, legacy.used)] = self._coded_points(
            coded, 0, [1, 1], legacy)
        outer = [c + k for c in carriers.subchannels(f.bandwidth_mhz) for k in (-28, -27, 27, 28)]
        boost = _BOOST if f.name == "he-er-su" else 1
        points[:, np.searchsorted(plan.used, outer)] = boost * np.tile(_OUTER, plan.copies)
        eht = isinstance(f, EHT)
        bits = eht_signal.u_sig(f) if eht else signal_fields.he_sig_a(f)
        if f.name == "he-er-su":
            coded, phases = signal_fields.encode_repeated_signal(bits), [1, 1j, 1, 1]
        else:
            coded, phases = signal_fields.encode_signal(bits, 52), [1, 1]
        points = [points, self._coded_points(coded, 2, phases, plan)]
        count = f.users[0].num_sig_b
        if count:
            signal_b = np.zeros((count, plan.used.size), complex)
            signal_b[:, plan.data_index] = (eht_signal.eht_sig_points(f) if eht
                                            else he_signal_b.points(f))
            signal_b[:, plan.pilot_index] = training.legacy_pilots(4, count, plan.copies)
            points.append(signal_b)
        points = np.concatenate(points)
        return self._symbols(self._per_antenna(points, plan.used, f), plan.used,
                             training.GUARD)

    def _he_short_training(self, f):
        all_k, sequence = he_tables.short_training(f.bandwidth_mhz, f.name == "he-tb")
        k, values = [], []
        for user in f.users:
            here = np.isin(all_k, user.plan.used)
            k.append(all_k[here])
            values.append(np.repeat(sequence[here][None, :, None], user.num_space_time_streams,
                                    axis=2))
        return self._he_symbols(f, values, 0, k, length=f.users[0].short_training)

    def _he_long_training(self, f):
        one, values = f.users[0], []
        mapping = he_tables.ltf_mapping(one.num_ltf)
        for user in f.users:
            plan, first = user.plan, user.first_stream
            sequence = he_tables.long_training_of(f.bandwidth_mhz, one.ltf, plan.used)
            rows = mapping[first:first + user.num_space_time_streams].T
            own = np.repeat(rows[:, None], plan.used.size, axis=1)
            streams = range(first, first + user.num_space_time_streams)
            if user.masked_ltf:
                own *= he_tables.ltf_mask(one.ltf, plan.used, streams)
            elif user.pilots_in_ltf:
                own[:, plan.pilot_index] = mapping[0][:, None, None]    # matrix R (27-56)
            values.append(own * sequence[:, None])
        # Masked HE-LTFs and 1x HE-LTFs of HE TB frames have no pilots (§27.3.11.10).
        # 1x and 2x HE-LTFs use a quarter and half of the subcarriers, with more power (27-53).
        return np.sqrt(4 / one.ltf) * self._he_symbols(f, values, one.guard, ltf=one.ltf)

    def _he_data(self, f, psdus, seeds):
        values = list(map(self._points, f.users, psdus, seeds))
        return self._he_symbols(f, values, f.users[0].guard)

    def _points(self, f, psdu, scrambler_seed):
        """Return the points of a user's data symbols: (symbols, subcarriers, streams)."""
        bits = self._fields.of(f).encode(psdu, scrambler_seed)
        return known_points(f, bits[None], np.arange(bits.shape[1]))[0].transpose(1, 2, 0)

    def _data(self, f, psdu, scrambler_seed):
        plan = f.plan
        if isinstance(f, VHTMU):
            seeds = np.broadcast_to(scrambler_seed, len(f.users)).tolist()
            values = np.concatenate(list(map(self._points, f.users, psdu, seeds)), axis=2)
        else:
            values = self._points(f, psdu, scrambler_seed)
        if isinstance(f, NonHT):
            return self._symbols(self._per_antenna(values[..., 0], plan.used, f),
                                 plan.used, f.guard)
        return self._symbols(self._from_streams(values, plan.used, f), plan.used, f.guard)


def _subchannels(f):
    """Return the 20 MHz subchannels in which the part before the HE-STF is sent, a list."""
    if f.name == "he-tb":
        return sorted(he_signal_b.subchannels_of(f.bandwidth_mhz, f.ru))
    empty = f.punctured if isinstance(f, HEMU) else None
    return [part for part in range(f.bandwidth_mhz // 20) if part != empty]


def pack(frame_format_of, mpdus):
    """Pack MPDUs into the PSDU of a format.

    Args:
        frame_format_of: function that makes a :class:`formats.FrameFormat` for a PSDU length in
            bytes.
        mpdus: list of bytes, each with its FCS; several only if the format aggregates.

    Returns:
        (format, PSDU): the format with the length of the PSDU, and bytes.

    Raises:
        ValueError: there are several MPDUs, but the format does not aggregate.
    """
    probe = frame_format_of(4)
    if not probe.aggregated:
        if len(mpdus) != 1:
            raise ValueError(f"mpdus: got {len(mpdus)}, a frame without A-MPDU carries exactly one")
        return frame_format_of(len(mpdus[0])), mpdus[0]
    if probe.name == "ht":
        psdu = mac.aggregate(mpdus)
        return frame_format_of(len(psdu)), psdu
    f = frame_format_of(len(mac.aggregate(mpdus)))
    return f, mac.aggregate(mpdus, f.length)


def pack_users(frame_format_of, mpdus):
    """Pack the MPDUs of several users into the PSDUs of an HE MU frame.

    Args:
        frame_format_of: function that makes a :class:`HEMU` for a list with the length of each
            user's A-MPDU in bytes, such as ``lambda lengths: HEMU.of_lengths(users, lengths)``.
        mpdus: for each user, a list of bytes, each an MPDU with its FCS.

    Returns:
        (format, PSDUs): the format, and a list with the bytes of each user's PSDU.
    """
    f = frame_format_of([len(mac.aggregate(own)) for own in mpdus])
    return f, [mac.aggregate(own, user.length) for own, user in zip(mpdus, f.users, strict=True)]
