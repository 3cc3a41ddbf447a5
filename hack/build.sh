#!/usr/bin/env bash
# Builds the program of a release: the same source and the same Go give the same bytes, wherever the folder is.
#
#   hack/build.sh VERSION PLATFORM OUT        hack/build.sh v0.1.0 linux/arm64 dist/cardea
set -euo pipefail

[ $# -eq 3 ] || {
  echo "usage: hack/build.sh VERSION PLATFORM OUT" >&2
  exit 2
}
out=$(realpath -m "$3")
cd "$(dirname "$0")/.."
export GOTOOLCHAIN=auto CGO_ENABLED=0 GOWORK=off GOOS="${2%/*}" GOARCH="${2#*/}"
exec go build -p 2 -trimpath -buildvcs=false -ldflags "-s -w -X cardea.dev/cardea/internal/ops/cli.stamp=$1" -o "$out" \
  ./cmd/cardea
