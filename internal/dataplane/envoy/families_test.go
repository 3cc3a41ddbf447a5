package envoy

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"

	"cardea.dev/cardea/internal/test/testcert"
)

// TestPodEnvoyOfBothFamilies: what a pod of two families of IP binds answers at the addresses of each, and so do its
// probes.
func TestPodEnvoyOfBothFamilies(t *testing.T) {
	if l, err := net.Listen("tcp6", "[::1]:0"); err == nil {
		_ = l.Close()
	} else if os.Getenv("CI") == "" {
		t.Skip("IPv6 is needed: ", err)
	}
	state, port := podWorld(t, "0.0.0.0", "::")
	authority := testcert.NewAuthority("xds")
	server := newPodServer(t, state, serves(authority, podServerName))
	e := startPodEnvoyAt(t, "::", server, authority.Certificate, "token")
	e.awaitReady()
	_, probes, err := net.SplitHostPort(e.probes[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1", "[::1]"} {
		for _, url := range []string{fmt.Sprintf("http://%s:%d/", address, port),
			fmt.Sprintf("http://%s:%s/live", address, probes)} {
			resp, err := client(t, nil).Get(url)
			if err != nil {
				t.Error(err)
				continue
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", url, resp.Status)
			}
		}
	}
}
