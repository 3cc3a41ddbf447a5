#!/usr/bin/env bash
# Puts Prometheus and promtool into the cache folder, and prints that folder. Does nothing if they are there. They come from the
# Debian package "prometheus", which apt downloads and checks; nothing is installed, and no privilege is needed.
set -euo pipefail

fail() {
  printf 'get-prometheus: %s\n' "$@" >&2
  exit 1
}

folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/prometheus"
if [ -x "$folder/prometheus" ] && [ -x "$folder/promtool" ]; then
  echo "$folder"
  exit 0
fi
for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || fail "$program is needed: Prometheus comes from a Debian package." \
    "Put the programs prometheus and promtool into $folder in another way."
done

mkdir -p "$folder"
work=$(mktemp -d "$folder/.get.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
echo "get-prometheus: downloading the package" >&2
(cd "$work" && apt-get download prometheus >log 2>&1) || {
  cat "$work/log" >&2
  fail "the download failed (apt's words are above); apt-get update may help."
}
dpkg-deb -x "$work"/prometheus_*.deb "$work/root"
for program in prometheus promtool; do
  "$work/root/usr/bin/$program" --version >/dev/null || fail "$program does not run on this machine."
  mv -f "$work/root/usr/bin/$program" "$folder/$program"
done
echo "$folder"
