# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open and set up a radio through gr-soapy or gr-uhd."""

import re
import time
from contextlib import suppress
from dataclasses import dataclass, replace

from ..text import plural

_RATE_TOLERANCE = 1e-4
_TUNING_TOLERANCE = 1e3    # Hz
_LOCKING = 1.0    # seconds for a device to lock to its reference clock


@dataclass(frozen=True)
class RadioSettings:
    """The user's settings of a radio.

    Attributes:
        device: ``driver=NAME`` with further arguments of SoapySDR after commas, or ``driver=uhd``
            with a device address of UHD.
        frequency, sample_rate: in Hz.
        num_rx: number of antennas.
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
    sample_rate: float = 20e6
    num_rx: int = 1
    gain: tuple | str | None = None
    bandwidth: float | None = None
    antenna_names: tuple | None = None
    clock_source: str | None = None
    time_source: str | None = None
    correction: bool = True

    def each(self, name, values):
        """Return one value per antenna."""
        if len(values) not in (1, self.num_rx):
            raise ValueError(f"{name}: got {len(values)} values, must be 1 or one for each of "
                             f"{plural(self.num_rx, 'antenna')}")
        return values if len(values) == self.num_rx else values * self.num_rx


def open_radio(settings):
    """Open a radio and set it up.

    ``driver=uhd,...`` and ``uhd,...`` select a device of UHD, through gr-uhd. ``soapy,...`` and
    anything else are device arguments of SoapySDR, through gr-soapy.

    Returns:
        ``SoapyRadio`` or ``UhdRadio``.

    Raises:
        ValueError: the device cannot be opened, or does not have a setting. The message begins with
            the name of the setting.
    """
    kind, *parts = device_parts(settings.device)
    if kind == "uhd":
        return UhdRadio(settings, ",".join(parts))
    # SoapySDR ignores a single word as if there were no argument. Without a driver, it opens
    # whichever device is first.
    words = [part for part in parts if "=" not in part]
    if words or not any(re.match(r"driver *= *\S", part) for part in parts):
        raise ValueError(
            f"device: got {(words or [settings.device])[0]!r}, must be driver=NAME, such as "
            "driver=lime, with further arguments of SoapySDR after commas; or driver=uhd for "
            "UHD's own")
    return SoapyRadio(settings, ",".join(parts))


def device_parts(device):
    """Return "uhd" or "soapy", and each of the device's arguments."""
    parts = [part.strip() for part in device.split(",") if part.strip()]
    if parts[:1] and parts[0] in ("uhd", "driver=uhd"):
        return ["uhd", *parts[1:]]
    return parts if parts[:1] == ["soapy"] else ["soapy", *parts]


class _Radio:
    """Common part of both kinds of radios.

    Attributes:
        settings: ``RadioSettings`` in use.
        source: GNU Radio block with one output per antenna.
        words: name of the device, for the report.
        has_time: whether tags carry the time of the samples.
        notes: remarks about the settings.
        bandwidth: bandwidth of the first antenna's filter in Hz, None if it was not set.
    """

    def __init__(self, settings):
        self.settings, self.notes, self.bandwidth = settings, [], None

    @property
    def num_channels(self):
        """Number of antennas."""
        return self.settings.num_rx

    @property
    def sample_rate(self):
        """Sample rate in samples per second."""
        return self.settings.sample_rate

    @property
    def frequency(self):
        """Centre frequency in Hz."""
        return self.settings.frequency

    def change(self, **settings):
        """Change frequency, gain or both while the radio runs.

        Args:
            frequency: in Hz.
            gain: a tuple of values in dB, "auto", or None to leave it as it is.

        Raises:
            ValueError: the device does not have a setting. It keeps all its present ones.
        """
        before, self.settings = self.settings, replace(self.settings, **settings)
        done = []
        try:
            if "gain" in settings:
                self._check_gains()
            # The gain comes last: a gain that the device chose itself could not be put back.
            for name, apply in (("frequency", self._retune), ("gain", self._set_gains)):
                if name in settings:
                    done.append(apply)
                    apply()
        except ValueError:
            self.settings = before
            for apply in done:
                with suppress(ValueError):
                    apply()
            raise

    def set_clock(self):
        """Set the device's clock.

        Returns:
            A warning, or "".

        Raises:
            ValueError: the clock cannot be set at a pulse of the time source.
        """
        raise NotImplementedError

    def prepare(self):
        """Set the device's clock and the start of its samples, just before the flowgraph starts.

        Returns, raises:
            As ``set_clock``.
        """
        return self.set_clock()

    def _retune(self):
        self._tune()
        self._check_tuning()

    def _channels(self):
        return range(self.num_channels)

    def _check_rates(self, rates):
        """Compare the device's sample rates with the requested one."""
        for rate in rates:
            if abs(rate / self.sample_rate - 1) > _RATE_TOLERANCE:
                raise ValueError(f"sample_rate: got {self.sample_rate / 1e6:g} MS/s, the device "
                                 f"offers {rate / 1e6:.6g} MS/s instead")

    def _check_frequencies(self, frequencies):
        """Compare the device's frequencies with the requested one."""
        for frequency in frequencies:
            if abs(frequency - self.frequency) > _TUNING_TOLERANCE:
                raise ValueError(f"frequency: got {self.frequency / 1e6:g} MHz, the device is at "
                                 f"{frequency / 1e6:.9g} MHz instead")

    def _bandwidth_within(self, ranges):
        """Refuse a bandwidth outside all ranges (lowest, highest)."""
        bandwidth = self.settings.bandwidth
        if not any(low <= bandwidth <= high for low, high in ranges):
            allowed = ", ".join(f"{low / 1e6:g}" if low == high else
                                f"{low / 1e6:g} to {high / 1e6:g}" for low, high in ranges)
            raise ValueError(f"bandwidth: got {bandwidth / 1e6:g} MHz, the device has "
                             + (f"{allowed} MHz" if ranges else "no choice"))

    def _note_bandwidth(self, given):
        self.bandwidth = given
        if abs(given / self.settings.bandwidth - 1) > _RATE_TOLERANCE:
            self.notes.append(f"the device's filter is {given / 1e6:g} MHz wide, not "
                              f"{self.settings.bandwidth / 1e6:g} MHz")

    def _choice(self, name, value, allowed):
        if value not in allowed:
            raise ValueError(f"{name}: got {value!r}, the device has "
                             + (", ".join(allowed) if allowed else "no choice"))

    def _gain_within(self, gain, low, high):
        if not low <= gain <= high:
            raise ValueError(f"gain: got {gain:g} dB, the device has {low:g} to {high:g} dB")


def _reason(error):
    """Return the last line of an error's text, without the names of UHD's exceptions."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^(\w+Error: )+(?=.)", "", lines[-1])


class _naming:
    """Raise ValueError with the name of the setting that the device rejects."""

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _traceback):
        if kind is not None and issubclass(kind, (RuntimeError, ValueError, IndexError, KeyError)):
            reason = _reason(error).removeprefix("source: ").removeprefix(f"{self._name}: ")
            raise ValueError(f"{self._name}: {reason}") from error


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
            raise ValueError(
                f"device: gr-soapy is missing ({_reason(error)}): it is part of GNU Radio 3.9 and "
                "later and needs SoapySDR, apt install gnuradio libsoapysdr0.8") from error
        self.words = arguments
        try:
            self.source = soapy.source(arguments, "fc32", self.num_channels, "", "", [""], [""])
        except (RuntimeError, ValueError) as error:
            self._refuse_opening(arguments, _reason(error).removeprefix("source: "))
        source = self.source
        if settings.clock_source is not None:
            self._choice("clock_source", settings.clock_source, source.list_clock_sources())
            with _naming("clock_source"):
                source.set_clock_source(settings.clock_source)
        if settings.time_source is not None:
            self._choice("time_source", settings.time_source, source.list_time_sources())
            with _naming("time_source"):
                source.set_time_source(settings.time_source)
        for channel in self._channels():
            with _naming("sample_rate"):
                source.set_sample_rate(channel, self.sample_rate)
        for channel, name in self._named():
            self._choice("antenna_names", name, source.list_antennas(channel))
            with _naming("antenna_names"):
                source.set_antenna(channel, name)
        self._tune()
        self._check_gains()
        self._set_gains()
        if settings.bandwidth is not None:
            for channel in self._channels():
                self._bandwidth_within([(one.minimum(), one.maximum())
                                        for one in source.get_bandwidth_range(channel)])
                with _naming("bandwidth"):
                    source.set_bandwidth(channel, settings.bandwidth)
            self._note_bandwidth(source.get_bandwidth(0))
        for channel in self._channels():
            if source.has_dc_offset_mode(channel):
                source.set_dc_offset_mode(channel, settings.correction)
            if source.has_iq_balance_mode(channel):
                source.set_iq_balance_mode(channel, settings.correction)
        self._check_rates([source.get_sample_rate(channel) for channel in self._channels()])
        self._check_tuning()
        self.has_time = source.has_hardware_time("")
        if not self.has_time:
            self.notes.append("the device has no clock: times are the host's, and lost samples are "
                              "not noticed")

    def set_clock(self):
        if not self.has_time:
            return ""
        if self.settings.time_source in (None, "internal", "none"):
            try:
                self.source.set_hardware_time(time.time_ns(), "")
            except (RuntimeError, ValueError) as error:
                return f"the device's clock cannot be set, times are its own: {_reason(error)}"
            return ""
        with _naming("time_source"):
            second = _before_a_pulse()
            self.source.set_hardware_time((second + 1) * 10**9, "PPS")
            _after_a_pulse(second + 1)
        return ""

    def _named(self):
        names = self.settings.antenna_names
        return [] if names is None else enumerate(self.settings.each("antenna_names", names))

    def _tune(self):
        for channel in self._channels():
            with _naming("frequency"):
                self.source.set_frequency(channel, self.frequency)

    def _check_tuning(self):
        self._check_frequencies([self.source.get_frequency(channel)
                                 for channel in self._channels()])

    def _set_gains(self):
        gain, source = self.settings.gain, self.source
        for channel in () if gain is None else self._channels():
            with _naming("gain"):
                source.set_gain_mode(channel, gain == "auto")
                if gain != "auto":
                    source.set_gain(channel, self.settings.each("gain", gain)[channel])

    def _check_gains(self):
        gain, source = self.settings.gain, self.source
        if gain == "auto" and not all(map(source.has_gain_mode, self._channels())):
            raise ValueError("gain: the device has no automatic gain, give the gain in dB")
        if gain not in (None, "auto"):
            for channel, one in enumerate(self.settings.each("gain", gain)):
                allowed = source.get_gain_range(channel)
                self._gain_within(one, allowed.minimum(), allowed.maximum())

    def _refuse_opening(self, arguments, reason):
        if "no match" in reason:
            hint = ("is the folder of its SoapySDR module in SOAPY_SDR_PLUGIN_PATH?"
                    if "driver=mimopack" in arguments else
                    "is it plugged in, and its SoapySDR module installed?")
            raise ValueError(f"device: no device for {arguments!r}: {hint} SoapySDRUtil --find "
                             "lists the devices, --info the modules")
        if "channels available" in reason:
            most = "".join(filter(str.isdigit, reason))
            raise ValueError(f"num_rx: got {self.num_channels}, the device has {most}")
        raise ValueError(f"device: {reason}")


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
            raise ValueError(f"device: gr-uhd is missing ({_reason(error)}): "
                             "apt install gnuradio uhd-host") from error
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
            for name, value, allowed, apply in (
                    ("clock_source", settings.clock_source, source.get_clock_sources,
                     source.set_clock_source),
                    ("time_source", settings.time_source, source.get_time_sources,
                     source.set_time_source)):
                if value is not None:
                    self._choice(name, value, allowed(board))
                    with _naming(name):
                        apply(value, board)
        try:
            with _naming("sample_rate"):
                source.set_samp_rate(self.sample_rate)
        except ValueError as error:
            # gr-uhd has looked only at the first antenna so far.
            if "channel" in str(error).lower() and "out of range" in str(error).lower():
                self._refuse_number(_reason(error.__cause__))
            raise
        if settings.antenna_names is not None:
            for channel, name in enumerate(settings.each("antenna_names",
                                                         settings.antenna_names)):
                self._choice("antenna_names", name, source.get_antennas(channel))
                with _naming("antenna_names"):
                    source.set_antenna(name, channel)
        self._automatic = set()    # channels whose gain the device controls
        for channel in self._channels():
            self._tune_channel(channel)
            self._check_gain(channel)
            self._set_gain(channel)
            if settings.bandwidth is not None:
                allowed = source.get_bandwidth_range(channel)
                self._bandwidth_within([(allowed.start(), allowed.stop())])
                with _naming("bandwidth"):
                    source.set_bandwidth(settings.bandwidth, channel)
            # Not every front end has these corrections.
            with suppress(RuntimeError):
                source.set_auto_dc_offset(settings.correction, channel)
            with suppress(RuntimeError):
                source.set_auto_iq_balance(settings.correction, channel)
        if settings.bandwidth is not None:
            self._note_bandwidth(source.get_bandwidth(0))
        self._check_rates([source.get_samp_rate()])
        self._check_tuning()
        self._check_reference(boards)

    def set_clock(self):
        source, uhd = self.source, self._uhd
        if self._pulses:
            with _naming("time_source"):
                # UHD waits for the next pulse, and then lets the device set its clock at the one
                # after it.
                second = _before_a_pulse() + 2
                source.set_time_unknown_pps(uhd.time_spec(second))
                _after_a_pulse(second)
        else:
            source.set_time_now(uhd.time_spec(time.time()))
        return ""

    def prepare(self):
        warning = self.set_clock()
        # Start all channels at the same sample.
        self.source.set_start_time(self.source.get_time_now() + self._uhd.time_spec(0.5))
        return warning

    def _check_reference(self, boards):
        """Note boards that do not lock to their reference clock within a second."""
        clock = self.settings.clock_source
        if clock in (None, "internal"):
            return
        unlocked = [board for board in boards
                    if "ref_locked" in self.source.get_mboard_sensor_names(board)]
        end = time.monotonic() + _LOCKING
        while True:
            unlocked = [board for board in unlocked
                        if not self.source.get_mboard_sensor("ref_locked", board).to_bool()]
            if not unlocked or time.monotonic() > end:
                break
            time.sleep(0.05)
        self.notes += [f"board {board} is not locked to its reference clock, {clock!r}: is it "
                       "connected?" for board in unlocked]

    def _tune(self):
        for channel in self._channels():
            self._tune_channel(channel)

    def _tune_channel(self, channel):
        with _naming("frequency"):
            self.source.set_center_freq(self.frequency, channel)

    def _check_tuning(self):
        self._check_frequencies([self.source.get_center_freq(channel)
                                 for channel in self._channels()])

    def _check_gains(self):
        for channel in self._channels():
            self._check_gain(channel)

    def _set_gains(self):
        for channel in self._channels():
            self._set_gain(channel)

    def _check_gain(self, channel):
        gain = self.settings.gain
        if gain not in (None, "auto"):
            allowed = self.source.get_gain_range(channel)
            self._gain_within(self.settings.each("gain", gain)[channel], allowed.start(),
                              allowed.stop())

    def _set_gain(self, channel):
        gain, source = self.settings.gain, self.source
        if gain is None:
            return
        with _naming("gain"):
            if gain == "auto":
                source.set_rx_agc(True, channel)
                self._automatic.add(channel)
                return
            if channel in self._automatic:
                source.set_rx_agc(False, channel)
                self._automatic.remove(channel)
            source.set_gain(self.settings.each("gain", gain)[channel], channel)

    def _refuse_opening(self, arguments, reason, text):
        if "No devices found" in text:
            raise ValueError(
                f"device: UHD finds no device{f' {arguments!r}' if arguments else ''}: is it "
                "plugged in, and are its images installed (uhd_images_downloader)? "
                "uhd_find_devices lists the devices")
        if "channel" in text.lower():
            self._refuse_number(reason)
        raise ValueError(f"device: {reason}")

    def _refuse_number(self, reason):
        raise ValueError(f"num_rx: got {self.num_channels}, the device has fewer: {reason}")


def _before_a_pulse():
    """Wait until the middle of a second of the host's clock; return that second."""
    time.sleep((0.5 - time.time()) % 1)
    return int(time.time())


def _after_a_pulse(second):
    """Wait until the next second has certainly begun."""
    time.sleep(max(0.0, second + 0.2 - time.time()))
