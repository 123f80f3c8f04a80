#!/usr/bin/env bash
# Prints the path of a Python that can build our virtual environment (>= 3.11, with venv and ensurepip): the first
# on PATH that is built with optimisation, or else the first. Says on stderr what is missing. Honours $PYTHON.
# With "oldest" or "newest" it is that one of all on PATH and of pyenv, of two of one release the optimised one.
set -u

fits() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

NAMES="python3.14 python3.13 python3.12 python3.11 python3"

# A distribution's interpreter is built with optimisation; a version manager's only if it was asked for, and without it
# takes up to twice as long for everything we do.
optimised() {
    "$1" -c 'import sys, sysconfig
sys.exit(sys.prefix != "/usr" and "--enable-optimizations" not in (sysconfig.get_config_var("CONFIG_ARGS") or ""))' \
        >/dev/null 2>&1
}

# Every one on PATH; or the one that was named, and no other.
candidates() {
    if [ -n "${PYTHON:-}" ]; then command -v "$PYTHON"; else type -aP $NAMES; fi
}

find_python() {
    local path first=
    # The name alone proves nothing: a version manager's stub answers to it and then refuses to run.
    while IFS= read -r path; do
        fits "$path" || continue
        [ -n "$first" ] || first=$path
        if optimised "$path"; then
            first=$path
            break
        fi
    done < <(candidates)
    [ -n "$first" ] && echo "$first"
}

# "3.13 1 PATH" for each that fits; 1: optimised.
releases() {
    local path
    while IFS= read -r path; do
        fits "$path" || continue
        echo "$("$path" -c 'import sys; print("%d.%d" % sys.version_info[:2])') $(optimised "$path" && echo 1 || echo 0) $path"
    done < <(candidates; ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 2>/dev/null)
}

case "${1:-}" in
    oldest) releases | sort -s -t ' ' -k 1,1V -k 2,2nr | head -n 1 | cut -d ' ' -f 3- | grep . && exit 0 ;;
    newest) releases | sort -s -t ' ' -k 1,1Vr -k 2,2nr | head -n 1 | cut -d ' ' -f 3- | grep . && exit 0 ;;
    *) find_python && exit 0 ;;
esac

if [ -z "${PYTHON:-}" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No usable Python >= 3.11 found; installing python3 and python3-venv with apt-get." >&2
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends python3 python3-venv; } >&2
    find_python && exit 0
fi

{
    echo "Causeway needs Python 3.11 or newer with the modules venv and ensurepip. Found:"
    for name in ${PYTHON:-$NAMES}; do
        if ! command -v "$name" >/dev/null 2>&1; then
            echo "  $name: not on PATH"
        elif ! version=$("$name" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])' 2>/dev/null); then
            echo "  $name: does not run"
        elif ! "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "  $name: is $version, too old"
        else
            echo "  $name: is $version, but lacks venv or ensurepip"
        fi
    done
    echo "Install it (Debian and Ubuntu: apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3.11"
} >&2
exit 1
