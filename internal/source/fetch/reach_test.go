package fetch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"cardea.dev/cardea/internal/core/model"
)

// names is a DNS server of addresses, by whole names.
type names struct {
	addresses map[string][]string
	mu        sync.Mutex
	asked     []string
}

func (n *names) resolver(t *testing.T) *net.Resolver {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for buffer := make([]byte, 1500); ; {
			size, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply, err := n.reply(buffer[:size]); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) reply(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	name := m.Questions[0].Name
	lower := strings.ToLower(name.String())
	n.mu.Lock()
	n.asked = append(n.asked, lower)
	n.mu.Unlock()
	m.Response, m.Additionals = true, nil
	for _, text := range n.addresses[lower] {
		address, head := netip.MustParseAddr(text), dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}
		switch {
		case address.Is4() && m.Questions[0].Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: address.As4()}})
		case !address.Is4() && m.Questions[0].Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers,
				dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}})
		}
	}
	return m.Pack()
}

// TestReach: in a cluster, what names resolve to counts, of each address and wherever redirects lead; hosts that mean
// something of the cluster, or addresses, are not asked; names are whole; and nobody is told what answered.
func TestReach(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		fmt.Fprint(w, keys)
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dns := &names{addresses: map[string][]string{
		"login.example.": {"127.0.0.1"}, "web.shop.": {"127.0.0.1"}, "metadata.example.": {"169.254.169.254"},
		"azure.example.": {"168.63.129.16"}, "nat64.example.": {"64:ff9b::a9fe:a9fe"}, "api.example.": {"127.96.0.1"},
		"both.example.": {"127.96.0.1", "127.0.0.1"}, "mapped.example.": {"::ffff:127.96.0.1"},
		"translated.example.": {"64:ff9b::7f60:1"},
	}}
	w := newFetcher(t)
	w.fetcher.resolver = dns.resolver(t)
	w.fetcher.cfg.Reach = Reach{ClusterDomain: "cluster.local", Except: []netip.Prefix{
		netip.MustParsePrefix("127.96.0.0/16"), netip.MustParsePrefix("::1/128"),
	}}
	const forbidden = "an address from which Cardea fetches nothing"
	for host, want := range map[string]string{
		"login.example": "", "web.shop": "", "LOGIN.example.": "", "both.example": "",
		"metadata.example": "the credentials of machines", "azure.example": "the credentials of machines",
		"nat64.example": "the credentials of machines", "api.example": forbidden, "mapped.example": forbidden,
		"translated.example": forbidden, "nothing.example": "DNS has no address of nothing.example.", // looked up as it is
		"localhost": "own machine", "LocalHost": "own machine", "kubernetes": "one label",
		"kubernetes.default.svc": "name of the cluster", "kubernetes.default.SVC.": "name of the cluster",
		"api.default.svc.cluster.local": "name of the cluster", "127.0.0.1": "IP address", "[::1]": "IP address",
		"2130706433": "IP address", "127.1": "IP address", "kubernetes.default\u3002svc": "name of the cluster",
	} {
		for _, url := range []string{
			"http://" + host + ":" + port, "http://login.example:" + port + "/?to=http://" + host + ":" + port,
		} {
			_, err := w.fetcher.requestDocument(t.Context(), model.FetchKey{URL: url}, model.FetchSpec{}, "")
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", url, err, want)
			}
			if err != nil && w.fetcher.cfg.Reach.reportError(err) != "the log of Cardea's controller says why" {
				t.Errorf("%s: %q is told", url, w.fetcher.cfg.Reach.reportError(err))
			}
		}
	}
	if i := slices.IndexFunc(dns.asked, func(name string) bool { return dns.addresses[name] == nil }); dns.asked[i] !=
		"nothing.example." {
		t.Errorf("DNS was asked for %v, want whole names that may be asked for", dns.asked)
	}
	_, err := w.fetcher.requestDocument(t.Context(), model.FetchKey{URL: "http://login.example"},
		model.FetchSpec{Backend: &model.Backend{}}, "")
	if got := w.fetcher.cfg.Reach.reportError(err); got != "the backend has no endpoints" {
		t.Errorf("of a backend, %q is told", got)
	}
}

// TestOwnMachine: none of a machine's addresses of itself is outside of what a controller excepts.
func TestOwnMachine(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "0.0.0.0": true, "::": true, "::ffff:127.0.0.1": true,
		"64:ff9b::7f00:1": true, "10.0.0.1": false, "fd00::1": false, "192.168.0.1": false,
	} {
		if got := model.InNetworks(netip.MustParseAddr(address), OwnMachine); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
