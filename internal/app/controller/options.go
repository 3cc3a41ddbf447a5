package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/xds"
	"cardea.dev/cardea/internal/ops/admin"
)

// Audience is the audience of the proxies' tokens.
const Audience = "cardea.dev/xds"

// Options say which cluster to serve, and how.
type Options struct {
	Dialects   []dataplane.Dialect // the data planes, at least one
	Extensions []world.Extension   // kinds that are read besides Cardea's own

	Kubeconfig, Context string // "" is the cluster that this program runs in, else what kubectl would use

	Namespace string // of this program: the authority's Secret and the Service are there
	Service   string // the xDS server, for proxies
	XDSPort   int32  // of the Service
	XDS       string // host:port where the xDS server listens
	Image     string // of proxies, if no DataPlane sets one; "": that of their data plane
	// PickerImage is the image of this program. It runs the pickers of InferencePools that name no picker; "": none are
	// run.
	PickerImage string

	Budgets       model.Budgets // of what is rendered for a Gateway; the zero Budgets bound nothing
	ClusterDomain string        // the cluster's DNS domain
	TrustDomain   string        // of ServiceAccounts' SPIFFE IDs
	// IdentitySigner is the name by which pods ask for certificates with the SPIFFE IDs of their ServiceAccounts; "": none
	// are signed.
	IdentitySigner string
	// EgressExcept are the addresses that proxies must not reach; none: nothing bounds what they reach.
	EgressExcept []netip.Prefix
	// FetchExcept are more addresses that this program itself fetches nothing from that policies name.
	FetchExcept []netip.Prefix
	XDSLimits   xds.Limits // of a Gateway's proxies; what is 0 is as by default

	// ConfigMapSync is how long a cluster takes to bring a ConfigMap to the pods: the time between the steps of an edit of
	// files that proxies read by themselves.
	ConfigMapSync time.Duration

	// Ledger, if it names a server, is asked for what is to be applied to the cluster.
	Ledger LedgerOptions

	Admin       string       // host:port of the admin API
	AdminAccess admin.Access // who may ask it
	Probes      string       // host:port of health, readiness and metrics, for the kubelet and Prometheus; "" for none
	Log         *slog.Logger
	OnAdmin     func(addr string) // is called with the address of the admin API; nil: not called
}

// LedgerOptions say which ledger this cluster's objects are applied from.
type LedgerOptions struct {
	URL       string // of a `cardea ledger serve`; "": none
	TokenFile string // with the token of the cluster's worker
	CAFile    string // with the authorities of the server's certificate; "": those of the machine
	Cluster   string // the cluster's name in the ledger
}

// serverName is the DNS name of the xDS server for proxies. The server's certificate has it.
func (o Options) serverName() string { return o.Service + "." + o.Namespace + ".svc" }

// SecretName is the name of the Secret of the certificate authority for xDS.
func SecretName(service string) string { return service + "-xds" }

func (o *Options) completeOptions() error {
	if len(o.Dialects) == 0 {
		return errors.New("server: a data plane is needed")
	}
	if o.Namespace == "" || o.Service == "" || o.XDSPort == 0 || o.XDS == "" || o.Admin == "" {
		return errors.New(
			"server: a namespace, a Service and its port, and the addresses of xDS and of the admin API are needed",
		)
	}
	if errs := validation.IsDNS1123Subdomain(o.ClusterDomain); len(errs) > 0 {
		return fmt.Errorf("--cluster-domain %q: %s", o.ClusterDomain, strings.Join(errs, "; "))
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
