#!/usr/bin/env bash
# Builds an image of Cardea as an OCI archive, without a container engine:
#
#   hack/image.sh VERSION OUT PLATFORM...        hack/image.sh v0.1.0 bin/image.tar linux/amd64 linux/arm64
#
# PLATFORM=PROGRAM takes a program that is built, statically linked, in place of building one. $IMAGE is the image's name, with
# its registry or without ("cardea"). The same source and the same Go give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -ge 3 ] || {
  echo "usage: hack/image.sh VERSION OUT PLATFORM..." >&2
  exit 2
}
version=$1 out=$2
shift 2
case "$out" in /*) ;; *) out="$PWD/$out" ;; esac

export GOTOOLCHAIN=auto CGO_ENABLED=0 GOWORK=off
mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

programs=()
for platform in "$@"; do
  program="${platform#*=}"
  if [ "$program" = "$platform" ]; then
    program="$work/${platform//\//-}"
    hack/build.sh "$version" "$platform" "$program"
  fi
  programs+=("${platform%%=*}=$(realpath "$program")")
done
(cd hack/image && go run . -o "$out" -version "$version" -name "${IMAGE:-cardea}" "${programs[@]}")
echo "$out"
