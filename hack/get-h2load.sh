#!/usr/bin/env bash
# Puts h2load, which loads a server over HTTP/2, into the cache folder, and prints its path. Does nothing if it is there. It comes
# from the Debian package "nghttp2-client", which apt downloads and checks with the libraries that this machine does not have;
# nothing is installed, and no privilege is needed.
set -euo pipefail

fail() {
  printf 'get-h2load: %s\n' "$@" >&2
  exit 1
}

folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/h2load"
target="$folder/h2load"
if [ -x "$target" ]; then
  echo "$target"
  exit 0
fi
for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || fail "$program is needed: h2load comes from a Debian package." \
    "Put the program h2load into $folder in another way."
done

mkdir -p "$folder/bin" "$folder/lib"
work=$(mktemp -d "$folder/.get.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
echo "get-h2load: downloading the package" >&2
# What apt would install are the package and the libraries that are missing.
(
  cd "$work"
  needed=$(apt-get --simulate --no-install-recommends install nghttp2-client | sed -n 's/^Inst \([^ ]*\) .*/\1/p')
  # shellcheck disable=SC2086 # names of packages, one a word
  apt-get download nghttp2-client $needed
) >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "the download failed (apt's words are above); apt-get update may help."
}
for package in "$work"/*.deb; do
  dpkg-deb -x "$package" "$work/root"
done
find "$work/root" -name '*.so.*' -exec mv -f {} "$folder/lib/" \;
mv -f "$work/root/usr/bin/h2load" "$folder/bin/h2load"
cat >"$work/h2load" <<'SCRIPT'
#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH="$here/lib" exec "$here/bin/h2load" "$@"
SCRIPT
chmod +x "$work/h2load"
LD_LIBRARY_PATH="$folder/lib" "$folder/bin/h2load" --version >/dev/null ||
  fail "h2load does not run on this machine."
mv -f "$work/h2load" "$target"
echo "$target"
