# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A decoder of HE frames in plain NumPy, to be read against IEEE 802.11ax-2021 clause 27.

It also decodes EHT MU frames for one user; see IEEE 802.11be-2024 clause 36.

It takes samples that begin with the L-STF, without carrier offset, in the order of the standard's
clauses: each function names its own. Only sequences, tone plans and matrices of the standard come
from the package (``he_tables``); the rest is written apart from the transmitter and the receiver.
"""

from types import SimpleNamespace

import numpy as np

from .. import coding
from .. import constellation as constellations
from ..coding import ConvolutionalCode, scrambler_sequence, seed_from_service
from ..wifi import he_tables, training
from ..wifi.he_tables import RU

# Table 27-16 and others: constellation, bits per point, code rate of each MCS.
MCS = [("wlan_bpsk", 1, (1, 2)), ("wlan_qpsk", 2, (1, 2)), ("wlan_qpsk", 2, (3, 4)),
       ("wlan_qam16", 4, (1, 2)), ("wlan_qam16", 4, (3, 4)), ("wlan_qam64", 6, (2, 3)),
       ("wlan_qam64", 6, (3, 4)), ("wlan_qam64", 6, (5, 6)), ("wlan_qam256", 8, (3, 4)),
       ("wlan_qam256", 8, (5, 6)), ("wlan_qam1024", 10, (3, 4)), ("wlan_qam1024", 10, (5, 6)),
       # EHT: Table 36-71; MCS 15 has DCM
       ("wlan_qam4096", 12, (3, 4)), ("wlan_qam4096", 12, (5, 6)), None, ("wlan_bpsk", 1, (1, 2))]
SIG_B_MCS = MCS[:6]
# Table 27-33: (N_SD, N_SD,short) of each RU, without and with DCM.
SIZES = {26: ((24, 6), (12, 2)), 52: ((48, 12), (24, 6)), 106: ((102, 24), (51, 12)),
         242: ((234, 60), (117, 30)), 484: ((468, 120), (234, 60)), 996: ((980, 240), (490, 120)),
         1992: ((1960, 492), (980, 246))}
# Tables 27-34 and 27-35: (N_COL, N_ROT) and D_TM, without and with DCM.
COLUMNS = {26: ((8, 2), (4, 2)), 52: ((16, 11), (8, 2)), 106: ((17, 29), (17, 11)),
           242: ((26, 58), (13, 29))}
TONE_DISTANCE = {26: (1, 1), 52: (3, 1), 106: (6, 3), 242: (9, 9), 484: (12, 9), 996: (20, 14),
                 1992: (20, 14)}
TAIL, SERVICE = 6, 16
# Cyclic shifts of space-time streams in samples at 20 MS/s (Table 21-11).
SHIFTS = (0, -8, -4, -12, -7, -13, -2, -15)


def number(bits):
    """Convert bits, least significant first."""
    return sum(int(bit) << i for i, bit in enumerate(bits))


def crc(bits):
    """Return the 8 bits of the CRC x^8 + x^2 + x + 1 with initial ones, inverted, c7 first."""
    register = [1] * 8
    for bit in bits:
        feedback = register[0] ^ int(bit)
        register = register[1:] + [0]
        if feedback:
            register = [a ^ b for a, b in zip(register, (0, 0, 0, 0, 0, 1, 1, 1), strict=True)]
    return [1 - bit for bit in register]


def viterbi(llr, rate):
    """Decode LLRs of a block that ends with a tail; the result has the tail too."""
    code = ConvolutionalCode("/".join(map(str, rate)))
    bits = code.decode(np.asarray(llr, np.float32))
    return np.concatenate([bits, np.zeros(TAIL, np.uint8)])


def soft_bits(points, choices):
    """Return max-log LLRs of received points.

    Args:
        points: (copies, n) received copies of n points.
        choices: (copies, 2^m): what each copy is for each label.

    Returns:
        (n, m), most significant bit first.
    """
    count = choices.shape[1]
    m = count.bit_length() - 1
    metric = -sum(np.abs(points[i][:, None] - choices[i])**2 for i in range(len(points)))
    labels = np.arange(count)
    return np.stack([metric[:, labels >> (m - 1 - bit) & 1 == 1].max(axis=1)
                     - metric[:, labels >> (m - 1 - bit) & 1 == 0].max(axis=1)
                     for bit in range(m)], axis=1)


def labels_of(name):
    """Return the points of a constellation in the order of their labels."""
    found = constellations.get(name)
    return np.asarray(found.modulate(found.bits)).ravel()


def dual_choices(name, size):
    """Return the second copies of DCM (27.3.12.9) for each of ``size`` points: (size, 2^m)."""
    points = labels_of(name)
    if len(points) == 2:
        return points * (-1.0) ** (np.arange(size) + size)[:, None]
    if len(points) == 4:
        return np.tile(points.conj(), (size, 1))
    label = np.arange(16)
    swapped = (label >> 2 & 1) << 3 | (label >> 3 & 1) << 2 | (label & 1) << 1 | label >> 1 & 1
    return np.tile(points[swapped], (size, 1))


def place_of_bit(size, bits, columns, rotation=0, stream=0):
    """Return where the interleaver sends each coded bit of a stream (27.3.12.8)."""
    count = size * bits
    rows, s = count // columns, max(1, bits // 2)
    places = []
    for k in range(count):
        i = rows * (k % columns) + k // columns
        j = s * (i // s) + (i + count - columns * i // count) % s
        turn = ((2 * stream) % 3 + 3 * (stream // 3)) * rotation * bits
        places.append((j - turn) % count)
    return np.array(places)


class Frame:
    """Decode a frame.

    Args:
        samples: complex (num_rx, n), from the first sample of the L-STF on, at 20 MS/s per 20 MHz.
        trigger: for an HE TB frame, a list of its users: dictionaries with keys ru, mcs, coding,
            dcm, num_streams, first_stream; and what all of them share in ``common``.
        common: for an HE TB frame, a dictionary with gi_us, ltf, stbc, midamble, ltf_count,
            pre_fec_padding, extra_symbol, pe_disambiguity, masked_ltf.
        taps: number of taps of the channel that may be told apart.

    Attributes:
        fields: fields of HE-SIG-A, and of HE-SIG-B: ``users`` and ``allocation``.
        psdus: bytes of the PSDU of each user.
        payload, sequence, coded: of the last user, the descrambled bits, the scrambler's sequence,
            and the LLRs of the coded bits of all symbols.
        occupied: numbers of the 20 MHz subchannels that hold the preamble.
        eht_signals: bits of U-SIG, and of common field and User field of the EHT-SIG.
    """

    def __init__(self, samples, trigger=None, common=None, taps=4, bandwidth_mhz=20):
        self.samples, self.taps = np.atleast_2d(samples), taps
        self.bandwidth, self.scale = bandwidth_mhz, bandwidth_mhz // 20
        self.at = 320
        self.polarity = 1 - 2.0 * scrambler_sequence(127, 127)
        self._channel_before_he()
        self._l_sig()
        self._sig_a()
        if trigger is not None:
            self.fields |= common
            self.fields["users"] = trigger
        elif self.format == "he-mu":
            self._sig_b()
        self._durations()
        self.psdus = self._data()

    # 27.3.11.3 to 27.3.11.8: before the HE-STF, in each 20 MHz channel the same but for HE-SIG-B.

    def _spectrum(self, start, k, fft=64):
        """Return the values (num_rx, len(k)) of a symbol whose FFT begins at start (20 MS/s)."""
        begin, size = start * self.scale, fft * self.scale
        window = self.samples[:, begin:begin + size]
        return np.fft.fft(window, axis=1)[:, np.asarray(k) % size] / size

    def _subchannels(self):
        return [64 * i - 32 * (self.scale - 1) for i in range(self.scale)]

    def _channel_before_he(self):
        """Estimate the channel from the L-LTF (27.3.11.4), times gamma_k."""
        k = [i for i in range(-26, 27) if i]
        sequence = training.legacy_long_training()
        boost = 1.0
        self.before = []
        for centre in self._subchannels():
            halves = sum(self._spectrum(start, centre + np.array(k)) for start in (192, 256)) / 2
            self.before.append({i: halves[:, n] / sequence[n] * boost for n, i in enumerate(k)})
        # HE TB frames fill the subchannels of their RU, and a preamble may be punctured.
        power = [sum(np.sum(np.abs(h)**2) for h in one.values()) for one in self.before]
        self.occupied = [part for part in range(self.scale) if power[part] > 0.01 * max(power)]

    def _symbol(self, part, k):
        """Return matched values of the next symbol at k in a 20 MHz channel: (len(k),)."""
        y = self._spectrum(self.at + 16, self._subchannels()[part] + np.array(k))
        h = np.stack([self.before[part][i] for i in k], axis=1)
        return np.sum(h.conj() * y, axis=0) / np.sum(np.abs(h)**2, axis=0)

    def _l_sig(self):
        """27.3.11.5 and 27.3.11.6: L-SIG, RL-SIG and their outer subcarriers."""
        data = [i for i in range(-26, 27) if i and abs(i) not in (7, 21)]
        outer = (-28, -27, 27, 28)
        metrics, edges = np.zeros(48), np.zeros((self.scale, len(self.samples), 4), complex)
        for _ in range(2):
            for part in self.occupied:
                metrics = metrics + self._symbol(part, data).real
                y = self._spectrum(self.at + 16, self._subchannels()[part] + np.array(outer))
                edges[part] += y / np.array([-1, -1, -1, 1]) / 2
            self.at += 80
        bits = viterbi(metrics[place_of_bit(48, 1, 16)], (1, 2))
        assert not bits[:18].sum() % 2 and number(bits[:4][::-1]) == 0b1101
        self.length = number(bits[5:17])
        for part in self.occupied:
            for n, i in enumerate(outer):
                self.before[part][i] = edges[part][:, n]

    def _sig_a(self):
        """27.3.11.7: HE-SIG-A; its repetition tells HE ER SU."""
        data = [i for i in range(-28, 29) if i and abs(i) not in (7, 21)]
        symbols = [sum(self._symbol_at(self.at + 80 * i, part, data)
                       for part in self.occupied) for i in range(4)]
        turned = np.sum(symbols[1].imag**2) > np.sum(symbols[1].real**2)
        place = place_of_bit(52, 1, 13)
        if turned:
            # The second and the fourth symbol are not interleaved.
            llr = np.concatenate([symbols[0].real[place] + symbols[1].imag,
                                  symbols[2].real[place] + symbols[3].real])
            self.at += 320
        else:
            llr = np.concatenate([symbols[0].real[place], symbols[1].real[place]])
            self.at += 160
        bits = viterbi(llr, (1, 2))
        assert list(bits[42:46]) == crc(bits[:42])[:4]
        if self.length % 3 == 0:    # 36.3.12.5
            self._eht_sig(bits)
            return
        # 27.3.11.5: the remainder of LENGTH tells HE SU and HE TB (m = 2) from the others (m = 1).
        self.m = 2 if self.length % 3 == 1 else 1
        if self.m == 2:
            self.format = "he-su" if bits[0] else "he-tb"
        else:
            self.format = "he-er-su" if turned else "he-mu"
        self.fields = {"he-su": self._su_fields, "he-er-su": self._su_fields,
                       "he-mu": self._mu_fields, "he-tb": self._tb_fields}[self.format](bits)

    def _eht_sig(self, u_sig):
        """36.3.12.7 and 36.3.12.8: U-SIG, and the EHT-SIG of a frame for one user."""
        self.format, self.m = "eht-mu", 0
        assert number(u_sig[:3]) == 0 and number(u_sig[26:28]) == 1
        assert self.bandwidth == (20, 40, 80, 160)[number(u_sig[3:6])]
        f = self.fields = {
            "uplink": bool(u_sig[6]), "bss_color": number(u_sig[7:13]),
            "txop": number(u_sig[13:20]), "sig_mcs": number(u_sig[35:37]), "compressed": False,
            "midamble": 0, "stbc": 0}
        f["sig_b_mcs"], f["sig_b_dcm"] = ((0, False), (1, False), (3, False),
                                          (0, True))[f["sig_mcs"]]
        symbols = number(u_sig[37:42]) + 1
        llr, = self._sig_b_metrics(symbols, 1)
        self.at += 80 * symbols
        bits = _SigB(llr, (1, 2)).block(42)
        self.eht_signals = u_sig, bits
        ltf, gi_us = ((2, 0.8), (2, 1.6), (4, 0.8), (4, 3.2))[number(bits[4:6])]
        user = bits[20:]
        f |= {"spatial_reuse": number(bits[:4]), "ltf": ltf, "gi_us": gi_us,
              "ltf_count": (1, 2, 4, 6, 8)[number(bits[6:9])],
              "extra_symbol": bool(bits[9] and user[21]),
              "pre_fec_padding": number(bits[10:12]) or 4, "pe_disambiguity": bool(bits[12])}
        mcs = number(user[11:15])
        whole = RU(he_tables.WHOLE[self.bandwidth], 1)
        f["users"] = [{"ru": whole, "sta_id": number(user[:11]), "mcs": mcs,
                       "dcm": mcs == 15, "num_streams": number(user[16:20]) + 1,
                       "beamformed": bool(user[20]), "coding": "ldpc" if user[21] else "bcc"}]

    def _symbol_at(self, at, part, k):
        kept, self.at = self.at, at
        found = self._symbol(part, k)
        self.at = kept
        return found

    def _su_fields(self, bits):
        """Tables 27-18 and 27-19."""
        dcm, stbc, gi = bool(bits[7]), bool(bits[35]), number(bits[21:23])
        ltf, gi_us = [(1, 0.8), (2, 0.8), (2, 1.6), (4, 3.2)][gi]
        if gi == 3 and dcm and stbc:
            gi_us, dcm, stbc = 0.8, False, False
        doppler = bool(bits[41])
        streams = number(bits[23:25 if doppler else 26]) + 1
        bandwidth = number(bits[19:21])
        if self.format == "he-er-su":
            ru = RU(106, 2) if bandwidth else RU(242, 1)
        else:
            ru = RU(he_tables.WHOLE[(20, 40, 80, 160)[bandwidth]], 1)
        user = {"ru": ru, "mcs": number(bits[3:7]), "dcm": dcm, "num_streams": streams - stbc,
                "coding": "ldpc" if bits[33] else "bcc"}
        return {"beam_change": bool(bits[1]), "uplink": bool(bits[2]),
                "bss_color": number(bits[8:14]), "spatial_reuse": number(bits[15:19]),
                "ltf": ltf, "gi_us": gi_us, "txop": number(bits[26:33]),
                "extra_symbol": bool(bits[34]) and bool(bits[33]), "stbc": int(stbc),
                "beamformed": bool(bits[36]), "pre_fec_padding": number(bits[37:39]) or 4,
                "pe_disambiguity": bool(bits[39]), "users": [user],
                "midamble": (20 if bits[25] else 10) if doppler else 0,
                "ltf_count": {1: 1, 2: 2, 3: 4, 4: 4, 5: 6, 6: 6, 7: 8, 8: 8}[streams]}

    def _mu_fields(self, bits):
        """Table 27-20."""
        doppler = bool(bits[25])
        ltf, gi_us = [(4, 0.8), (2, 0.8), (2, 1.6), (4, 3.2)][number(bits[23:25])]
        return {"uplink": bool(bits[0]), "sig_b_mcs": number(bits[1:4]), "sig_b_dcm": bool(bits[4]),
                "bss_color": number(bits[5:11]), "spatial_reuse": number(bits[11:15]),
                "sig_b_count": number(bits[18:22]) + 1, "compressed": bool(bits[22]),
                "ltf": ltf, "gi_us": gi_us, "txop": number(bits[26:33]),
                "ltf_count": (1, 2, 4, 6, 8)[number(bits[34:36 if doppler else 37])],
                "midamble": (20 if bits[36] else 10) if doppler else 0,
                "extra_symbol": bool(bits[37]), "stbc": int(bits[38]),
                "pre_fec_padding": number(bits[39:41]) or 4, "pe_disambiguity": bool(bits[41])}

    @staticmethod
    def _tb_fields(bits):
        """Table 27-21."""
        return {"bss_color": number(bits[1:7]), "txop": number(bits[26:33]), "uplink": True,
                "spatial_reuse": number(bits[7:11])}

    def _sig_b(self):
        """27.3.11.8: HE-SIG-B of one or two content channels."""
        f = self.fields
        name, m, rate = SIG_B_MCS[f["sig_b_mcs"]]
        size = 26 if f["sig_b_dcm"] else 52
        channels = 1 if self.bandwidth == 20 else 2
        if f["compressed"]:
            count = f["sig_b_count"]
            users = [-(-count // channels), count // channels][:channels]
            bits = [21 * n + 10 * -(-n // 2) for n in users]
            per_symbol = size * m * rate[0] // rate[1]
            symbols = -(-max(bits) // per_symbol)
        else:
            symbols = f["sig_b_count"]
            if symbols == 16:    # or more: the common fields tell the number of users
                contents = [_SigB(llr, rate) for llr in self._sig_b_metrics(16, channels)]
                bits = [len(self._common(content, channel, channels)[1])
                        for channel, content in enumerate(contents)]
                bits = [content.bits + 21 * n + 10 * -(-n // 2)
                        for content, n in zip(contents, bits, strict=True)]
                symbols = max(16, -(-max(bits) * rate[1] // (size * m * rate[0])))
        contents = [_SigB(llr, rate) for llr in self._sig_b_metrics(symbols, channels)]
        self.at += 80 * symbols
        if f["compressed"]:
            whole = RU(he_tables.WHOLE[self.bandwidth], 1)
            found = [content.users(n) for content, n in zip(contents, users, strict=True)]
            self._mark([(whole, field) for own in found for field in own])
        else:
            found, allocation = [], {}
            for channel, content in enumerate(contents):
                codes, rus = self._common(content, channel, channels)
                allocation |= codes
                found += zip(rus, content.users(len(rus)), strict=True)
            self.fields["allocation"] = [allocation[part] for part in sorted(allocation)]
            self._mark(found)

    def _sig_b_metrics(self, symbols, channels):
        """27.3.11.8.5: LLRs of the coded bits of each content channel."""
        f = self.fields
        name, m, _ = SIG_B_MCS[f["sig_b_mcs"]]
        size = 26 if f["sig_b_dcm"] else 52
        data = [i for i in range(-28, 29) if i and abs(i) not in (7, 21)]
        # (27-20): signs of the upper half of the subcarriers.
        gamma = np.array([(-1) ** n if n >= 26 else 1 for n in range(52)])
        place = place_of_bit(size, m, 13)
        llr = [[] for _ in range(channels)]
        for i in range(symbols):
            for part in range(channels):
                y = np.mean([self._symbol_at(self.at + 80 * i, other, data)
                             for other in self.occupied if other % channels == part], axis=0)
                y = y * gamma
                if f["sig_b_dcm"]:
                    copies = dual_choices(name, 26)
                    soft = np.concatenate([soft_bits(np.array([[y[n]], [y[n + 26]]]), np.stack(
                        [labels_of(name), copies[n]])) for n in range(26)])
                else:
                    soft = soft_bits(y[None], labels_of(name)[None])
                llr[part].append(soft.ravel()[place])
        return [np.concatenate(one) for one in llr]

    def _common(self, content, channel, channels):
        """27.3.11.8.3: ({20 MHz channel: code}, RU of each User field) of a common field."""
        centre = self.bandwidth >= 80
        per_channel = max(1, self.scale // channels)
        common = content.block(8 * per_channel + centre)
        codes, rus = {}, []
        for n in range(per_channel):
            part = channel + n * channels
            codes[part] = number(common[8 * n:8 * n + 8])
            rus += self._rus(codes[part], part)
        middle = 4 * channel if self.bandwidth == 160 else 0
        if centre and common[-1] and middle == 4 * channel:
            rus.append(RU(26, 19 + 37 * (middle // 4)))
        return codes, rus

    def _rus(self, code, part):
        """Table 27-26: the RU of each User field of an RU Allocation subfield."""
        text = f"{code:08b}"
        if code < 16:
            sizes = []
            for bit, position in zip(text[4:], range(4), strict=True):
                sizes += [52] if bit == "1" else [26, 26]
                if position == 1:
                    sizes.append(26)
            return self._in_order([(size, 1) for size in sizes], part)
        y, z = code & 7, code >> 3 & 7
        if code < 112:
            start = {2: [(52, 1), (52, 1), None, (106, y + 1)],
                     3: [(106, y + 1), None, (52, 1), (52, 1)],
                     4: [(26, 1)] * 5 + [(106, y + 1)],
                     5: [(26, 1), (26, 1), (52, 1), (26, 1), (106, y + 1)],
                     6: [(52, 1), (26, 1), (26, 1), (26, 1), (106, y + 1)],
                     7: [(52, 1), (52, 1), (26, 1), (106, y + 1)],
                     8: [(106, y + 1)] + [(26, 1)] * 5,
                     9: [(106, y + 1), (26, 1), (26, 1), (26, 1), (52, 1)],
                     10: [(106, y + 1), (26, 1), (52, 1), (26, 1), (26, 1)],
                     11: [(106, y + 1), (26, 1), (52, 1), (52, 1)]}.get(code >> 3)
            if start is None:    # 0110 y1 y0 z1 z0
                start = [(106, (code >> 2 & 3) + 1), None, (106, (code & 3) + 1)]
            return self._in_order(start, part)
        if code == 112:
            return self._in_order([(52, 1), (52, 1), None, (52, 1), (52, 1)], part)
        if 128 <= code < 192:
            return self._in_order([(106, z + 1), (26, 1), (106, y + 1)], part)
        if 192 <= code < 200:
            return [RU(242, part + 1)] * (y + 1)
        if 200 <= code < 208:
            return [RU(484, part // 2 + 1)] * (y + 1)
        if 208 <= code < 216:
            return [RU(996, part // 4 + 1)] * (y + 1)
        assert code in (113, 114, 115)
        return []

    def _in_order(self, sizes, part):
        """Number the RUs of a 20 MHz channel: by their place among its nine RUs of 26 tones."""
        rus, slot = [], 0
        for one in sizes:
            size, users = one or (26, 0)
            index = {26: slot, 52: {0: 0, 2: 1, 5: 2, 7: 3}.get(slot), 106: slot // 5}[size]
            index += {26: 9, 52: 4, 106: 2}[size] * part + 1
            if size == 26:
                index += (part + 2) // 4 if self.bandwidth >= 80 else 0
            rus += [RU(size, index)] * users
            slot += {26: 1, 52: 2, 106: 4}[size]
        return rus

    def _mark(self, found):
        """Read User fields (Tables 27-28 to 27-30)."""
        users = []
        for ru, bits in found:
            sharing = [own for other, own in found if other == ru]
            user = {"ru": ru, "sta_id": number(bits[:11]), "mcs": number(bits[15:19]),
                    "coding": "ldpc" if bits[20] else "bcc", "dcm": False, "first_stream": 0}
            if len(sharing) == 1:
                user |= {"num_streams": number(bits[11:14]) + 1 - self.fields["stbc"],
                         "beamformed": bool(bits[14]), "dcm": bool(bits[19])}
            else:
                streams = _spatial(len(sharing), number(bits[11:15]))
                place = sum(other["ru"] == ru for other in users)
                user |= {"num_streams": streams[place], "first_stream": sum(streams[:place])}
            users.append(user)
        self.fields["users"] = [user for user in users if user["sta_id"] != 2046]

    # 27.3.11.9 on: the HE part.

    def _durations(self):
        """27.4.3: number of symbols and durations, in samples at 20 MS/s."""
        f = self.fields
        self.guard = {0.8: 16, 1.6: 32, 3.2: 64}[f["gi_us"]]
        self.symbol, self.ltf_symbol = 256 + self.guard, 64 * f["ltf"] + self.guard
        self.training = self.at + (160 if self.format == "he-tb" else 80)
        start = self.training + f["ltf_count"] * self.ltf_symbol
        left = 400 + (self.length + self.m + 3) // 3 * 80 - start

        def midambles(symbols):
            every = f["midamble"]
            return max(0, -(-(symbols - 1) // every) - 1) if every else 0

        self.symbols = max(
            n for n in range(1, left // self.symbol + 1)
            if n * self.symbol + midambles(n) * f["ltf_count"] * self.ltf_symbol <= left)
        self.symbols -= f["pe_disambiguity"]
        self.num_midambles = midambles(self.symbols)
        self.data_start = start

    def _channel(self, ru, start, streams):
        """27.3.11.10: channels (used, num_rx, streams) of an RU from HE-LTFs at start."""
        f = self.fields
        plan = he_tables.plan(self.bandwidth, ru)
        sequence = he_tables.long_training_of(self.bandwidth, f["ltf"], plan.used)
        count, fft = f["ltf_count"], 64 * f["ltf"]
        p = he_tables.ltf_mapping(count)[:streams]
        boost = np.sqrt(2) if self.format == "he-er-su" else 1
        trained = [n for n, value in enumerate(sequence) if value and n not in plan.pilot_index]
        k = plan.used[trained]
        y = np.stack([self._spectrum(start + i * self.ltf_symbol + self.guard,
                                     k * f["ltf"] // 4, fft) for i in range(count)])
        h = np.einsum("irk,si->krs", y, p.conj()) / count / sequence[trained][:, None, None]
        if f.get("masked_ltf"):    # (27-53)
            eight = he_tables.ltf_mapping(8).real
            column = [(int(np.ceil(i * f["ltf"] / 4)) - 1) % 8 for i in k]
            h = h * eight[:streams, column].T[:, None, :]
        h = h / (boost * np.sqrt(4 / f["ltf"]))
        # Streams are cyclically shifted; without the shift, a few taps describe the channel.
        shift = np.array([SHIFTS[i] for i in range(streams)])
        def turn(k):
            return np.exp(-2j * np.pi / 256 * np.outer(k, shift))[:, None, :]

        delays = np.arange(min(self.taps, max(1, len(k) // 2)))
        basis = np.exp(-2j * np.pi / 256 / self.scale * np.outer(k, delays))
        flat = (h / turn(k)).reshape(len(k), -1)
        taps = np.linalg.lstsq(basis, flat, rcond=None)[0]
        basis = np.exp(-2j * np.pi / 256 / self.scale * np.outer(plan.used, delays))
        return (basis @ taps).reshape(-1, *h.shape[1:]) * turn(plan.used)

    def _data(self):
        f = self.fields
        groups = {}
        for number_, user in enumerate(f["users"]):
            groups.setdefault(user["ru"], []).append((number_, user))
        psdus = {}
        for ru, members in groups.items():
            streams = max(user.get("first_stream", 0) + user["num_streams"] + f["stbc"]
                          for _, user in members)
            points = self._equalised(RU(*ru), streams)
            for number_, user in members:
                first = user.get("first_stream", 0)
                own = points[:, :, first:first + user["num_streams"] + f["stbc"]]
                if f["stbc"]:
                    own = points
                psdus[number_] = _Psdu(self, SimpleNamespace(**user), own).decode()
        return [psdus[i] for i in range(len(psdus))]

    def _equalised(self, ru, streams):
        """Return the points (symbols, data subcarriers, streams), after the pilots' phase.

        With STBC, the streams are one: the pairs of symbols are decoded (21.3.10.9.4).
        """
        f = self.fields
        plan = he_tables.plan(self.bandwidth, ru)
        first = 4 if self.format in ("he-su", "he-tb") else 6
        if self.format in ("he-mu", "eht-mu"):
            first = 4 + (self.at - 640) // 80
        pilots = _pilots(ru.size, self.symbols)
        pilots = pilots * self.polarity[(first + np.arange(self.symbols)) % 127][:, None]
        at, h = self.data_start, self._channel(ru, self.training, streams)
        received, channels = [], []
        for n in range(self.symbols):
            if f["midamble"] and n and not n % f["midamble"] and (
                    n // f["midamble"] <= self.num_midambles):
                h = self._channel(ru, at, streams)
                at += f["ltf_count"] * self.ltf_symbol
            y = self._spectrum(at + self.guard, plan.used, 256)
            expected = h[plan.pilot_index].sum(axis=2) * pilots[n][:, None]
            phase = np.vdot(expected, y[:, plan.pilot_index].T)
            received.append((y * np.conj(phase) / abs(phase)).T[plan.data_index])
            channels.append(h[plan.data_index])
            at += self.symbol
        y, h = np.array(received), np.array(channels)
        if not f["stbc"]:
            return np.einsum("nksr,nkr->nks", np.linalg.pinv(h), y)
        out = np.zeros((*y.shape[:2], 1), complex)
        for n in range(0, self.symbols, 2):
            a, b = h[n, :, :, 0], h[n, :, :, 1]
            gain = np.sum(np.abs(a)**2 + np.abs(b)**2, axis=1)
            out[n, :, 0] = np.sum(a.conj() * y[n] + b * y[n + 1].conj(), axis=1) / gain
            out[n + 1, :, 0] = np.sum(a.conj() * y[n + 1] - b * y[n].conj(), axis=1) / gain
        return out


def _pilots(size, symbols):
    """27.3.12.13: the pilots of each symbol, without their polarity."""
    base = {26: [1, -1], 52: [1, 1, 1, -1], 106: [1, 1, 1, -1],
            242: [1, 1, 1, -1, -1, 1, 1, 1]}.get(size, [1, 1, 1, -1, -1, 1, 1, 1] * 2)
    rows = np.array([np.roll(base, -n) for n in range(symbols)])
    return np.tile(rows, 2) if size == 1992 else rows


def _spatial(users, value):
    """Table 27-30: streams of the users of an RU."""
    found = []

    def extend(tail):
        if len(tail) == users:
            found.append(tail)
            return
        for streams in range(tail[0] if tail else 1, 5):
            if sum(tail) + streams * (users - len(tail)) <= 8:
                extend((streams, *tail))

    extend(())
    return sorted(found, key=lambda streams: streams[::-1])[value]


class _SigB:
    """The blocks of a content channel of HE-SIG-B, one after another (27.3.11.8.5)."""

    def __init__(self, llr, rate):
        self._llr, self._code = llr, ConvolutionalCode("/".join(map(str, rate)))
        self._rate, self.bits = rate, 0

    def block(self, size):
        """Return the next block of so many bits. Its encoder begins and ends in state 0."""
        size += 4 + TAIL
        before, after = (self._code.coded_length(n) for n in (self.bits, self.bits + size))
        if self._rate == (1, 2):
            bits = viterbi(self._llr[before:after], (1, 2))
        else:
            # The puncturing pattern goes on from block to block: fill erasures in, at rate 1/2.
            pattern = {(3, 4): [1, 1, 1, 0, 0, 1], (2, 3): [1, 1, 1, 0]}[self._rate]
            kept = np.resize(np.array(pattern, bool), 2 * (self.bits + size))[2 * self.bits:]
            full = np.zeros(2 * size)
            full[kept] = self._llr[before:after]
            bits = viterbi(full, (1, 2))
        self.bits += size
        content = bits[:size - 4 - TAIL]
        assert list(bits[size - 4 - TAIL:size - TAIL]) == crc(content)[:4]
        return content

    def users(self, count):
        """Return the 21 bits of each of the next User fields."""
        fields = []
        while len(fields) < count:
            here = min(2, count - len(fields))
            bits = self.block(21 * here)
            fields += [bits[21 * i:21 * i + 21] for i in range(here)]
        return fields


class _Psdu:
    """27.3.12: from the points of a user to its PSDU."""

    def __init__(self, frame, user, points):
        f = frame.fields
        self.frame, self.user, self.points = frame, user, points
        self.name, self.bits, self.rate = MCS[user.mcs]
        self.size, self.short = SIZES[user.ru[0]][user.dcm]
        self.streams = user.num_streams
        self.block = 2 if f["stbc"] else 1
        self.symbols, self.a = frame.symbols, f["pre_fec_padding"]
        self.extra = f["extra_symbol"]
        self.ru_size, self.eht = user.ru[0], frame.format == "eht-mu"
        self.segments = 2 if self.ru_size == 1992 else 1

    def data_bits(self, coded):
        return coded * self.rate[0] // self.rate[1]

    def decode(self):
        """27.3.12.5: lengths; then decode and descramble."""
        n_cbps = self.size * self.bits * self.streams
        n_cbps_short = self.short * self.bits * self.streams
        n_dbps, n_dbps_short = self.data_bits(n_cbps), self.data_bits(n_cbps_short)

        def last(a, whole, short):
            return whole if a == 4 else a * short

        coded = self.frame.coded = self.coded_bits()
        full = self.symbols - self.block
        last_coded = last(self.a, n_cbps, n_cbps_short)
        bcc = self.user.coding == "bcc"
        per_symbol = 2 * n_dbps if bcc and self.rate == (1, 2) else n_cbps
        coded = np.concatenate([coded[:full, :per_symbol].ravel(), *[
            row[:min(last_coded, per_symbol)] for row in coded[full:]]])
        if bcc:
            count = full * n_dbps + self.block * last(self.a, n_dbps, n_dbps_short)
            bits = viterbi(coded, self.rate)
            assert len(bits) == count
            end = count - TAIL
        else:
            symbols, a = self.symbols, self.a
            if self.extra:
                symbols, a = (symbols, a - 1) if a > 1 else (symbols - self.block, 4)
            count = ((symbols - self.block) * n_dbps
                     + self.block * last(a, n_dbps, n_dbps_short))
            available = ((symbols - self.block) * n_cbps
                         + self.block * last(a, n_cbps, n_cbps_short))
            bits = ldpc(coded, count, available, self.rate)
            end = count
        if self.eht:    # 36.3.13.2: the scrambler has 11 bits of state
            sequence = list(bits[:11])
            for i in range(11, len(bits)):
                sequence.append(sequence[i - 11] ^ sequence[i - 9])
        else:
            sequence = scrambler_sequence(seed_from_service(bits), len(bits))
        bits = bits ^ np.array(sequence, np.uint8)
        self.frame.payload, self.frame.sequence = bits, np.array(sequence)
        length = (end - SERVICE) // 8
        return np.packbits(bits[SERVICE:SERVICE + 8 * length], bitorder="little").tobytes()

    def coded_bits(self):
        """27.3.12.6 to 27.3.12.10 backwards: LLRs of the coded bits (symbols, N_CBPS)."""
        part = self.size // self.segments
        s = max(1, self.bits // 2)
        out = np.zeros((self.symbols, self.size * self.bits * self.streams))
        # Order of coded bits by stream parser: s bits of each stream in turn (21.3.10.6).
        stream_of = np.arange(out.shape[1]) // s % self.streams
        for n in range(self.symbols):
            for stream in range(self.streams):
                halves = np.split(self.points[n, :, stream], self.segments)
                own = [self._segment(half, part, stream) for half in halves]
                if self.segments == 2:    # segment deparser (21.3.10.7)
                    groups = [half.reshape(-1, s) for half in own]
                    own = [np.stack(groups, axis=1).ravel()]
                out[n, stream_of == stream] = own[0]
        return out

    def _segment(self, points, size, stream):
        bits, ru, dcm = self.bits, self.ru_size, self.user.dcm
        order = np.arange(len(points))
        if self.user.coding == "ldpc":    # LDPC tone mapper (27.3.12.10)
            d = TONE_DISTANCE[ru][dcm]
            to = np.array([d * (k % (size // d)) + k * d // size for k in range(size)])
            order = np.concatenate([to, size + to]) if dcm else to
        points = points[order]
        name = self.name
        if dcm:
            copies = dual_choices(name, size)
            first = labels_of(name)
            soft = np.concatenate([soft_bits(np.array([[points[k]], [points[k + size]]]),
                                             np.stack([first, copies[k]])) for k in range(size)])
        else:
            soft = soft_bits(points[None], labels_of(name)[None])
        soft = soft.ravel()
        if self.user.coding == "bcc":
            columns, rotation = COLUMNS[ru][dcm]
            soft = soft[place_of_bit(size, bits, columns, rotation if self.streams > 1 else 0,
                                     stream)]
        return soft


def ldpc(llr, payload, available, rate):
    """19.3.11.7.5 with the numbers of bits of 27.3.12.5.2: decode all codewords.

    Args:
        llr: LLRs of the bits sent, with those of the extra segment.
        payload: N_pld.
        available: N_avbits before the extra segment.
        rate: code rate.
    """
    up, down = rate
    r = up / down
    if available <= 648:
        length = 1296 if available >= payload + 912 * (1 - r) else 648
        words = 1
    elif available <= 1296:
        length = 1944 if available >= payload + 1464 * (1 - r) else 1296
        words = 1
    elif available <= 1944:
        length, words = 1944, 1
    elif available <= 2592:
        length = 1944 if available >= payload + 2916 * (1 - r) else 1296
        words = 2
    else:
        length, words = 1944, -(-payload * down // (1944 * up))
    info = length * up // down
    shortened = max(0, words * info - payload)
    punctured = max(0, words * length - len(llr) - shortened)
    repeated = max(0, len(llr) - words * (length - info) - payload)
    code = coding.get(f"wifi:{length}:{up}/{down}")
    decoder = code.decoder(iterations=50, backend="cpu").decoder
    at, found = 0, []
    for word in range(words):
        short, cut, more = (total // words + (word < total % words)
                            for total in (shortened, punctured, repeated))
        sent = np.concatenate([np.arange(info - short), np.arange(info, length - cut)])
        places = np.resize(sent, len(sent) + more)
        full = np.zeros(length)
        np.add.at(full, places, llr[at:at + len(places)])
        full[info - short:info] = -1e3
        at += len(places)
        decoded = decoder.decode(full[None].astype(np.float32))[0] > 0
        found.append(decoded[:info - short])
    assert at == len(llr)
    return np.concatenate(found).astype(np.uint8)
