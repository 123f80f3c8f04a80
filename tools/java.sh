#!/usr/bin/env bash
# Prints the path of a Java >= 17, which the data pipeline needs. Looks at $JAVA_HOME, then PATH; when there is none,
# installs Debian's package if we are root and apt-get is there, and otherwise says exactly what to install.
set -u
WANTED=17

# The major version of a java binary; nothing when it does not run. "1.8.0_392" is 8, "17.0.12" is 17.
major() {
    "$1" -version 2>&1 | sed -n 's/^[^"]* version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1
}

candidates() {
    [ -n "${JAVA_HOME:-}" ] && echo "$JAVA_HOME/bin/java"
    command -v java 2>/dev/null
}

find_java() {
    local java version
    while read -r java; do
        [ -x "$java" ] || continue
        version=$(major "$java")
        if [ -n "$version" ] && [ "$version" -ge "$WANTED" ]; then
            echo "$java"
            return 0
        fi
    done < <(candidates)
    return 1
}

find_java && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "No Java >= $WANTED found; installing Debian's package with apt-get." >&2
    apt-get update -q >&2
    for package in openjdk-17-jre-headless default-jre-headless; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$package" >&2 && break
    done
    find_java && exit 0
fi

{
    echo "Causeway needs Java $WANTED or newer (for its data pipeline). Found:"
    echo "  JAVA_HOME: ${JAVA_HOME:-not set}${JAVA_HOME:+ (version $(major "$JAVA_HOME/bin/java" 2>/dev/null || true))}"
    if command -v java >/dev/null 2>&1; then
        echo "  java on PATH: $(command -v java), version $(major java)"
    else
        echo "  java on PATH: none"
    fi
    echo "Install it and repeat the command:"
    echo "  Debian, Ubuntu   sudo apt-get install openjdk-17-jre-headless   (or default-jre-headless)"
    echo "  Fedora           sudo dnf install java-17-openjdk-headless"
    echo "  macOS            brew install openjdk@17"
    echo "or set JAVA_HOME to one that is already there."
} >&2
exit 1
