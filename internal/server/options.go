package server

import (
	"errors"
	"log/slog"

	"cardea.dev/cardea/internal/dialect"
)

// Audience is what the tokens are for that proxies show.
const Audience = "cardea.dev/xds"

// Options say which cluster to serve, and how.
type Options struct {
	Dialects []dialect.Dialect // the data planes, at least one

	Kubeconfig, Context string // "" is the cluster that this program runs in, else what kubectl would use

	Namespace string // Cardea's own: its authority's Secret and its Service are there
	Service   string // that proxies reach XDS by
	XDSPort   int32  // of the Service
	XDS       string // host:port that the xDS server listens on
	Image     string // of proxies, where a DataPlane states none

	Admin   string // host:port of the admin API
	Probes  string // host:port of health, readiness and metrics for the kubelet and Prometheus
	Log     *slog.Logger
	OnAdmin func(addr string) // hears where the admin API listens; nil: nobody
}

// serverName is the DNS name that proxies reach xDS by, and that the server's certificate has.
func (o Options) serverName() string { return o.Service + "." + o.Namespace + ".svc" }

// SecretName is the name of the Secret of the authority that proxies trust.
func SecretName(service string) string { return service + "-xds" }

func (o *Options) complete() error {
	if len(o.Dialects) == 0 {
		return errors.New("server: a data plane is needed")
	}
	if o.Namespace == "" || o.Service == "" || o.XDSPort == 0 || o.XDS == "" || o.Image == "" || o.Admin == "" {
		return errors.New(
			"server: a namespace, a Service and its port, the addresses of xDS and of the admin API, and the proxies' image " +
				"are needed",
		)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
