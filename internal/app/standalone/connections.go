package standalone

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/core/dataplane"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/resource"
	"cardea.dev/cardea/internal/deliver/process"
)

// connectionsPatience is how long a proxy may take to tell how connections to a backend went.
const connectionsPatience = 2 * time.Second

// connections asks a Gateway's proxy how connections to a backend went; false if it does not run, or does not answer.
func (p *proxies) connections(backend resource.Key) (dataplane.Connections, bool) {
	how, ok := p.child(backend.Gateway)
	if !ok {
		return dataplane.Connections{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectionsPatience)
	defer cancel()
	answer, err := process.Page(ctx, adminClient(adminSocket(proxyDir(p.dir, backend.Gateway))),
		adminURL+how.ConnectionsPath(backend))
	return how.Connections(answer), err == nil
}

// metrics are the metrics of a Gateway's proxy, as text for Prometheus; false if it does not run.
func (p *proxies) metrics(ctx context.Context, gateway model.ObjectRef) ([]byte, bool, error) {
	how, ok := p.child(gateway)
	if !ok {
		return nil, false, nil
	}
	text, err := process.Page(ctx, adminClient(adminSocket(proxyDir(p.dir, gateway))), adminURL+how.MetricsPath)
	return text, true, err
}

// child is how a Gateway's proxy runs here; false if it does not.
func (p *proxies) child(gateway model.ObjectRef) (dataplane.Child, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.children[gateway]
	if c == nil {
		return dataplane.Child{}, false
	}
	return c.dialect.Child, true
}
