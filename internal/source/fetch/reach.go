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
// credentials (model.MetadataNetworks).
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

// checkAddress is called before each connection, when the address is known.
func (r Reach) checkAddress(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	switch {
	case err != nil:
		return refusalError("its host has no address")
	case model.IsMetadata(to.Addr()):
		return refusalError("its host has an address of a metadata service, which has the credentials of machines: " +
			to.Addr().String())
	case model.InNetworks(to.Addr(), r.Except):
		return refusalError("its host has an address from which Cardea fetches nothing: " + to.Addr().String())
	}
	return nil
}

// dialFunc connects to the host of a URL, which may be one to which an answer led.
func (r Reach) dialFunc(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	if r.ClusterDomain == "" {
		return dialer.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if why := model.HostProblem(host, r.ClusterDomain, "controller", "nothing is fetched from there"); why != "" {
			return nil, refusalError(why)
		}
		return dialer.DialContext(ctx, network, net.JoinHostPort(absoluteName(host), port))
	}
}

// absoluteName is a name that is looked up as it is.
func absoluteName(host string) string { return strings.TrimSuffix(host, ".") + "." }

// reportError says why a document can't be fetched to those who name it.
func (r Reach) reportError(err error) string {
	if _, is := err.(notRequestedError); is || r.ClusterDomain == "" {
		return err.Error()
	}
	return "the log of Cardea's controller says why"
}
