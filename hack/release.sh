#!/usr/bin/env bash
# Makes everything of a release in dist/: programs, their checksums, the image's archive, the manifest that names it,
# and the CRDs of other projects.
#
#   hack/release.sh VERSION                      IMAGE=registry.example/cardea hack/release.sh v0.1.0
#
# $IMAGE is the image's name, with its registry or without ("cardea"). Nothing is uploaded.
set -euo pipefail
cd "$(dirname "$0")/.."

version=${1:-} image=${IMAGE:-cardea}
[[ "$version" =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || {
  echo "release: the version is \"$version\", want for example v0.1.0" >&2
  exit 2
}
platforms=(linux/amd64 linux/arm64 darwin/amd64 darwin/arm64)

rm -rf dist
mkdir dist
for platform in "${platforms[@]}"; do
  echo "release: $platform" >&2
  hack/build.sh "$version" "$platform" "dist/cardea-$version-${platform//\//-}"
done
hack/manifest.sh "$image:$version" >dist/install.yaml
cp deploy/third-party-crds.yaml dist/
hack/image.sh "$version" "dist/cardea-$version-image.tar" "linux/amd64=dist/cardea-$version-linux-amd64" \
  "linux/arm64=dist/cardea-$version-linux-arm64" >/dev/null
(cd dist && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
