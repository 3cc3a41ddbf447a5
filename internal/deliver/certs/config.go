package certs

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Config is what an Authority needs.
type Config struct {
	// REST should make each request once (kubeclient.NoRetryConfig). Without it, the keys are in memory only, and end with
	// the process.
	REST            *rest.Config
	Namespace, Name string // of the Secret; it is created if it does not exist
	// DNSNames are those of the server that serves with a certificate of this authority; none: it serves nothing, and
	// only signs for others.
	DNSNames []string
	Purpose  string // what it signs for, in its names, in metrics and in the log; "": xDS
	Times    Times  // zero means DefaultTimes
	Clock    clock.Clock
	Log      *slog.Logger          // nil: nothing is logged
	Metrics  prometheus.Registerer // nil: none
}

// Times are the durations of a rotation.
type Times struct {
	Authority time.Duration // life of an authority; its rotation begins after two thirds of it
	Server    time.Duration // life of a server's certificate; it is renewed after half of it
	// Step is how long each step of a rotation lasts. It must be longer than it takes until everyone that trusts the
	// authority has a new bundle, and longer than the life of a certificate that it has signed for others.
	Step time.Duration
}

// DefaultTimes are for production. A kubelet shows a changed ConfigMap within two minutes.
var DefaultTimes = Times{Authority: 365 * 24 * time.Hour, Server: 24 * time.Hour, Step: 24 * time.Hour}

func (c *Config) setDefaults() error {
	if c.REST != nil && (c.Namespace == "" || c.Name == "") {
		return errors.New("certs: a Secret's namespace and name are needed")
	}
	c.Purpose = cmp.Or(c.Purpose, "xDS")
	if c.Times == (Times{}) {
		c.Times = DefaultTimes
	}
	if c.Times.Authority <= 0 || c.Times.Server <= 0 || c.Times.Step <= 0 {
		return errors.New("certs: all times must be greater than 0")
	}
	if c.Times.Step*2 >= c.Times.Authority/3 {
		return errors.New("certs: two steps must be shorter than a third of an authority's life")
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
