# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A case for each form in which detectors run on a GPU, of the smallest size with the form."""

QPSK, QAM64 = {"constellation": "qpsk"}, {"constellation": "qam64"}
SOFT = {"soft": True}
# A vector on the border of two points may be sliced to either, because compilers round
# differently; either path of a tie in K-best is correct.
FEW = {"ties": 2}
# (form, detector, (num_tx, num_rx), parameters, vectors per matrix, more). The form is the kernel's
# name. more: see compare() in tests/cuda/test_detectors_without_gpu.py; with "known", calls have
# a-priori LLRs.
FORMS = [
    ("linear<", "mmse", (2, 2), {}, 1, {}),
    ("linear<", "zf", (3, 3), {"constellation": "bpsk,qam16,qpsk"}, 14, {}),    # known bits
    ("team_kernel", "mmse", (9, 10), {}, 14, {}),
    ("team_kernel", "mmsepic", (9, 9), {}, 1, {"known": 2}),
    ("team_kernel", "ep", (8, 8), QPSK, 14, FEW),
    ("nway_in_registers", "nway", (3, 3), QPSK | {"llr_clip": 5.0}, 14, {}),
    ("nway_in_registers", "nway", (4, 4), {"llr_method": "logsum", "num_passes": 3}, 1,
     {"known": 3, "snrs_db": (-10, 50)}),
    # Numbers of candidates have two words, outside of shared memory.
    ("nway_in_registers", "fpfsd", (5, 5), QAM64 | {"llr_method": "logsum"}, 1, FEW),
    ("team_kernel", "nway", (9, 9), QPSK | {"num_passes": 5}, 14, FEW),
    ("team_kernel", "fpfsd", (9, 9), {}, 1, FEW),
    ("fixed_sphere_in_registers", "sfsd", (2, 3), {}, 14, {}),
    ("fixed_sphere_in_registers", "hfsd", (3, 3), QAM64, 1, {}),
    ("fixed_sphere_in_registers", "hfsd", (3, 3), {"soft": True}, 14, {}),
    ("fixed_sphere<", "sfsd", (2, 2), {"constellation": "bpsk"}, 1, {}),
    ("fixed_sphere<", "hfsd", (6, 6), QPSK | {"soft": True}, 1, {"known": 2}),
    ("flip_detector<", "zfsic", (3, 4), {"soft": True}, 14, {}),
    ("team_kernel", "hfsd", (6, 6), QPSK, 14, {}),
    ("team_kernel", "sfsd", (9, 9), {"levels": 1, "num_paths": 3}, 1, FEW | {"known": 2}),
    ("queue_kbest", "kbest", (3, 4), {"k": 8}, 1, FEW | {"known": 3}),
    ("team_kbest", "kbest", (2, 3), QAM64 | {"k": 256}, 14, FEW),
    ("team_kernel", "kbest", (5, 5), {"k": 8}, 1, FEW | {"known": 2}),
    ("kbest<", "kbest", (3, 3), QPSK | {"k": 4}, 14, FEW),
    ("shared_sphere", "sd", (2, 2), {}, 1, {}), ("shared_sphere", "psd", (3, 3), {}, 14, {}),
    ("nearest_leaf", "sd", (5, 5), {"enumeration": "natural"}, 1, {"snrs_db": (5, 25)}),
    ("nearest_leaf", "psd", (3, 4), {"constellation": "bpsk,qam16,qpsk"}, 14, {}),    # known bits
    ("nearest_leaf", "asd", (9, 10), QPSK, 14, {"known": 3}),
    # Rows of a node are left for later.
    ("nearest_leaf", "sd", (5, 5), {"constellation": "qam256"}, 1, {"n": 24}),
    ("listed_leaves", "sd", (4, 4), SOFT, 14, {"snrs_db": (0, 15, 45)}),
    # The list has more leaves than each thread a place; each leaf is in it.
    ("listed_leaves", "asd", (3, 3), QPSK | SOFT | {"list_size": 100}, 1, {"snrs_db": (0, 20)}),
    ("listed_leaves", "psd", (9, 10), QPSK | SOFT, 14, {"known": 3, "snrs_db": (8, 15)}),
    ("listed_leaves", "psd", (3, 4), SOFT | {"constellation": "qam64,bpsk,qpsk"}, 1,
     {"known": 3}),
    ("listed_leaves", "sd", (5, 5), SOFT | {"constellation": "qam256", "list_size": 7}, 1,
     {"n": 24}),
    ("bit_hypotheses", "softsphere", (4, 4), {"llr_clip": 5.0}, 14, {}),
    ("team_sliced_search", "softsphere", (4, 4), {"llr_clip": 5.0}, 14, {"known": 3}),
    ("bit_hypotheses", "softsphere", (5, 5), QPSK | {"extrinsic": True}, 1,
     {"known": 3, "snrs_db": (10, 45)}),
    ("bit_hypotheses", "softsphere", (5, 5), {"llr_clip": None}, 1,
     {"n": 32, "snrs_db": (15, 25)}),
    ("bit_hypotheses", "softsphere", (4, 4), {"constellation": "qam64,bpsk,qam16,qam64"}, 14,
     {"known": 3}),
    ("team_soft_search", "softsphere", (4, 4), QAM64 | {"extrinsic": True, "llr_clip": None}, 1,
     {"known": 3, "snrs_db": (10, 45)}),
    ("team_soft_search", "softsphere", (4, 4), QAM64 | {"extrinsic": True}, 1,
     {"known": 3, "snrs_db": (10, 45)}),
    ("team_soft_search", "softsphere", (4, 4), QAM64 | {"llr_clip": None}, 14, {}),
    ("team_soft_search", "softsphere", (4, 4), QAM64 | {"llr_clip": 5.0}, 14, {}),
    ("team_sliced_search", "softsphere", (2, 2), QPSK, 14, {}),
    ("nway_in_registers", "mla", (2, 2), QPSK, 1, {}),
    ("team_sliced_search", "mla", (4, 4), QPSK, 1, {"known": 3}),
    # From all candidates of equal weight to a single dominant candidate
    ("team_sliced_search", "omap", (3, 3), {}, 1, {"snrs_db": (-5, 20, 45)})]
