package live

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestAnAuthorizationServerMakesNoRequests: what its answer says of its own length is not said of the client's request,
// though it were asked for. Else the backend would take the request's body for another request.
func TestAnAuthorizationServerMakesNoRequests(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allowed-By", "auth")
		w.Header().Set("Host", "forged")
		w.Header().Set("X-Envoy-Auth-Headers-To-Remove", "claimed")
		w.WriteHeader(http.StatusOK) // and no body: Content-Length: 0
	}))
	t.Cleanup(server.Close)
	s := prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80), "blue.yaml", serviceFile("blue", "blue")))
	s.ports["auth"] = server.Listener.Addr().(*net.TCPAddr).Port
	s.write("auth.yaml", serviceFile("auth", "auth"))
	auth := func(response string) string {
		return "filters: [{type: ExternalAuth, externalAuth: {protocol: HTTP, backendRef: {name: auth, port: 80}, http: {" +
			response + "}}}], "
	}
	s.write("route.yaml", routeFile("web", "shop.example",
		"{matches: [{path: {value: /all}}], "+auth("")+to("blue")+"}",
		"{matches: [{path: {value: /stated}}], "+auth("allowedResponseHeaders: [allowed-by, content-length]")+to("blue")+"}"))
	s.start(unchecked)
	s.Ready(t)
	s.expect("POST http://shop.example/all -H claimed:admin -d 12345678 -> 200 blue body-bytes=8 host=shop.example " +
		"header.allowed-by=auth header.claimed=\n" +
		"POST http://shop.example/stated -d 12345678 -> 200 blue body-bytes=8 host=shop.example header.allowed-by=auth")
}
