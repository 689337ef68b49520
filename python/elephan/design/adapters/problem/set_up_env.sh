#!/usr/bin/env bash
set -euo pipefail
python3 -c "import elephan" 2>/dev/null || python3 -m pip install --quiet elephan
