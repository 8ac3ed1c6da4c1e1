#!/usr/bin/env bash
# Brings one kind of dependency into place, or says in words what it misses.
#
#   deps/install.sh apt GROUP...   Debian packages of these groups of deps/apt.txt
#   deps/install.sh parser         the parser's C sources, in deps/node_modules
#   deps/install.sh venv           .venv with the packages of deps/requirements.lock
#   deps/install.sh torch          torch, into .venv
#   deps/install.sh bench          the benchmark's yardsticks, into .venv
#   deps/install.sh programs       build/programs: .venv and the packages of deps/programs.txt
#   deps/install.sh cluster        build/cluster: .venv and the packages of deps/cluster.txt
#   deps/install.sh suites         build/suites: .venv and the packages of deps/suites.txt
#   deps/install.sh triton         build/triton: .venv and the packages of deps/triton.txt
#   deps/install.sh cuda-build     build/cuda-build/venv: the packages of deps/cuda-build.txt (5 GB)
#   deps/install.sh linters        build/linters: the packages of deps/linters.lock
#   deps/install.sh vscode         what builds the extension for VS Code, in editors/vscode/node_modules
#
# What is there already is left as it is. The Makefile decides when to call which.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '== %s\n' "$*" >&2; }
die() {
  printf '\ntorchport: %s\n' "$1" >&2
  shift
  [ $# -eq 0 ] || printf '  %s\n' "$@" >&2
  exit 1
}

# Prints the last line of a log every few seconds, as long as this script runs: what pip downloads, and
# how large it is.
waits_for() {
  local seconds=0
  trap 'kill $! 2>/dev/null; exit' TERM
  while kill -0 $$ 2>/dev/null; do
    sleep "${EVERY:-15}" &
    wait $!
    seconds=$((seconds + ${EVERY:-15}))
    printf '   %d s: %s\n' "$seconds" \
      "$(tail -c 2000 "$1" | tr '\r' '\n' | sed -n 's/^ *\(.*[^ ]\) *$/\1/p' | tail -n 1 | cut -c1-100)" >&2
  done
}

# Runs a command; the end of its output is shown where it fails.
quietly() {
  local log status=0 watcher
  log=$(mktemp)
  waits_for "$log" &
  watcher=$!
  "$@" >"$log" 2>&1 || status=$?
  kill $watcher 2>/dev/null || true
  wait $watcher 2>/dev/null || true
  [ $status -eq 0 ] || tail -n 15 "$log" >&2
  rm -f "$log"
  return $status
}

# --- Debian packages ------------------------------------------------------------------------------

packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' deps/apt.txt
  done | sort -u
}

# The packages of the given list that dpkg does not know as installed, one a line.
missing_packages() {
  comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
      awk '$2 == "installed" { print $1 }' | sort -u)
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif [ -t 0 ]; then
    sudo "$@"
  else
    sudo -n "$@"
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    install -y --no-install-recommends "$@" </dev/null
}

refresh_lists() {
  say "refreshing the package lists"
  as_root apt-get -o DPkg::Lock::Timeout=300 update </dev/null 2>&1 || true
}

offered() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

# Of the given packages, one a line, those that this system can have: of the ones that deps/apt.txt calls
# optional, some releases of Debian and Ubuntu have none.
installable() {
  local package
  for package in "$@"; do
    if ! awk -v p="$package" '$2 == p && $3 == "optional" { found = 1 } END { exit !found }' deps/apt.txt ||
      offered "$package"; then
      printf '%s\n' "$package"
    fi
  done
}

install_apt() {
  local wanted missing
  mapfile -t wanted < <(packages_of "$@")
  [ ${#wanted[@]} -gt 0 ] || die "deps/apt.txt has no group '$*'"
  if [ -n "${TORCHPORT_NO_APT:-}" ]; then
    return 0
  fi
  command -v dpkg-query >/dev/null || die \
    "this is no Debian system (there is no dpkg-query), so packages cannot be installed here." \
    "Install what these Debian packages hold: ${wanted[*]}" \
    "and set TORCHPORT_NO_APT=1 to go on."
  mapfile -t missing < <(missing_packages "${wanted[@]}")
  [ ${#missing[@]} -gt 0 ] || return 0
  offered "${wanted[0]}" || refresh_lists >/dev/null  # there are no lists
  mapfile -t missing < <(installable "${missing[@]}")
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    die "these Debian packages are missing, and there is neither root nor sudo to install them:" \
      "${missing[*]}" \
      "Have them installed: apt-get install ${missing[*]}"
  fi
  say "installing Debian packages: ${missing[*]}"
  # The package lists may be absent or old: only then is `apt-get update` worth its time.
  local log
  log=$(mktemp)
  if ! apt_install "${missing[@]}" >"$log" 2>&1; then
    refresh_lists >>"$log"
    if ! apt_install "${missing[@]}" >"$log" 2>&1; then
      tail -n 20 "$log" >&2
      rm -f "$log"
      die "apt-get could not install: ${missing[*]}" \
        "What it said is above. Is there a network, and may this user use sudo?"
    fi
  fi
  rm -f "$log"
}

# --- the parser's sources -------------------------------------------------------------------------

install_parser() {
  command -v npm >/dev/null || install_apt node
  command -v npm >/dev/null || die \
    "npm is missing: the parser's C sources come as npm packages." \
    "Install Node.js with npm."
  say "fetching the parser's sources"
  # Nothing of a package is run: only its C sources are used.
  (cd deps && quietly npm ci --ignore-scripts --no-audit --no-fund --prefer-offline \
    --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000) || die \
    "npm could not fetch the packages of deps/package-lock.json." \
    "What it said is above. Is there a network?"
}

# --- Python ---------------------------------------------------------------------------------------

python="${PYTHON:-python3}"

check_python() {
  command -v "$python" >/dev/null || die "$python is missing: Python 3.11 or newer is needed." \
    "Name another one with PYTHON=/path/to/python3."
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die \
    "$("$python" --version) is too old: Python 3.11 or newer is needed." \
    "Name another one with PYTHON=/path/to/python3."
}

pip_install() {
  say "$1"
  shift
  quietly .venv/bin/python -m pip --disable-pip-version-check install --no-input "$@" || die \
    "pip could not install $*." "What it said is above. Is there a network?"
}

install_venv() {
  check_python
  # A virtual environment whose interpreter has gone, or is another one now, is made anew.
  if ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_apt venv
    say "making .venv with $("$python" --version)"
    quietly "$python" -m venv --clear .venv || die "$python could not make a virtual environment."
  fi
  pip_install "installing the Python packages" --no-deps --require-hashes -r deps/requirements.lock
}

install_torch() {
  # Never an unpinned torch: it would be another version, and on Linux gigabytes of CUDA libraries.
  pip_install "installing torch" -r deps/torch.txt
}

install_bench() {
  pip_install "installing the benchmark's yardsticks" --no-deps --require-hashes -r deps/bench.lock
}

# An environment of its own that sees .venv, the virtual devices included.
# An environment that has the packages of .venv and those of deps/NAME.txt.
install_above_venv() {
  local folder=build/$1 site
  say "making $folder"
  quietly .venv/bin/python -m venv --clear "$folder" || die "there is no virtual environment $folder."
  site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  echo "import site; site.addsitedir('$site')" >"$folder/lib/${site#*/lib/}/venv.pth"
  quietly "$folder/bin/python" -m pip --disable-pip-version-check install --no-input --no-deps \
    -r "deps/$1.txt" || die \
    "pip could not install the packages of deps/$1.txt." \
    "What it said is above. Is there a network?"
}
install_programs() { install_above_venv programs; }
install_cluster() { install_above_venv cluster; }
install_suites() { install_above_venv suites; }
install_triton() { install_above_venv triton; }

# An environment of its own, with the build of torch for CUDA.
install_cuda-build() {
  local folder=build/cuda-build/venv
  check_python
  say "making $folder: 5 GB"
  quietly "$python" -m venv --clear "$folder" || die "$python could not make a virtual environment."
  quietly "$folder/bin/python" -m pip --disable-pip-version-check install --no-input --no-deps \
    -r deps/cuda-build.txt || die \
    "pip could not install the packages of deps/cuda-build.txt." \
    "What it said is above. Is there a network, and are there 10 GB of disk?"
}

# An environment of its own, with the linters of what torchport writes.
install_linters() {
  local folder=build/linters
  check_python
  say "making $folder"
  quietly "$python" -m venv --clear "$folder" || die "$python could not make a virtual environment."
  quietly "$folder/bin/python" -m pip --disable-pip-version-check install --no-input --no-deps \
    --require-hashes -r deps/linters.lock || die \
    "pip could not install the packages of deps/linters.lock." \
    "What it said is above. Is there a network?"
}

# An extension is built by packages of npm. None of their scripts is run.
install_vscode() {
  command -v npm >/dev/null || install_apt node
  say "fetching what builds the extension for VS Code"
  (cd editors/vscode && quietly npm ci --ignore-scripts --no-audit --no-fund --prefer-offline) || die \
    "npm could not fetch the packages of editors/vscode/package-lock.json." \
    "What it said is above. Is there a network?"
}

case "${1:-}" in
  apt) shift && install_apt "$@" ;;
  parser | venv | torch | bench | programs | cluster | suites | triton | cuda-build | linters | vscode) "install_$1" ;;
  *) sed -n '2,16s/^# \{0,1\}//p' deps/install.sh >&2 && exit 2 ;;
esac
