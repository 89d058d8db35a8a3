# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a radio for ``mimopack wifi --radio``, through gr-soapy or gr-uhd."""

import time
from contextlib import suppress
from dataclasses import dataclass

from ... import recording
from ...text import rate_in_words
from ...wifi.synchroniser import MAX_RX, SAMPLE_RATES
from .opening import RATES, refuse
from .words import plural

_RATE_TOLERANCE = 1e-4
_TUNING_TOLERANCE = 1e3    # Hz


@dataclass(frozen=True)
class RadioSettings:
    """The user's settings of a radio.

    Attributes:
        device: text of --radio.
        frequency, rate: in Hz.
        antennas: number of antennas.
        gain: tuple of gains in dB, one for all antennas or one for each; "auto"; None keeps the
            device's.
        bandwidth: bandwidth of the analogue filters in Hz; None keeps the device's.
        antenna_names: tuple of names of the device's ports, one for all antennas or one for each;
            None keeps the device's.
        clock_source, time_source: names known to the device; None keeps the device's.
        correction: whether the device corrects DC offset and IQ imbalance if it can.
    """

    device: str
    frequency: float
    rate: float = 20e6
    antennas: int = 1
    gain: tuple | str | None = None
    bandwidth: float | None = None
    antenna_names: tuple | None = None
    clock_source: str | None = None
    time_source: str | None = None
    correction: bool = True

    def each(self, option, values):
        """Return one value per antenna."""
        if len(values) not in (1, self.antennas):
            refuse(f"{option}: got {len(values)} values, must be 1 or one for each of "
                   f"{plural(self.antennas, 'antenna')}")
        return values if len(values) == self.antennas else values * self.antennas


def open_radio(settings):
    """Open a radio and set it up.

    ``driver=uhd,...`` and ``uhd,...`` select a device of UHD, through gr-uhd. ``soapy,...`` and
    anything else are device arguments of SoapySDR, through gr-soapy.

    Returns:
        ``SoapyRadio`` or ``UhdRadio``.

    Raises:
        Refusal: the device cannot be opened, or does not have a setting.
    """
    if settings.rate not in SAMPLE_RATES:
        refuse(f"--rate: got {rate_in_words(settings.rate)}, the receiver supports {RATES}")
    if settings.antennas > MAX_RX:
        refuse(f"--antennas: got {settings.antennas}, the receiver supports at most {MAX_RX}")
    parts = [part.strip() for part in settings.device.split(",") if part.strip()]
    if parts[:1] and parts[0] in ("uhd", "driver=uhd"):
        return UhdRadio(settings, ",".join(parts[1:]))
    if parts[:1] == ["soapy"]:
        parts = parts[1:]
    # SoapySDR ignores a single word as if there were no argument, and opens whichever device is
    # first.
    for part in parts or [settings.device]:
        if "=" not in part:
            refuse(f"--radio: got {part!r}, must be driver=NAME, such as driver=lime, with further "
                   "arguments of SoapySDR after commas; or driver=uhd for UHD's own")
    return SoapyRadio(settings, ",".join(parts))


class _Radio:
    """Common part of both kinds of radios.

    Attributes:
        source: GNU Radio block with one output per antenna.
        words: name of the device, for the report.
        has_time: whether tags carry the time of the samples.
        notes: remarks about the settings.
        bandwidth: bandwidth of the first antenna's filter in Hz, None if it was not set.
    """

    def __init__(self, settings):
        self.settings, self.notes, self.bandwidth = settings, [], None
        self.num_channels, self.sample_rate = settings.antennas, settings.rate
        self.frequency = settings.frequency

    def prepare(self):
        """Set the device's clock and the start of its samples, just before the flowgraph starts.

        Returns:
            A warning, or "".
        """
        return ""

    def _channels(self):
        return range(self.num_channels)

    def _check(self, rates, frequencies):
        """Compare the settings of the device with the requested ones."""
        for rate in rates:
            if abs(rate / self.sample_rate - 1) > _RATE_TOLERANCE:
                refuse(f"--rate: got {self.sample_rate / 1e6:g} MS/s, the device offers "
                       f"{rate / 1e6:.6g} MS/s instead")
        for frequency in frequencies:
            if abs(frequency - self.frequency) > _TUNING_TOLERANCE:
                refuse(f"--frequency: got {self.frequency / 1e6:g} MHz, the device is at "
                       f"{frequency / 1e6:.9g} MHz instead")

    def _bandwidth_within(self, ranges):
        """Refuse a bandwidth outside all ranges (lowest, highest)."""
        bandwidth = self.settings.bandwidth
        if not any(low <= bandwidth <= high for low, high in ranges):
            allowed = ", ".join(f"{low / 1e6:g}" if low == high else
                                f"{low / 1e6:g} to {high / 1e6:g}" for low, high in ranges)
            refuse(f"--bandwidth: got {bandwidth / 1e6:g} MHz, the device has "
                   + (f"{allowed} MHz" if ranges else "no choice"))

    def _note_bandwidth(self, given):
        self.bandwidth = given
        if abs(given / self.settings.bandwidth - 1) > _RATE_TOLERANCE:
            self.notes.append(f"the device's filter is {given / 1e6:g} MHz wide, not "
                              f"{self.settings.bandwidth / 1e6:g} MHz")

    def _choice(self, option, value, allowed):
        if value not in allowed:
            refuse(f"{option}: got {value!r}, the device has "
                   + (", ".join(allowed) if allowed else "no choice"))

    def _gain_within(self, gain, low, high):
        if not low <= gain <= high:
            refuse(f"--gain: got {gain:g} dB, the device has {low:g} to {high:g} dB")


def _reason(error):
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__


class _refusing:
    """Refuse a setting that the device rejects, and name its option."""

    def __init__(self, option):
        self._option = option

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _traceback):
        if kind is not None and issubclass(kind, (RuntimeError, ValueError, IndexError, KeyError)):
            refuse(f"{self._option}: {_reason(error).removeprefix('source: ')}")


class SoapyRadio(_Radio):
    """A device of SoapySDR.

    Args:
        settings: ``RadioSettings``.
        arguments: device arguments of SoapySDR.
    """

    def __init__(self, settings, arguments):
        super().__init__(settings)
        try:
            from gnuradio import soapy
        except ImportError as error:
            refuse(f"--radio: gr-soapy is missing ({_reason(error)}): it is part of GNU Radio 3.9 "
                   "and later and needs SoapySDR, apt install gnuradio libsoapysdr0.8")
        self.words = arguments
        try:
            self.source = soapy.source(arguments, "fc32", self.num_channels, "", "", [""], [""])
        except (RuntimeError, ValueError) as error:
            self._refuse_opening(arguments, _reason(error).removeprefix("source: "))
        source = self.source
        if settings.clock_source is not None:
            self._choice("--clock-source", settings.clock_source, source.list_clock_sources())
            source.set_clock_source(settings.clock_source)
        if settings.time_source is not None:
            self._choice("--time-source", settings.time_source, source.list_time_sources())
            source.set_time_source(settings.time_source)
        for channel in self._channels():
            with _refusing("--rate"):
                source.set_sample_rate(channel, self.sample_rate)
        for channel, name in self._named():
            self._choice("--antenna-names", name, source.list_antennas(channel))
            source.set_antenna(channel, name)
        for channel in self._channels():
            with _refusing("--frequency"):
                source.set_frequency(channel, self.frequency)
        self._set_gains()
        if settings.bandwidth is not None:
            for channel in self._channels():
                self._bandwidth_within([(one.minimum(), one.maximum())
                                        for one in source.get_bandwidth_range(channel)])
                with _refusing("--bandwidth"):
                    source.set_bandwidth(channel, settings.bandwidth)
            self._note_bandwidth(source.get_bandwidth(0))
        for channel in self._channels():
            if source.has_dc_offset_mode(channel):
                source.set_dc_offset_mode(channel, settings.correction)
            if source.has_iq_balance_mode(channel):
                source.set_iq_balance_mode(channel, settings.correction)
        self._check([source.get_sample_rate(channel) for channel in self._channels()],
                    [source.get_frequency(channel) for channel in self._channels()])
        self.has_time = source.has_hardware_time("")
        if not self.has_time:
            self.notes.append("the device has no clock: times are the host's, and lost samples are "
                              "not noticed")

    def prepare(self):
        if not self.has_time:
            return ""
        if self.settings.time_source in (None, "internal", "none"):
            try:
                self.source.set_hardware_time(time.time_ns(), "")
            except (RuntimeError, ValueError) as error:
                return f"the device's clock cannot be set, times are its own: {_reason(error)}"
            return ""
        with _refusing("--time-source"):
            second = _before_a_pulse()
            self.source.set_hardware_time((second + 1) * 10**9, "PPS")
            _after_a_pulse(second + 1)
        return ""

    def _named(self):
        names = self.settings.antenna_names
        return [] if names is None else enumerate(self.settings.each("--antenna-names", names))

    def _set_gains(self):
        gain, source = self.settings.gain, self.source
        if gain is None:
            return
        if gain == "auto":
            for channel in self._channels():
                if not source.has_gain_mode(channel):
                    refuse("--gain: the device has no automatic gain, give the gain in dB")
                source.set_gain_mode(channel, True)
            return
        for channel, one in enumerate(self.settings.each("--gain", gain)):
            allowed = source.get_gain_range(channel)
            self._gain_within(one, allowed.minimum(), allowed.maximum())
            source.set_gain_mode(channel, False)
            source.set_gain(channel, one)

    def _refuse_opening(self, arguments, reason):
        if "no match" in reason:
            refuse(f"--radio: no device for {arguments!r}: is it plugged in, and its SoapySDR "
                   "module installed? SoapySDRUtil --find lists the devices, --info the modules")
        if "channels available" in reason:
            most = "".join(filter(str.isdigit, reason))
            refuse(f"--antennas: got {self.num_channels}, the device has {most}")
        refuse(f"--radio: {reason}")


class UhdRadio(_Radio):
    """A device of UHD, such as a USRP.

    Args:
        settings: ``RadioSettings``.
        arguments: device address of UHD; several devices as addr0=...,addr1=...
    """

    has_time = True

    def __init__(self, settings, arguments):
        super().__init__(settings)
        try:
            from gnuradio import uhd
        except ImportError as error:
            refuse(f"--radio: gr-uhd is missing ({_reason(error)}): apt install gnuradio uhd-host")
        self._uhd, self.words = uhd, f"UHD, {arguments}" if arguments else "UHD"
        try:
            self.source = uhd.usrp_source(arguments, uhd.stream_args(
                cpu_format="fc32", channels=list(self._channels())))
        except (RuntimeError, ValueError, IndexError) as error:
            self._refuse_opening(arguments, _reason(error), str(error))
        source = self.source
        boards = range(source.get_num_mboards())
        self._pulses = settings.time_source not in (None, "internal", "none") or len(boards) > 1
        for board in boards:
            for option, name, allowed, apply in (
                    ("--clock-source", settings.clock_source, source.get_clock_sources,
                     source.set_clock_source),
                    ("--time-source", settings.time_source, source.get_time_sources,
                     source.set_time_source)):
                if name is not None:
                    self._choice(option, name, allowed(board))
                    apply(name, board)
        with _refusing("--rate"):
            source.set_samp_rate(self.sample_rate)
        if settings.antenna_names is not None:
            for channel, name in enumerate(settings.each("--antenna-names",
                                                         settings.antenna_names)):
                self._choice("--antenna-names", name, source.get_antennas(channel))
                source.set_antenna(name, channel)
        for channel in self._channels():
            with _refusing("--frequency"):
                source.set_center_freq(self.frequency, channel)
            self._set_gain(channel)
            if settings.bandwidth is not None:
                allowed = source.get_bandwidth_range(channel)
                self._bandwidth_within([(allowed.start(), allowed.stop())])
                with _refusing("--bandwidth"):
                    source.set_bandwidth(settings.bandwidth, channel)
            # Not every front end has these corrections.
            with suppress(RuntimeError):
                source.set_auto_dc_offset(settings.correction, channel)
            with suppress(RuntimeError):
                source.set_auto_iq_balance(settings.correction, channel)
        if settings.bandwidth is not None:
            self._note_bandwidth(source.get_bandwidth(0))
        self._check([source.get_samp_rate()],
                    [source.get_center_freq(channel) for channel in self._channels()])

    def prepare(self):
        source, uhd = self.source, self._uhd
        if self._pulses:
            second = _before_a_pulse()
            source.set_time_unknown_pps(uhd.time_spec(second + 1))
            _after_a_pulse(second + 1)
        else:
            source.set_time_now(uhd.time_spec(time.time()))
        # Start all channels at the same sample.
        source.set_start_time(source.get_time_now() + uhd.time_spec(0.5))
        return ""

    def _set_gain(self, channel):
        gain, source = self.settings.gain, self.source
        if gain is None:
            return
        if gain == "auto":
            with _refusing("--gain"):
                source.set_rx_agc(True, channel)
            return
        one = self.settings.each("--gain", gain)[channel]
        allowed = source.get_gain_range(channel)
        self._gain_within(one, allowed.start(), allowed.stop())
        source.set_gain(one, channel)

    def _refuse_opening(self, arguments, reason, text):
        if "No devices found" in text:
            refuse(f"--radio: UHD finds no device{f' {arguments!r}' if arguments else ''}: is it "
                   "plugged in, and are its images installed (uhd_images_downloader)? "
                   "uhd_find_devices lists the devices")
        if "channel" in text.lower():
            refuse(f"--antennas: got {self.num_channels}, the device has fewer: {reason}")
        refuse(f"--radio: {reason}")


def _before_a_pulse():
    """Wait until the middle of a second of the host's clock; return that second."""
    time.sleep((0.5 - time.time()) % 1)
    return int(time.time())


def _after_a_pulse(second):
    """Wait until the next second has certainly begun."""
    time.sleep(max(0.0, second + 0.2 - time.time()))


def describe(radio):
    """Describe a radio and its settings in one line."""
    settings = radio.settings
    gain = settings.gain
    words = ("default gain of the device" if gain is None else "automatic gain" if gain == "auto"
             else f"gain {', '.join(f'{one:g}' for one in gain)} dB")
    return (f"{recording.printable(radio.words)}: {plural(radio.num_channels, 'antenna')}, "
            f"{radio.sample_rate / 1e6:g} MS/s, {radio.frequency / 1e6:g} MHz, {words}"
            + (f", filters {radio.bandwidth / 1e6:g} MHz wide" if radio.bandwidth else ""))
