package standalone

import (
	"context"
	"time"

	"cardea.dev/cardea/internal/dialect"
	"cardea.dev/cardea/internal/resource"
)

// connectionsPatience is how long a proxy may take to tell how connections to a backend went.
const connectionsPatience = 2 * time.Second

// connections asks a Gateway's proxy how connections to a backend went; false if it does not run, or does not answer.
func (p *proxies) connections(backend resource.Key) (dialect.Connections, bool) {
	p.mu.Lock()
	c := p.children[backend.Gateway]
	p.mu.Unlock()
	if c == nil {
		return dialect.Connections{}, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectionsPatience)
	defer cancel()
	how := c.dialect.Child
	answer, err := ask(ctx, adminClient(adminSocket(proxyDir(p.dir, backend.Gateway))), how.ConnectionsPath(backend))
	return how.Connections(answer), err == nil
}
