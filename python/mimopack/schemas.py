# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON Schemas of the files that commands write."""

from .wifi.fields import fields_of

_TEXT, _FLAG, _NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "number"}
_COUNT, _SIZE = ({"type": "integer", "minimum": least} for least in (0, 1))
_AMOUNT, _POSITIVE = _NUMBER | {"minimum": 0}, _NUMBER | {"exclusiveMinimum": 0}
_RATE = _AMOUNT | {"maximum": 1}
_ANY_OBJECT = {"type": "object"}
_HEX = _TEXT | {"pattern": "^([0-9a-f]{2})*$"}


def _or_null(kind):
    return kind | {"type": [kind["type"], "null"]}


def _one_of(*values):
    return {"enum": [*values]}


def _list(items, **limits):
    return {"type": "array", "items": items} | limits


def _passes(items):
    """A value for each pass of detector and decoder."""
    return _list(items, minItems=1)


def _pair(items):
    return _list(items, minItems=2, maxItems=2)


def _map(values):
    return _ANY_OBJECT | {"additionalProperties": values}


def _object(text, members, optional=(), fields=(), more=False):
    """Return the schema of an object.

    Args:
        text: what the object is.
        members: {key: (schema, description)}.
        optional: keys that may be missing.
        fields: rows of ``wifi.fields.FIELDS``, whose keys come first.
        more: whether other keys are allowed.
    """
    properties = {field.name: field.schema() for field in fields} | {
        key: kind | {"description": words} for key, (kind, words) in members.items()}
    return {"type": "object", "description": text, "properties": properties,
            "required": [key for key in properties if key not in optional],
            "additionalProperties": more}


_MACHINE = (_object("", {
    "processor": (_TEXT, "name of the processor"),
    "isa": (_TEXT, "instruction set of the detectors"),
    "threads": (_SIZE, "CPU threads that all cores allow"),
    "system": (_TEXT, "operating system"),
    "mimopack": (_TEXT, "version of gr-mimopack"),
    "commit": (_or_null(_TEXT), "commit that the package was built from; null if unknown"),
    "python": (_TEXT, "version of Python"),
    "numpy": (_TEXT, "version of NumPy"),
    "gnuradio": (_or_null(_TEXT), "version of GNU Radio; null without it"),
    "command": (_TEXT, "the command"),
    "date": (_TEXT, "date and time in UTC"),
    "gpu": (_ANY_OBJECT, "the first GPU, if one was used"),
}, optional=("gpu",), more=True), "the machine and the versions of a measurement")


def _bench():
    setting = {
        "num_tx": (_SIZE, "transmit antennas"),
        "num_rx": (_SIZE, "receive antennas"),
        "constellation": (_TEXT, "name of the constellation"),
        "symbols_per_channel": (_SIZE, "vectors that share a channel matrix")}
    case = _object("", setting | {
        "snr_db": (_NUMBER, "SNR per receive antenna in dB"),
        "noise_var": (_POSITIVE, "noise power per complex receive dimension"),
        "threads": (_COUNT, "CPU threads; 0: all cores")})
    row = _object("a detector on a backend", {
        "label": (_TEXT, "name in the table"),
        "detector": (_TEXT, "name of the detector"),
        "parameters": (_ANY_OBJECT, "parameters that differ from their defaults"),
        **setting,
        "backend": (_one_of("cpu", "cuda", "reference"), "where it ran"),
        "isa": (_or_null(_TEXT), "instruction set; null except on the CPU"),
        "vectors": (_SIZE, "vectors of a call"),
        "calls": (_SIZE, "calls that were timed"),
        "seconds": (_AMOUNT, "median duration of a call"),
        "vectors_per_s": (_AMOUNT, "vectors per second"),
        "mbit_per_s": (_AMOUNT, "coded bits per second, in 10^6"),
        "ber": (_RATE, "bit error rate, uncoded"),
        "ber_95": (_AMOUNT, "half the width of its 95 % interval"),
        "vectors_compared": (_COUNT, "vectors that were compared with the bits sent"),
        "bits_compared": (_COUNT, "their bits"),
        "ratio_to_reference": (_AMOUNT, "speed over that of the backend reference, if both ran"),
    }, optional=("ratio_to_reference",))
    return _object("speed of detectors, simulated data", {
        "what": (_TEXT, "what was measured"),
        "machine": _MACHINE,
        "case": (case, "the setting, without --suite"),
        "suite": (_TEXT, "name of the suite, with --suite"),
        "results": (_list(_ANY_OBJECT),
                    "the rows of the table; those of a suite have the keys of that suite"),
    }, optional=("case", "suite"), more=True) | {"oneOf": [
        {"required": ["case"], "properties": {"suite": False, "results": {"items": row}}},
        {"required": ["suite"], "properties": {"case": False}}]}


def _nr():
    block = _object("a transport block", {
        "slot": (_COUNT, "number of the slot"),
        "user": (_COUNT, "index of the user in the configuration"),
        "crc_ok": (_FLAG, "whether the CRC is correct"),
        "tb": (_HEX, "the bits, the first bit sent in the most significant place of the first "
                     "byte, filled up with zeros to whole bytes; also if the CRC is wrong"),
        "snr_db": (_NUMBER, "power of the user's layers over that of noise and interference, per "
                            "antenna, in dB"),
        "detector": (_TEXT, "the detector as the command names it"),
        "codeword": (_COUNT, "0 or 1, the codeword of a PDSCH that has two"),
    }, optional=("codeword",))
    return _list(block) | {"description": "the transport blocks, by slot, user and codeword"}


def _play():
    level = _object("an SNR", {"snr_db": (_NUMBER, "SNR in dB"),
                               "decoded": (_COUNT, "frames decoded"),
                               "sent": (_COUNT, "frames sent")})
    row = _object("a detector", {
        "detector": (_TEXT, "its name with parameters, as the command names it"),
        "complete": (_FLAG, "whether it played the whole recording"),
        "frames_sent": (_or_null(_COUNT),
                        "frames that annotations describe; null without annotations"),
        "frames_found": (_COUNT, "frames that were announced; with annotations: frames sent that "
                                 "were found"),
        "frames_decoded": (_COUNT, "frames whose MPDUs all arrived"),
        "packet_error_rate": (_or_null(_RATE), "1 - frames_decoded / frames sent or found; null if "
                                               "there are none"),
        "packet_error_rate_of": (_one_of("sent", "found"), "to which frames the rate refers"),
        "mpdus_ok": (_COUNT, "MPDUs with a good frame check sequence"),
        "mpdus_unknown": (_or_null(_COUNT), "of these, MPDUs that no annotation has"),
        "frames_unknown": (_or_null(_COUNT), "frames that no annotation has"),
        "problems": (_map(_COUNT), "number of frames by the reason why they were not decoded"),
        "decoded_by_snr": (_or_null(_list(level)), "frames decoded at each SNR that annotations "
                                                   "give; null without annotations"),
        "samples": (_COUNT, "samples that were searched"),
        "flowgraph_samples_per_s": (_AMOUNT, "speed of the flowgraph"),
        "real_time_factor": (_AMOUNT, "speed over the sample rate"),
        "receiver": (_map(_COUNT), "counts of the block wifi_receiver"),
    }, optional=("flowgraph_samples_per_s", "real_time_factor"))
    frame = _object("a frame, with keys as in mimopack wifi --json", {}, fields=fields_of("play"))
    return _object("frames of a recording that each detector decodes", {
        "recording": (_TEXT, "path of the metadata"),
        "description": (_TEXT, "description in the metadata"),
        "notes": (_list(_TEXT), "what is unusual in the recording"),
        "complete": (_FLAG, "whether each detector played the whole recording"),
        "sample_rate": (_POSITIVE, "samples per second"),
        "samples": (_COUNT, "samples of each antenna"),
        "num_rx": (_SIZE, "antennas"),
        "frames_annotated": (_COUNT, "transmitted frames that annotations describe"),
        "iterations": (_SIZE, "largest number of passes of detector and decoder"),
        "machine": _MACHINE,
        "detectors": (_list(row), "a row for each detector"),
        "frames": (_map(_list(frame)), "the frames that each detector found; mimopack wifi --json "
                                       "has more about them"),
    }, optional=("frames",))


def _sim():
    parameters = _object("", {
        "num_tx": (_SIZE, "transmit antennas"),
        "num_rx": (_SIZE, "receive antennas"),
        "constellation": (_TEXT, "name of the constellation"),
        "code": (_TEXT, "name of the code, none or none:VECTORS"),
        "channel": (_TEXT, "name of the channel, with its parameters"),
        "interleaver": (_one_of("random", "none"), "permutation of the coded bits of a frame"),
        "snr_kind": (_one_of("snr", "ebn0"), "what at_db of the results is"),
        "seed": (_COUNT, "seed of the random numbers"),
        "interferer": (_or_null(_NUMBER), "power of the interferer over the noise in dB; null "
                                          "without one"),
        "iterations": (_SIZE, "passes of detector and decoder, unless a detector sets its own"),
        "decoder_iterations": (_SIZE, "largest number of decoder iterations in a pass"),
        "feedback_scale": (_NUMBER, "factor of the LLRs that the decoder feeds back"),
        "early_stop": (_FLAG, "whether found codewords skip the further passes"),
        "frames_per_block": (_SIZE, "frames that are drawn together"),
    }, optional=("interferer",), more=True)
    run = _object("a run", {"machine": _MACHINE,
                            "backend": (_TEXT, "where the detectors ran"),
                            "seconds": (_AMOUNT, "duration")}, more=True)
    counts = _object("", {
        "blocks": (_SIZE, "blocks of frames"),
        "frames": (_COUNT, "frames"),
        "undetected": (_COUNT, "wrong frames in which the decoder found a codeword"),
        "passes": (_COUNT, "passes of all frames"),
        "decoder_iterations": (_COUNT, "decoder iterations of all frames"),
        "frame_errors": (_passes(_COUNT), "wrong frames after each pass"),
        "bit_errors": (_passes(_pair(_COUNT)), "after each pass: wrong information bits, and the "
                                               "sum of their squares over frames"),
        "detected_bit_errors": (_pair(_COUNT), "the same for the detector's first decisions on the "
                                               "bits sent")})
    point = _object("a point", {
        "detector": (_TEXT, "the detector as the command names it"),
        "at_db": (_NUMBER, "SNR or Eb/N0 in dB, see snr_kind"),
        "snr_db": (_NUMBER, "SNR per receive antenna: num_tx / noise_var, in dB"),
        "ebn0_db": (_NUMBER, "Eb/N0 in dB"),
        "noise_var": (_POSITIVE, "noise power per complex receive dimension, without interferer"),
        "frames": (_COUNT, "frames received"),
        "complete": (_FLAG, "whether the point has enough errors or frames"),
        "counts": (counts, "sums, from which a run continues"),
        "fer": (_passes(_RATE), "frame error rate after each pass"),
        "fer_95": (_passes(_pair(_AMOUNT)), "its 95 % intervals"),
        "ber": (_passes(_RATE), "bit error rate after each pass"),
        "ber_95": (_passes(_pair(_AMOUNT)), "its 95 % intervals"),
        "ber_before_decoding": (_RATE, "bit error rate of the detector's first decisions"),
        "ber_before_decoding_95": (_pair(_AMOUNT), "its 95 % interval"),
        "mean_passes": (_AMOUNT, "passes of a frame"),
        "mean_decoder_iterations": (_AMOUNT, "decoder iterations of a frame")})
    return _object("bit and frame error rates over SNR, simulated", {
        "what": ({"const": "bit and frame error rates, simulated"}, "what the file holds"),
        "data": ({"const": "simulated"}, "where the data come from"),
        "parameters": (parameters, "the link and the receiver; the same in each run that continues "
                                   "the file"),
        "runs": (_list(run), "the runs that contributed"),
        "results": (_list(point), "a point for each detector and SNR, grouped by detector"),
        "sha256": (_TEXT | {"pattern": "^[0-9a-f]{64}$"}, "checksum of the other entries"),
    }, optional=("sha256",))


def _wifi():
    mpdu = _object("an MPDU", {
        "hex": (_HEX, "its bytes with the frame check sequence"),
        "fcs_ok": (_FLAG, "whether the frame check sequence is right")})
    fields = fields_of("user")
    user = _object("a user", {
        "psdu": (_HEX, "the PSDU in hexadecimal"),
        "mpdus": (_list(mpdu), "the MPDUs")},
        optional=[field.name for field in fields if field.formats], fields=fields)
    time = {"type": "array", "minItems": 2, "maxItems": 2,
            "prefixItems": [{"type": "integer"}, _AMOUNT | {"exclusiveMaximum": 1}]}
    frame = _object("a frame", {
        "rx_time": (time, "time of the first sample, [seconds since 1970, fraction], if it is "
                          "known"),
        "psdu": (_HEX, "the PSDU in hexadecimal"),
        "mpdus": (_list(mpdu), "the MPDUs, of all users"),
        "users": (_list(user), "the users of a VHT MU, HE MU or HE TB frame; empty for other "
                               "frames"),
    }, optional=("rx_time",), fields=fields_of("report"))
    return _list(frame) | {"description": "the frames whose preamble and first signal field were "
                                          "found, in the order of the stream"}


_OUTPUTS = {"bench": ("mimopack bench --output", _bench),
            "nr": ("mimopack nr --json", _nr),
            "play": ("mimopack play: summary.json", _play),
            "sim": ("mimopack sim --output", _sim),
            "wifi": ("mimopack wifi --json", _wifi)}
NAMES = tuple(_OUTPUTS)


def load(name):
    """Return a schema, one of ``NAMES``, as a dictionary."""
    output, make = _OUTPUTS[name]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": f"Output of {output}", **make()}
