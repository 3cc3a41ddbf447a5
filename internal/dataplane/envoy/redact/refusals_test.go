package redact

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/dataplane/envoy/xdstypes"
)

func TestRefusedResources(t *testing.T) {
	const lds, cds = "Error adding/updating listener(s) ", "Error adding/updating cluster(s) "
	for _, c := range []struct {
		name    string
		typ     resource.Type
		sent    string
		message string
		want    string
	}{
		{"listeners, a line each", xdstypes.Listener, "80 443 8080", lds + "80: bad\n8080: worse", "80 8080"},
		{"clusters, after commas", xdstypes.Cluster, "a b c", cds + "a: bad, c: worse", "a c"},
		{"the only one, whatever is said", xdstypes.Listener, "80", "no", "80"},
		{"a name in another one's words", xdstypes.Listener, "443 80", lds + "443: chains 'x', 80: and 'y' clash", "443"},
		{"a name at the end of another one's words", xdstypes.Listener, "443 80", lds +
			"443: cannot bind 'host:80': in use", "443"},
		{"a name that another one begins with", xdstypes.Listener, "80 8080", lds + "8080: bad", "8080"},
		{"a name that another one ends with", xdstypes.Cluster, "a/b b", cds + "a/b: bad", "a/b"},
		{"what was sent before can't be named after", xdstypes.Cluster, "a b", cds + "b: at x, a: no", "b"},
		{"a name that was not sent", xdstypes.Listener, "80 443", lds + "9090: bad\n443: bad", ""},
		{"several lines about one", xdstypes.Listener, "80 443 90", lds + "80: filters {\n  port: 443\n}\n90: bad", "80 90"},
		{"a colon in a name", xdstypes.Listener, "a: b a", lds + "a: b: bad", ""},
		{"words that only look so", xdstypes.Cluster, "a b", "Proto constraint(s) a: bad", ""},
		{"nobody is named", xdstypes.Cluster, "a b", "Proto constraint validation failed", ""},
		{"a type that Envoy never names", xdstypes.Endpoints, "a b", cds + "a: bad", ""},
		{"nothing after the prefix", xdstypes.Cluster, "a b", cds, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			sent := strings.Fields(c.sent)
			if strings.Contains(c.sent, ":") {
				sent = []string{"a: b", "a"}
			}
			found := (RefusalParser{}).ParseRefusal(c.typ, sent, c.message)
			if got := strings.Join(slices.DeleteFunc(sent, func(n string) bool { return found[n].Message == "" }),
				" "); got != c.want || len(found) > len(sent) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestReasons: each has the words that it would have if it had been alone in the response.
func TestReasons(t *testing.T) {
	const lds = "Error adding/updating listener(s) "
	found := (RefusalParser{}).ParseRefusal(xdstypes.Listener, []string{"80", "443", "90"},
		lds+"80: filters {\n  port: 443\n}\n90: cannot bind 'a:90': no")
	if len(found) != 2 || found["80"].Message != lds+"80: filters {\n  port: 443\n}" ||
		found["90"].Message != lds+"90: cannot bind 'a:90': no" {
		t.Errorf("%q", found)
	}
}

// FuzzRefusals: whatever the words are, only what was sent is named, and in this order; and no word is lost.
func FuzzRefusals(f *testing.F) {
	f.Add("Error adding/updating listener(s) 80: bad\n443: bad")
	f.Add("Error adding/updating listener(s) 443: bad\n80: bad\n443: bad")
	sent := []string{"80", "443", "8080"}
	prefix := refusalFormats[xdstypes.Listener].prefix
	f.Fuzz(func(t *testing.T, message string) {
		found := (RefusalParser{}).ParseRefusal(xdstypes.Listener, sent, message)
		var words []string
		for _, name := range sent {
			if reason, named := found[name]; named {
				said := reason.Message
				words = append(words, strings.TrimPrefix(said, prefix))
				if !strings.HasPrefix(said, prefix+name) {
					t.Fatalf("%q is said of %s", said, name)
				}
			}
		}
		if len(words) != len(found) || len(found) > 0 && prefix+strings.Join(words, "\n") != message {
			t.Fatalf("%q", found)
		}
	})
}

// TestBindFailures over what Envoy 1.40 says of addresses, and of content.
func TestBindFailures(t *testing.T) {
	const lds = "Error adding/updating listener(s) "
	for message, want := range map[string]resource.RefusalReason{
		lds + "80: cannot bind '127.0.0.1:80': Address already in use": {Kind: resource.PortTaken, Address: "127.0.0.1:80"},
		lds + "80: cannot bind '[::]:80': Permission denied":           {Kind: resource.PortForbidden, Address: "[::]:80"},
		lds + "80: cannot bind '10.1.2.3:80': Cannot assign requested address": {
			Kind: resource.AddressUnknown, Address: "10.1.2.3:80",
		},
		lds + "80: no such filter: cannot bind '127.0.0.1:80'":                              {},
		lds + "81: cannot bind '127.0.0.1:81': Address already in use":                      {},
		lds + "80: error adding listener: '80' has duplicate address '127.0.0.1:80' as ...": {},
		"cannot bind '127.0.0.1:80': Address already in use":                                {},
	} {
		want.Message = message
		if got := (RefusalParser{}).ParseRefusal(xdstypes.Listener, []string{"80"}, message)["80"]; got != want {
			t.Errorf("%s: %+v, want %+v", message, got, want)
		}
	}
	two := lds + "443: no such filter\n80: cannot bind '127.0.0.1:80': Address already in use"
	found := RefusalParser{}.ParseRefusal(xdstypes.Listener, []string{"443", "80"}, two)
	if found["443"].Kind != resource.ContentRefused || found["80"].Kind != resource.PortTaken {
		t.Errorf("%+v", found)
	}
	if got := (RefusalParser{}).ParseRefusal(xdstypes.Cluster, []string{"80"},
		lds+"80: cannot bind 'a:1'")["80"].Kind; got != resource.ContentRefused {
		t.Errorf("a cluster's address: kind %d", got)
	}
}
