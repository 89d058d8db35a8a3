# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open and set up a radio through gr-soapy or gr-uhd."""

import re
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from ..text import plural

_RATE_TOLERANCE = 1e-4
_TUNING_TOLERANCE = 1e3    # Hz
_LOCKING = 1.0    # seconds for a device to lock to its reference clock


@dataclass(frozen=True)
class RadioSettings:
    """The user's settings of a radio: the arguments of ``radio_source``, already checked.

    ``gain`` and ``antenna_names`` are tuples with one value for all antennas or one for each; or
    None, and for ``gain`` also "auto".
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
    parts = [part.strip() for part in settings.device.split(",") if part.strip()]
    if parts[:1] in (["uhd"], ["driver=uhd"]):
        return UhdRadio(settings, ",".join(parts[1:]))
    if parts[:1] == ["soapy"]:
        del parts[0]
    # SoapySDR ignores a single word as if there were no argument. Without a driver, it opens
    # whichever device is first.
    words = [part for part in parts if "=" not in part]
    if words or not any(re.match(r"driver *= *\S", part) for part in parts):
        raise ValueError(
            f"device: got {(words or [settings.device])[0]!r}, must be driver=NAME, such as "
            "driver=lime, with further arguments of SoapySDR after commas; or driver=uhd for "
            "UHD's own")
    return SoapyRadio(settings, ",".join(parts))


class _Radio:
    """Common part of both kinds of radios.

    Attributes:
        settings: ``RadioSettings``.
        num_channels: number of antennas.
        sample_rate, frequency, gain: as in the settings; the last two change.
        source: GNU Radio block with one output per antenna.
        words: name of the device, for the report.
        has_time: whether tags carry the time of the samples.
        notes: remarks about the settings.
        bandwidth: bandwidth of the first antenna's filter in Hz, None if it was not set.
    """

    SETTERS = {}    # {setting of a channel: method of the source}

    def __init__(self, settings):
        self.settings, self.notes, self.bandwidth = settings, [], None
        self.num_channels, self.sample_rate = settings.num_rx, settings.sample_rate
        self.frequency, self.gain = settings.frequency, settings.gain

    def set_frequency(self, frequency):
        """Tune to a frequency in Hz.

        Raises:
            ValueError: the device does not have the frequency. It keeps its present one.
        """
        before, self.frequency = self.frequency, frequency
        try:
            self._tune()
        except ValueError:
            self.frequency = before
            with suppress(ValueError):
                self._tune()
            raise

    def set_gain(self, gain):
        """Set the gain: a tuple of values in dB, "auto", or None to leave it as it is.

        Raises:
            ValueError: the device does not have the gain. It keeps its present one.
        """
        gains = () if gain in (None, "auto") else self._each("gain", gain)
        for channel, value in enumerate(gains):
            low, high = self._gain_range(channel)
            if not low <= value <= high:
                raise ValueError(f"gain: got {value:g} dB, the device has {low:g} to {high:g} dB")
        for channel in () if gain is None else self._channels():
            if self._automatic or gain == "auto":
                self._set("gain", gain == "auto", channel, "gain_mode")
            if gains:
                self._set("gain", gains[channel], channel)
        self._automatic = gain == "auto" or gain is None and self._automatic
        self.gain = gain

    def set_clock(self):
        """Set the device's clock, just before the flowgraph starts.

        Returns:
            A warning, or "".

        Raises:
            ValueError: the clock cannot be set at a pulse of the time source.
        """
        raise NotImplementedError

    def _set_up(self):
        """Apply all settings, and compare them with those of the device."""
        settings = self.settings
        for name in ("clock_source", "time_source"):
            if getattr(settings, name) is not None:
                with _naming(name):
                    self._set_reference(name, getattr(settings, name))
        for rate in self._set_rate():
            if abs(rate / self.sample_rate - 1) > _RATE_TOLERANCE:
                raise ValueError(f"sample_rate: got {self.sample_rate / 1e6:g} MS/s, the device "
                                 f"offers {rate / 1e6:.6g} MS/s instead")
        if settings.antenna_names is not None:
            for channel, name in enumerate(self._each("antenna_names", settings.antenna_names)):
                self._set("antenna_names", name, channel)
        self._tune()
        self.set_gain(settings.gain)
        for channel in self._channels():
            if settings.bandwidth is not None:
                self._set("bandwidth", settings.bandwidth, channel)
            for name in ("dc_offset", "iq_balance"):
                with suppress(ValueError):    # not every device has these corrections
                    self._set("correction", settings.correction, channel, name)
        if settings.bandwidth is not None:
            self.bandwidth = self.source.get_bandwidth(0)
            if abs(self.bandwidth / settings.bandwidth - 1) > _RATE_TOLERANCE:
                self.notes.append(f"the device's filter is {self.bandwidth / 1e6:g} MHz wide, not "
                                  f"{settings.bandwidth / 1e6:g} MHz")

    def _channels(self):
        return range(self.num_channels)

    def _each(self, name, values):
        """Return one value per antenna."""
        if len(values) not in (1, self.num_channels):
            raise ValueError(f"{name}: got {len(values)} values, must be 1 or one for each of "
                             f"{plural(self.num_channels, 'antenna')}")
        return values if len(values) == self.num_channels else values * self.num_channels

    def _set(self, name, value, channel, setting=None):
        """Set a value of a channel; ``setting`` is the key of SETTERS if it is not ``name``."""
        with _naming(name):
            self._call(getattr(self.source, self.SETTERS[setting or name]), value, channel)

    def _tune(self):
        for channel in self._channels():
            self._set("frequency", self.frequency, channel)
        for channel in self._channels():
            frequency = self._get_frequency(channel)
            if abs(frequency - self.frequency) > _TUNING_TOLERANCE:
                raise ValueError(f"frequency: got {self.frequency / 1e6:g} MHz, the device is at "
                                 f"{frequency / 1e6:.9g} MHz instead")


def _reason(error):
    """Return the last line of an error's text, without the names of UHD's exceptions."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return re.sub(r"^(\w+Error: )+(?=.)", "", lines[-1].strip())


@contextmanager
def _naming(name):
    """Raise ValueError with the name of the setting that the device rejects."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError, KeyError) as error:
        reason = _reason(error).removeprefix("source: ").removeprefix(f"{name}: ")
        raise ValueError(f"{name}: {reason}") from error


class SoapyRadio(_Radio):
    """A device of SoapySDR, by its arguments."""

    SETTERS = {"sample_rate": "set_sample_rate", "antenna_names": "set_antenna",
               "frequency": "set_frequency", "gain": "set_gain", "gain_mode": "set_gain_mode",
               "bandwidth": "set_bandwidth",
               "dc_offset": "set_dc_offset_mode", "iq_balance": "set_iq_balance_mode"}
    _automatic = True    # some devices control their gain until told otherwise

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
            self._refuse_opening(_reason(error).removeprefix("source: "))
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

    @staticmethod
    def _call(setter, value, channel):
        setter(channel, value)

    def _set_reference(self, name, value):
        getattr(self.source, f"set_{name}")(value)

    def _set_rate(self):
        for channel in self._channels():
            self._set("sample_rate", self.sample_rate, channel)
        return map(self.source.get_sample_rate, self._channels())

    def _get_frequency(self, channel):
        return self.source.get_frequency(channel)

    def _gain_range(self, channel):
        allowed = self.source.get_gain_range(channel)
        return allowed.minimum(), allowed.maximum()

    def _refuse_opening(self, reason):
        if "no match" in reason:
            hint = ("is the folder of its SoapySDR module in SOAPY_SDR_PLUGIN_PATH?"
                    if "driver=mimopack" in self.words else
                    "is it plugged in, and its SoapySDR module installed?")
            raise ValueError(f"device: no device for {self.words!r}: {hint} SoapySDRUtil --find "
                             "lists the devices, --info the modules")
        if "channels available" in reason:
            most = "".join(filter(str.isdigit, reason))
            raise ValueError(f"num_rx: got {self.num_channels}, the device has {most}")
        raise ValueError(f"device: {reason}")


class UhdRadio(_Radio):
    """A device of UHD, such as a USRP, by its address; gr-uhd starts all antennas together."""

    SETTERS = {"antenna_names": "set_antenna", "frequency": "set_center_freq", "gain": "set_gain",
               "gain_mode": "set_rx_agc", "bandwidth": "set_bandwidth",
               "dc_offset": "set_auto_dc_offset", "iq_balance": "set_auto_iq_balance"}
    _automatic = False
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
            if "No devices found" in str(error):
                raise ValueError(
                    f"device: UHD finds no device{f' {arguments!r}' if arguments else ''}: is it "
                    "plugged in, and are its images installed (uhd_images_downloader)? "
                    "uhd_find_devices lists the devices") from error
            raise ValueError(f"device: {_reason(error)}") from error
        self._boards = range(self.source.get_num_mboards())
        self._set_up()
        self._check_reference()

    def set_clock(self):
        source, uhd = self.source, self._uhd
        if self.settings.time_source in (None, "internal", "none") and len(self._boards) == 1:
            source.set_time_now(uhd.time_spec(time.time()))
            return ""
        with _naming("time_source"):
            # UHD waits for the next pulse, and then lets the device set its clock at the one after
            # it.
            second = _before_a_pulse() + 2
            source.set_time_unknown_pps(uhd.time_spec(second))
            _after_a_pulse(second)
        return ""

    def _check_reference(self):
        """Note boards that do not lock to their reference clock within a second."""
        clock, end = self.settings.clock_source, time.monotonic() + _LOCKING
        for board in () if clock in (None, "internal") else self._boards:
            if "ref_locked" not in self.source.get_mboard_sensor_names(board):
                continue
            while not self.source.get_mboard_sensor("ref_locked", board).to_bool():
                if time.monotonic() > end:
                    self.notes.append(f"board {board} is not locked to its reference clock, "
                                      f"{clock!r}: is it connected?")
                    break
                time.sleep(0.05)

    @staticmethod
    def _call(setter, value, channel):
        setter(value, channel)

    def _set_reference(self, name, value):
        for board in self._boards:
            getattr(self.source, f"set_{name}")(value, board)

    def _set_rate(self):
        try:
            self.source.set_samp_rate(self.sample_rate)
        except (RuntimeError, IndexError) as error:
            if "out of range" not in str(error):
                raise ValueError(f"sample_rate: {_reason(error)}") from error
            # gr-uhd looks at the antennas after the first only here.
            raise ValueError(f"num_rx: got {self.num_channels}, the device has fewer: "
                             f"{_reason(error)}") from error
        return [self.source.get_samp_rate()]

    def _get_frequency(self, channel):
        return self.source.get_center_freq(channel)

    def _gain_range(self, channel):
        allowed = self.source.get_gain_range(channel)
        return allowed.start(), allowed.stop()


def _before_a_pulse():
    """Wait until the middle of a second of the host's clock; return that second."""
    time.sleep((0.5 - time.time()) % 1)
    return int(time.time())


def _after_a_pulse(second):
    """Wait until the next second has certainly begun."""
    time.sleep(max(0.0, second + 0.2 - time.time()))
