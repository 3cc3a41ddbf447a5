package fetch

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"cardea.dev/cardea/internal/core/model"
)

// Reach says what this program connects to for others. No Reach connects to the addresses at which machines find their
// credentials (model.Metadata).
type Reach struct {
	// ClusterDomain is the DNS domain of the cluster that this program serves. Users who state URLs there are not trusted
	// with what it reaches: hosts can't be what model.HostProblem refuses, are whole names, which no search domain
	// completes, and nobody is told what answered. "": who states a URL runs this program, on their own machine.
	ClusterDomain string
	// Except are more networks that are never connected to.
	Except []netip.Prefix
}

// OwnMachine are the networks in which a program reaches its own machine.
var OwnMachine = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("::/128"),
}

// control is called before each connection, when the address is known.
func (r Reach) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return refusal("its host has no address")
	case model.IsMetadata(to.Addr()):
		return refusal("its host has an address at which machines find their credentials, " + to.Addr().String())
	case model.Within(to.Addr(), r.Except):
		return refusal("its host has an address that nothing is fetched from, " + to.Addr().String())
	}
	return nil
}

// dial connects to the host of a URL, which may be one to which an answer led.
func (r Reach) dial(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	if r.ClusterDomain == "" {
		return dialer.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if why := model.HostProblem(host, r.ClusterDomain, "controller", "nothing is fetched from there"); why != "" {
			return nil, refusal(why)
		}
		return dialer.DialContext(ctx, network, net.JoinHostPort(whole(host), port))
	}
}

// whole is a name that is looked up as it is.
func whole(host string) string { return strings.TrimSuffix(host, ".") + "." }

// tell says why a document can't be fetched to those who name it.
func (r Reach) tell(err error) string {
	if _, is := err.(unasked); is || r.ClusterDomain == "" {
		return err.Error()
	}
	return "the log of Cardea's controller says why"
}
