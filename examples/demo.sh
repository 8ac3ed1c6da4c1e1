#!/usr/bin/env bash
# `make demo`: a training project of 2019 that only runs on CUDA is checked, ported, and then
# trained to the end on this host. Everything it makes is put into build/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=$PWD/.venv/bin
demo=$PWD/build/demo
# The model is small: more threads cost more than they give.
export OMP_NUM_THREADS=1
# Nothing outside the checkout changes what the demo shows.
export TORCH_EXTENSIONS_DIR=$demo/extensions

title() { printf '\n--- %s\n\n' "$*"; }
fail() { printf '\ndemo: %s\n' "$*" >&2; exit 1; }

# Runs torchport; findings (exit code 1) are what a demo is after, anything above is a fault.
torchport() {
  "$bin/torchport" "$@" || [ $? -eq 1 ] || fail "torchport $1 ended with an error"
}

# check_figure LINE NAME OP LIMIT: the figure that follows NAME in LINE, against a limit.
check_figure() {
  awk -v line="$1" -v name="$2" -v op="$3" -v limit="$4" 'BEGIN {
    n = split(line, words, " ")
    for (i = 1; i < n; i++) if (words[i] == name) value = words[i + 1]
    exit !(value ~ /^[0-9.e+-]+$/ && (value += 0) >= 0 && (op == "<" ? value < limit : value > limit))
  }' || fail "expected $2 $3 $4 in: $1"
}

rm -rf "$demo"
mkdir -p "$demo"
cp -R examples/legacy "$demo/legacy"

title "examples/legacy as its authors left it, on this host"
if (cd "$demo/legacy" && CUDA_VISIBLE_DEVICES='' "$bin/python" train.py) >"$demo/before.log" 2>&1; then
  echo "it runs here as it is"
else
  tail -n 1 "$demo/before.log"
fi

title "torchport check"
torchport check --statistics examples/legacy
torchport check --format html examples/legacy >"$demo/report.html"
echo
echo "the report to open in a browser: build/demo/report.html"

title "torchport fix, on a copy"
(cd "$demo/legacy" && torchport fix --unsafe-fixes --allow-dirty .)

title "the copy, trained"
(cd "$demo/legacy" && "$bin/python" -W ignore train.py) | tee "$demo/train.log"
final=$(grep '^final:' "$demo/train.log") || fail "training did not reach its end"
check_figure "$final" train_loss '<' 0.15
check_figure "$final" val_acc '>' 0.9

title "and used"
(cd "$demo/legacy" && "$bin/python" -W ignore infer.py) | tee "$demo/infer.log"
check_figure "$(grep '^infer:' "$demo/infer.log")" acc '>' 0.9

title "and proved: the same program as before, on virtual devices"
# The custom kernel is compiled for the host on the way, which takes the most time.
"$bin/torchport" prove --devices cuda:2 --lines '^final' \
  examples/legacy/train.py "$demo/legacy/train.py" -- --epochs 1 | tee "$demo/prove.log"
grep -q '^same program, same results elsewhere' "$demo/prove.log" || fail "the port is not the same program"

title "done: build/demo/legacy is the ported project, 'diff -r examples/legacy build/demo/legacy' what changed"
