package standalone

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/deliver/process"
)

// connectionsTimeout is how long a proxy may take to tell how connections to a backend went.
const connectionsTimeout = 2 * time.Second

// connectionCounts asks a Gateway's proxy how connections to a backend went; false if it does not run, or does not
// answer.
func (p *proxyRunner) connectionCounts(backend resource.Key) (dataplane.ConnectionCounts, bool) {
	how, ok := p.childOf(backend.Gateway)
	if !ok {
		return dataplane.ConnectionCounts{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectionsTimeout)
	defer cancel()
	answer, err := process.FetchPage(ctx, adminClient(adminSocket(proxyDir(p.dir, backend.Gateway))),
		adminURL+how.ConnectionsPath(backend))
	return how.Connections(answer), err == nil
}

// proxyMetrics are the metrics of a Gateway's proxy, as text for Prometheus; false if it does not run.
func (p *proxyRunner) proxyMetrics(ctx context.Context, gateway model.ObjectRef) ([]byte, bool, error) {
	how, ok := p.childOf(gateway)
	if !ok {
		return nil, false, nil
	}
	text, err := process.FetchPage(ctx, adminClient(adminSocket(proxyDir(p.dir, gateway))), adminURL+how.MetricsPath)
	return text, true, err
}

// childOf is how a Gateway's proxy runs here; false if it does not.
func (p *proxyRunner) childOf(gateway model.ObjectRef) (dataplane.ChildProcess, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.children[gateway]
	if c == nil {
		return dataplane.ChildProcess{}, false
	}
	return c.dialect.Child, true
}
