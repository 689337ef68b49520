#!/usr/bin/env bash
# Usage: evaluate.sh [SOLUTION], by default $SOLUTION; the last line is the score and the score without its limit.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python3 "$here/evaluator.py" --solution "${1:-${SOLUTION:?name the file of a solution}}" ${STAGE:+--stage "$STAGE"}
