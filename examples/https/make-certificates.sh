#!/usr/bin/env bash
# Makes certificates.yaml anew: self-signed certificates for trying things out, valid for 100 years. Their keys are public.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

secret() { # name, host
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj "/CN=$2" \
    -addext "subjectAltName=DNS:$2" -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null
  cat <<YAML
---
apiVersion: v1
kind: Secret
metadata:
  name: $1
  namespace: https
type: kubernetes.io/tls
stringData:
  tls.crt: |
$(sed 's/^/    /' "$work/cert.pem")
  tls.key: |
$(sed 's/^/    /' "$work/key.pem")
YAML
}

{
  echo "# Made by make-certificates.sh, for trying things out only: everybody has these keys."
  secret shop shop.localhost
  secret tenants '*.tenants.localhost'
} >certificates.new
mv certificates.new certificates.yaml # at once, never half a file
