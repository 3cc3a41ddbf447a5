package xds

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"cardea.dev/cardea/internal/resource"
)

// Each tells how far each connected proxy of a Gateway is with a resource, by the proxies' nodes. It must not be called
// in a View, for which the server may wait.
func (s *Server) Each(key resource.Key) []resource.Proxy {
	s.mu.Lock()
	f := s.fleets[key.Gateway]
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f.each(resource.Name{Type: key.Type, Name: key.Name})
}

func (f *fleet) each(n resource.Name) (list []resource.Proxy) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.set.lookup(n)
	for st := range f.set.streams {
		p := st.who()
		if e != nil {
			newest, uses := st.newest(e)
			p.Acknowledged = uses && newest
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b resource.Proxy) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// newest tells whether the proxy has acknowledged a resource as it is now: as the graph says, or as it is offered while
// it serves. uses is false if it never asked for it.
func (st *stream) newest(e *entry) (newest, uses bool) {
	v, uses := st.accepted(e)
	return v != nil && (v.equal(e.current) || v.equal(e.offer) && e.state == serving), uses
}

// behind is the metric of how far each proxy is. It costs what differs at a proxy, and what is offered in place of what
// the graph says.
type behind struct {
	server *Server
	desc   *prometheus.Desc
}

func newBehind(s *Server) behind {
	return behind{s, prometheus.NewDesc(
		"cardea_proxy_behind", "Resources that a connected proxy uses and has not acknowledged as they are now.",
		[]string{"gateway", "proxy", "version"}, nil,
	)}
}

// Describe tells the only metric.
func (b behind) Describe(to chan<- *prometheus.Desc) { to <- b.desc }

// Collect counts for each proxy.
func (b behind) Collect(to chan<- prometheus.Metric) {
	b.server.mu.Lock()
	fleets := make([]*fleet, 0, len(b.server.fleets))
	for _, f := range b.server.fleets {
		fleets = append(fleets, f)
	}
	b.server.mu.Unlock()
	for _, f := range fleets {
		for st, n := range f.behind() {
			to <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(n), f.gateway.NamespacedName(), st.Node,
				st.Version)
		}
	}
}

// behind counts for each proxy what it has not acknowledged. Two streams of a node, of which one is about to end, count
// as one.
func (f *fleet) behind() map[resource.Proxy]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := map[resource.Proxy]int{}
	for st := range f.set.streams {
		p := st.who()
		n[p] += 0
		count := func(e *entry) {
			if newest, uses := st.newest(e); uses && !newest {
				n[p]++
			}
		}
		for _, items := range st.items { // what has none is accepted as it is offered
			for _, it := range items {
				if it.entry != nil {
					count(it.entry)
				}
			}
		}
		for e := range f.set.apart {
			if st.items[e.name.Type][e.name.Name] == nil {
				count(e)
			}
		}
	}
	return n
}
