#!/usr/bin/env bash
# Prepares the virtual environment given as the first argument. May be interrupted and run again.
set -euo pipefail
venv=$1
python=${PYTHON:-python3}

missing=()
"$python" -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
command -v cc >/dev/null || missing+=(gcc)
[ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || missing+=(python3-dev)
command -v kcat >/dev/null || missing+=(kcat)
command -v etcd >/dev/null || missing+=(etcd-server)
[ -e /usr/share/java/zookeeper.jar ] || missing+=(zookeeper)

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >/dev/null && apt-get install -y -q "${missing[@]}" >/dev/null \
      || echo "could not install ${missing[*]}; what needs them is left out" >&2
  else
    echo "not installed: ${missing[*]}. To have them: sudo apt-get install ${missing[*]}" >&2
    echo "(gcc and python3-dev make the record walker fast, the others are used by tests)" >&2
  fi
fi

if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then  # none yet, or half of one
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
"$venv/bin/python" -m pip install -q --disable-pip-version-check "uv>=0.5"
echo "installing Python packages"
"$venv/bin/uv" pip install -q --python "$venv/bin/python" -r requirements.lock
"$venv/bin/uv" pip install -q --python "$venv/bin/python" --no-deps --no-build-isolation -e .
"$venv/bin/python" - <<'PY'
from penstock.wire.records import COMPILED
print("ready; the record walker is", "compiled" if COMPILED else "pure Python (no C compiler was found)")
PY
