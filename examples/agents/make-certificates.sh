#!/usr/bin/env bash
# Makes certificates.yaml and the files of certificates/ anew: an authority, a server's certificate and two agents' ones,
# valid for 100 years. Their keys are public.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

openssl req -x509 "${key[@]}" -days 36500 -subj "/CN=authority of the example" -keyout "$work/ca.key" \
  -out "$work/ca.crt" 2>/dev/null

signed() { # name, alternative name
  openssl req "${key[@]}" -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.csr" 2>/dev/null
  openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 36500 -out "$work/$1.crt" \
    -extfile <(echo "subjectAltName=$2") 2>/dev/null
}

signed tools DNS:tools.localhost
for agent in accountant buyer; do
  signed "$agent" "URI:spiffe://cluster.local/ns/agents/sa/$agent"
  cp "$work/$agent.crt" "$work/$agent.key" certificates/
done
cp "$work/ca.crt" certificates/

cat >certificates.new <<YAML
# Made by make-certificates.sh, for trying things out only: everybody has these keys.
apiVersion: v1
kind: ConfigMap
metadata:
  name: authority
  namespace: agents
data:
  ca.crt: |
$(sed 's/^/    /' "$work/ca.crt")
---
apiVersion: v1
kind: Secret
metadata:
  name: tools
  namespace: agents
type: kubernetes.io/tls
stringData:
  tls.crt: |
$(sed 's/^/    /' "$work/tools.crt")
  tls.key: |
$(sed 's/^/    /' "$work/tools.key")
YAML
mv certificates.new certificates.yaml # at once, never half a file
