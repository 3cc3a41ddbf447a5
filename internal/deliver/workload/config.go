package workload

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/clock"

	"cardea.dev/cardea/internal/deliver/kube/identity"
)

// Identity is a ServiceAccount, and the socket by which programs become it.
type Identity struct{ Namespace, Account, Socket string }

// ParseIdentity reads "NAMESPACE/NAME=SOCKET".
func ParseIdentity(text string) (i Identity, err error) {
	const want = "want NAMESPACE/NAME=SOCKET, such as shop/agent=/run/agent/identity.sock"
	id, socket, both := strings.Cut(text, "=")
	namespace, account, named := strings.Cut(id, "/")
	if !both || !named || socket == "" {
		return i, errors.New(want)
	}
	if errs := validation.IsDNS1123Label(namespace); len(errs) > 0 {
		return i, fmt.Errorf("namespace %q: %s; %s", namespace, errs[0], want)
	}
	if errs := validation.IsDNS1123Subdomain(account); len(errs) > 0 {
		return i, fmt.Errorf("ServiceAccount %q: %s; %s", account, errs[0], want)
	}
	return Identity{namespace, account, socket}, nil
}

// Config is what a Server needs.
type Config struct {
	Identities  []Identity
	TrustDomain string             // of SPIFFE IDs, such as cluster.local
	Authority   identity.Authority // it is run by Run
	// BundleFile is the path of a file that gets the ClusterTrustBundle of the authority; "": none.
	BundleFile string
	Clock      clock.Clock
	Log        *slog.Logger // nil: nothing is logged
}

func (c *Config) setDefaults() error {
	if c.Authority == nil || c.TrustDomain == "" || len(c.Identities) == 0 {
		return errors.New("workload: identities, their trust domain and an authority are needed")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
