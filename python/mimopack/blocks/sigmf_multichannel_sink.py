# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Block: record several antennas to SigMF."""

from datetime import datetime, timezone

import numpy as np
from gnuradio import gr

from ..recording import Writer
from .streams import BlockLog


class sigmf_multichannel_sink(gr.sync_block):
    """Record num_channels streams to SigMF, all channels up to the same sample.

    Metadata is written when the flowgraph stops; started again, the block goes on where it
    stopped. Samples beyond full scale in ci16_le are clipped, counted and reported at the stop.
    An error of the disk ends the flowgraph, and what was written stays a valid recording.

    Args:
        path, num_channels, sample_rate, datatype, layout, frequency, description, fields: as
            for ``recording.Writer``.
        timestamp: write the time at which the first samples came as ``core:datetime``.
        overwrite: replace a recording of this name.

    Raises:
        ValueError, FileExistsError: as ``recording.Writer``.
    """

    def __init__(self, path, num_channels, datatype="cf32_le", sample_rate=20e6,
                 layout="interleaved", frequency=None, description="", fields=None,
                 timestamp=True, overwrite=False):
        self.writer = Writer(path, num_channels, sample_rate, datatype=datatype, layout=layout,
                             frequency=frequency, description=description, fields=fields,
                             overwrite=overwrite)
        gr.sync_block.__init__(self, "sigmf_multichannel_sink",
                               [np.complex64] * self.writer.num_channels, None)
        self._timestamp = bool(timestamp)
        self._log = BlockLog(self)

    def work(self, input_items, _output_items):
        if self._timestamp and not self.writer.num_samples:
            now = datetime.now(timezone.utc)
            self.writer.datetime = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
        try:
            self.writer.write(np.stack(input_items))
        except OSError as error:
            self._log.error(f"recording ends here: {error}")
            return -1
        return len(input_items[0])

    def stop(self):
        if self.writer.clipped:
            self._log.warn("clipping", f"{self.writer.clipped} values were beyond full scale and "
                           "clipped: scale the signal down")
        try:
            self.writer.save()
        except Exception as error:  # one that leaves stop() would end the process
            self._log.error(f"no metadata written: {error!r}")
        return True
