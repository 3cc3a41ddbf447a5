#!/usr/bin/env bash
# Builds an image of Cardea as an OCI archive, without a container engine:
#
#   hack/image.sh VERSION OUT PLATFORM...        hack/image.sh v0.1.0 bin/image.tar linux/amd64 linux/arm64
#
# $IMAGE is the image's name, with its registry or without ("cardea"). The same source and the same Go give the same bytes.
# $BUILD_FLAGS replaces the flags of `go build` that leave this machine's folders out of the programs.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 3 ] || {
  echo "usage: hack/image.sh VERSION OUT PLATFORM..." >&2
  exit 2
}
version=$1 out=$2
shift 2
case "$out" in /*) ;; *) out="$PWD/$out" ;; esac
flags="${BUILD_FLAGS--trimpath -buildvcs=false}"

export GOTOOLCHAIN=auto CGO_ENABLED=0 GOWORK=off
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

programs=()
for platform in "$@"; do
  program="$work/${platform//\//-}"
  # shellcheck disable=SC2086 # several flags
  GOOS=${platform%/*} GOARCH=${platform#*/} go build -p 2 $flags \
    -ldflags "-s -w -X cardea.dev/cardea/internal/cli.stamp=$version" -o "$program" ./cmd/cardea
  programs+=("$platform=$program")
done
(cd hack/image && go run . -o "$out" -version "$version" -name "${IMAGE:-cardea}" "${programs[@]}")
echo "$out"
