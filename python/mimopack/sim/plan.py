# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand out the blocks of a simulation as tasks, and count them in order.

The counts do not depend on who computes a task, nor on when it comes back: the blocks of a point
are counted in order, and the point ends with the block that completes it. Later blocks that were
computed already are dropped.
"""

import math
import time
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import Any

from ..checks import integer
from .counts import Tally
from .link import BLOCK

_MARGIN = 1.2    # blocks handed out over the blocks expected from the error rate so far
MOST_FRAMES = 10**9    # of a point, and frame errors
_MOST_BLOCKS = 4096    # of a task: its result is sent as one message
_AHEAD = 2    # tasks for each slot: one is computed, one waits
_TASK_SECONDS = 2.0    # length of a task on a small cluster
_TASKS_PER_SECOND = 100    # that a cluster's scheduler handles with ease, see docs/campaigns.md
_WAIT = 0.5    # seconds between two looks at the clock and at the cluster


@dataclass(eq=False)
class Task:
    """Blocks of frames at an SNR that a worker simulates for some detectors.

    ``arguments`` are those of ``Receivers.count``.
    """

    plan: Any
    points: dict    # {label: _Point} that wait for the result
    arguments: tuple

    @property
    def useful(self):
        """True while a point still waits for the result."""
        return any(not point.done for point in self.points.values())


class _Point:
    """The count of a detector at an SNR."""

    def __init__(self, tally, errors, most):
        self.tally, self._errors, self.most = tally, errors, most
        self.next = tally.blocks    # the first block that is not handed out
        self._back = {}    # {first block: sums of each block} of results that are not counted yet

    @property
    def done(self):
        return self.tally.frame_errors >= self._errors or self.tally.blocks >= self.most

    def may_need_more(self):
        """Return whether blocks beyond those handed out may be needed, likely or not."""
        return not self.done and self.next < self.most and self._known()[0] < self._errors

    def missing(self):
        """Return the number of blocks to hand out, as expected from the error rate so far."""
        if not self.may_need_more():
            return 0
        left = self.most - self.next
        errors, blocks = self._known()
        if not errors:
            return left
        expected = math.ceil(_MARGIN * (self._errors - errors) * blocks / errors)
        return min(left, max(0, expected - (self.next - blocks)))

    def _known(self):
        """Return the numbers of frame errors and of blocks in all results."""
        early = [sums["frame_errors"][-1] for blocks in self._back.values() for sums in blocks]
        return self.tally.frame_errors + sum(early), self.tally.blocks + len(early)

    def take(self, first, blocks):
        """Take the sums of blocks, and count those whose turn it is; return whether any was."""
        self._back[first] = blocks
        before = self.tally.blocks
        while not self.done and self.tally.blocks in self._back:
            for sums in self._back.pop(self.tally.blocks):
                self.tally.add(sums)
                if self.done:
                    self._back.clear()
                    break
        return self.tally.blocks > before


class Plan:
    """The points of a ``Simulation.run``, and the frames that they still need.

    A detector starts at an SNR when it has made a frame error at each lower one: if it makes none
    there, it skips the higher ones.
    """

    def __init__(self, simulation, snrs, errors=100, max_frames=100_000, progress=None):
        errors = integer("errors", errors, 1, MOST_FRAMES)
        most = -(-integer("max_frames", max_frames, 1, MOST_FRAMES) // BLOCK)
        for snr in snrs:
            simulation.link.snr_db(snr)    # raises ValueError if invalid
        self.simulation = simulation
        self._progress = progress or (lambda *grown: None)
        self._pace = None    # seconds per block
        self._points = {
            snr: {label: _Point(Tally(simulation.passes[label], simulation.store.state(label, snr)),
                                errors, most)
                  for label in simulation.detectors}
            for snr in sorted({float(snr) for snr in snrs})}

    @property
    def complete(self):
        """True if all points are complete or skipped."""
        return all(point.done for points in self._open() for point in points.values())

    def next_task(self, slots, seconds, eager):
        """Return the next ``Task`` to hand out, or None; arguments as for ``_next_task``."""
        for snr, points in zip(self._points, self._open(), strict=True):
            wanting = {label: point.missing() or eager for label, point in points.items()
                       if point.may_need_more()}
            if not any(wanting.values()):
                continue
            block = min(points[label].next for label, wants in wanting.items() if wants)
            joining = {label: points[label] for label in wanting if points[label].next == block}
            count = self._size(max(point.missing() for point in joining.values()), slots, seconds)
            end = min(block + count, min(points[label].most for label in joining),
                      *(points[label].next for label in wanting if points[label].next > block))
            for point in joining.values():
                point.next = end
            return Task(self, joining, (snr, block, end - block, list(joining)))
        return None

    def _size(self, missing, slots, seconds):
        """Return the number of blocks of a task."""
        batch = self.simulation.batch
        if not seconds or not self._pace:
            return batch
        count = max(1, min(int(seconds / self._pace), _MOST_BLOCKS))
        count = min(count, max(batch, math.ceil(missing / slots)))    # let all workers share them
        return count if count < batch else count - count % batch

    def take(self, task, sums, seconds):
        """Count the result of a task, which took some seconds."""
        _, block, count, _ = task.arguments
        self._pace = seconds / count
        for label, point in task.points.items():
            if not point.done and point.take(block, sums[label]):
                self._note(label, task.arguments[0], point)

    def _open(self):
        """Return, for each SNR, {label: point} of the detectors that may start there."""
        clear = set(self.simulation.detectors)    # with an error at each lower SNR
        waiting = []
        for points in self._points.values():
            waiting.append({label: points[label] for label in points if label in clear})
            clear = {label for label in clear if points[label].tally.frame_errors}
        return waiting

    def begin(self):
        """Report what is stored, and whether it is complete now."""
        for label in self.simulation.detectors:
            for snr, points in self._points.items():
                point = points[label]
                if point.tally.frames:
                    self._note(label, snr, point)
                if point.done and not point.tally.frame_errors:
                    break

    def _note(self, label, snr, point):
        self.simulation.keep(label, snr, point.tally, point.done)
        self._progress(label, snr, point.tally)


def compute(plans, executor, slots, deadline=math.inf):
    """Carry out plans until all are complete or ``time.monotonic()`` has reached the deadline.

    Earlier plans come first; later ones fill the gaps. ``slots`` is the number of tasks that the
    ``concurrent.futures.Executor`` computes at once, of one batch each; for a cluster it is a
    function that returns the number: a task then takes seconds.
    """
    pending = {}    # {future: Task}
    try:
        while True:
            count = max(1, slots() if callable(slots) else slots)
            seconds = max(_TASK_SECONDS, count / _TASKS_PER_SECOND) if callable(slots) else None
            while len(pending) < _AHEAD * count and time.monotonic() < deadline:
                task = _next_task(plans, count, seconds)
                if task is None:
                    break
                pending[task.plan.simulation.submit(executor, task.arguments)] = task
            if not pending:
                return
            for future in wait(pending, _WAIT, FIRST_COMPLETED).done:
                task = pending.pop(future)
                task.plan.take(task, *future.result())
            for future in [future for future, task in pending.items() if not task.useful]:
                future.cancel()
                del pending[future]
            for plan in plans:
                plan.simulation.save()
    finally:
        for future in pending:
            future.cancel()


def _next_task(plans, slots, seconds):
    """Return the next task, or None.

    It should take some seconds, or is of one batch if ``seconds`` is None. Blocks that are probably
    not needed come last (eager).
    """
    for eager in (False, True):
        for plan in plans:
            task = plan.next_task(slots, seconds, eager)
            if task is not None:
                return task
    return None
