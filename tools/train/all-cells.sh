#!/usr/bin/env bash
# The cells of everything that the models are trained on: tools/train/all-cells.sh CASES OUT
set -eu
here=$(dirname "$0")
for copy in sparse sparse-3min sparse-5min sparse-500m; do node "$here/cells.mjs" "$1" "$2/$copy" "$copy"; done
node "$here/cells.mjs" "$1" "$2/full"
node "$here/cells.mjs" "$1" "$2/walked" walked
node "$here/cells.mjs" made-up:train:2 "$2/made-up"
node "$here/cells.mjs" made-up:train:2 "$2/made-up-sparse" sparse
