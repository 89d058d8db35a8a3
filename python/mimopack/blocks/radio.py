# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open and set up a radio through gr-soapy or gr-uhd."""

import re
import time
from contextlib import contextmanager, suppress
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

    A subclass has the methods ``_sources``, ``_set_source``, ``_set_rate``, ``_antennas``,
    ``_set_antenna``, ``_set_frequency``, ``_get_frequency``, ``_gain_range``, ``_set_gain``,
    ``_bandwidths``, ``_set_bandwidth``, ``_set_correction`` and ``_rates``, which call the source
    of one library for a channel.

    Attributes:
        settings: ``RadioSettings`` in use.
        source: GNU Radio block with one output per antenna.
        words: name of the device, for the report.
        has_time: whether tags carry the time of the samples.
        notes: remarks about the settings.
        bandwidth: bandwidth of the first antenna's filter in Hz, None if it was not set.
    """

    boards = (0,)

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
            ValueError: the device does not have a setting. It keeps its present ones.
        """
        before, self.settings = self.settings, replace(self.settings, **settings)
        done = []
        try:
            if "gain" in settings:
                self._check_gains()
            # The gain comes last: a gain that the device chose itself could not be put back.
            for name, apply in (("frequency", self._tune), ("gain", self._set_gains)):
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

    def _set_up(self):
        """Apply all settings, and compare them with those of the device."""
        settings = self.settings
        for name in ("clock_source", "time_source"):
            value = getattr(settings, name)
            for board in () if value is None else self.boards:
                _check_choice(name, value, self._sources(name, board))
                with _naming(name):
                    self._set_source(name, value, board)
        with _naming("sample_rate"):
            self._set_rate()
        names = settings.antenna_names
        for channel, name in enumerate(() if names is None else settings.each("antenna_names",
                                                                              names)):
            _check_choice("antenna_names", name, self._antennas(channel))
            with _naming("antenna_names"):
                self._set_antenna(channel, name)
        self._tune()
        self._check_gains()
        self._set_gains()
        for channel in self._channels():
            if settings.bandwidth is not None:
                self._check_bandwidth(channel)
                with _naming("bandwidth"):
                    self._set_bandwidth(channel)
            self._set_correction(channel)
        if settings.bandwidth is not None:
            self.bandwidth = self.source.get_bandwidth(0)
            if abs(self.bandwidth / settings.bandwidth - 1) > _RATE_TOLERANCE:
                self.notes.append(f"the device's filter is {self.bandwidth / 1e6:g} MHz wide, not "
                                  f"{settings.bandwidth / 1e6:g} MHz")
        for rate in self._rates():
            if abs(rate / self.sample_rate - 1) > _RATE_TOLERANCE:
                raise ValueError(f"sample_rate: got {self.sample_rate / 1e6:g} MS/s, the device "
                                 f"offers {rate / 1e6:.6g} MS/s instead")

    def _channels(self):
        return range(self.num_channels)

    def _tune(self):
        for channel in self._channels():
            with _naming("frequency"):
                self._set_frequency(channel)
        for channel in self._channels():
            frequency = self._get_frequency(channel)
            if abs(frequency - self.frequency) > _TUNING_TOLERANCE:
                raise ValueError(f"frequency: got {self.frequency / 1e6:g} MHz, the device is at "
                                 f"{frequency / 1e6:.9g} MHz instead")

    def _check_gains(self):
        gain = self.settings.gain
        for channel in () if gain in (None, "auto") else self._channels():
            value, (low, high) = self.settings.each("gain", gain)[channel], self._gain_range(
                channel)
            if not low <= value <= high:
                raise ValueError(f"gain: got {value:g} dB, the device has {low:g} to {high:g} dB")

    def _set_gains(self):
        gain = self.settings.gain
        for channel in () if gain is None else self._channels():
            with _naming("gain"):
                self._set_gain(channel, gain if gain == "auto" else
                               self.settings.each("gain", gain)[channel])

    def _check_bandwidth(self, channel):
        bandwidth, ranges = self.settings.bandwidth, self._bandwidths(channel)
        if not any(low <= bandwidth <= high for low, high in ranges):
            allowed = ", ".join(f"{low / 1e6:g}" if low == high else
                                f"{low / 1e6:g} to {high / 1e6:g}" for low, high in ranges)
            raise ValueError(f"bandwidth: got {bandwidth / 1e6:g} MHz, the device has "
                             + (f"{allowed} MHz" if ranges else "no choice"))


def _check_choice(name, value, allowed):
    if value not in allowed:
        raise ValueError(f"{name}: got {value!r}, the device has "
                         + (", ".join(allowed) if allowed else "no choice"))


def _reason(error):
    """Return the last line of an error's text, without the names of UHD's exceptions."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^(\w+Error: )+(?=.)", "", lines[-1])


@contextmanager
def _naming(name):
    """Raise ValueError with the name of the setting that the device rejects."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, KeyError) as error:
        reason = _reason(error).removeprefix("source: ").removeprefix(f"{name}: ")
        raise ValueError(f"{name}: {reason}") from error


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
        self._set_up()
        self.has_time = self.source.has_hardware_time("")
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

    def _sources(self, name, _board):
        return getattr(self.source, f"list_{name}s")()

    def _set_source(self, name, value, _board):
        getattr(self.source, f"set_{name}")(value)

    def _set_rate(self):
        for channel in self._channels():
            self.source.set_sample_rate(channel, self.sample_rate)

    def _rates(self):
        return map(self.source.get_sample_rate, self._channels())

    def _antennas(self, channel):
        return self.source.list_antennas(channel)

    def _set_antenna(self, channel, name):
        self.source.set_antenna(channel, name)

    def _set_frequency(self, channel):
        self.source.set_frequency(channel, self.frequency)

    def _get_frequency(self, channel):
        return self.source.get_frequency(channel)

    def _check_gains(self):
        if self.settings.gain == "auto" and not all(map(self.source.has_gain_mode,
                                                        self._channels())):
            raise ValueError("gain: the device has no automatic gain, give the gain in dB")
        super()._check_gains()

    def _gain_range(self, channel):
        allowed = self.source.get_gain_range(channel)
        return allowed.minimum(), allowed.maximum()

    def _set_gain(self, channel, gain):
        self.source.set_gain_mode(channel, gain == "auto")
        if gain != "auto":
            self.source.set_gain(channel, gain)

    def _bandwidths(self, channel):
        return [(part.minimum(), part.maximum())
                for part in self.source.get_bandwidth_range(channel)]

    def _set_bandwidth(self, channel):
        self.source.set_bandwidth(channel, self.settings.bandwidth)

    def _set_correction(self, channel):
        if self.source.has_dc_offset_mode(channel):
            self.source.set_dc_offset_mode(channel, self.settings.correction)
        if self.source.has_iq_balance_mode(channel):
            self.source.set_iq_balance_mode(channel, self.settings.correction)

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
        self.boards = range(self.source.get_num_mboards())
        self._pulses = (settings.time_source not in (None, "internal", "none")
                        or len(self.boards) > 1)
        self._automatic = set()    # channels whose gain the device controls
        try:
            self._set_up()
        except ValueError as error:
            # gr-uhd looks at the other antennas only when their rate is set.
            if "channel" in str(error).lower() and "out of range" in str(error).lower():
                self._refuse_number(_reason(error.__cause__ or error))
            raise
        self._check_reference()

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

    def _check_reference(self):
        """Note boards that do not lock to their reference clock within a second."""
        clock = self.settings.clock_source
        if clock in (None, "internal"):
            return
        unlocked = [board for board in self.boards
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

    def _sources(self, name, board):
        return getattr(self.source, f"get_{name}s")(board)

    def _set_source(self, name, value, board):
        getattr(self.source, f"set_{name}")(value, board)

    def _set_rate(self):
        self.source.set_samp_rate(self.sample_rate)

    def _rates(self):
        return [self.source.get_samp_rate()]

    def _antennas(self, channel):
        return self.source.get_antennas(channel)

    def _set_antenna(self, channel, name):
        self.source.set_antenna(name, channel)

    def _set_frequency(self, channel):
        self.source.set_center_freq(self.frequency, channel)

    def _get_frequency(self, channel):
        return self.source.get_center_freq(channel)

    def _gain_range(self, channel):
        allowed = self.source.get_gain_range(channel)
        return allowed.start(), allowed.stop()

    def _set_gain(self, channel, gain):
        if gain == "auto":
            self.source.set_rx_agc(True, channel)
            self._automatic.add(channel)
            return
        if channel in self._automatic:
            self.source.set_rx_agc(False, channel)
            self._automatic.remove(channel)
        self.source.set_gain(gain, channel)

    def _bandwidths(self, channel):
        allowed = self.source.get_bandwidth_range(channel)
        return [(allowed.start(), allowed.stop())]

    def _set_bandwidth(self, channel):
        self.source.set_bandwidth(self.settings.bandwidth, channel)

    def _set_correction(self, channel):
        # Not every front end has these corrections.
        with suppress(RuntimeError):
            self.source.set_auto_dc_offset(self.settings.correction, channel)
        with suppress(RuntimeError):
            self.source.set_auto_iq_balance(self.settings.correction, channel)

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
