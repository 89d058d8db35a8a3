#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Set up the project if needed, then build the site from README.md and docs/ into build/docs/html.
# Warnings and broken links are errors. Arguments: --external also checks links to other sites.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
bash scripts/setup.sh --docs
export PYTHONPATH=build/python PYTHONNOUSERSITE=1
unset PYTHONHOME
exec build/docs-venv/bin/python scripts/docs/build.py "$@"
