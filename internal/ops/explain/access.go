package explain

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
	"cardea.dev/cardea/internal/core/request"
)

// Access is who may ask a backend for what, at each place that sends requests to it.
type Access struct {
	Backend string        `json:"backend"` // "XBackend shop/tools"
	Places  []AccessPlace `json:"places,omitempty"`
	Server  *Server       `json:"server,omitempty"` // nil: no proxy sends it requests
}

// Server is where a backend takes messages of MCP.
type Server struct {
	Addresses []string `json:"addresses,omitempty"` // "10.0.0.7:8080", "tools.example:443"
	Path      string   `json:"path,omitempty"`      // "": wherever a request goes
	TLS       *TLS     `json:"tls,omitempty"`       // nil: plaintext
}

// TLS is how a Server is spoken to.
type TLS struct {
	Hostname    string `json:"hostname"`              // asked for, and in the certificate
	CA          string `json:"ca,omitempty"`          // authorities for the certificate, in PEM; "": the system's
	Certificate string `json:"certificate,omitempty"` // the Secret that proxies show; "": none
}

// AccessPlace is a rule at a listener.
type AccessPlace struct {
	Rule     string          `json:"rule"`     // "rule tools of HTTPRoute shop/web"
	Listener string          `json:"listener"` // "listener https of Gateway infra/edge"
	Grants   []request.Grant `json:"grants,omitempty"`
	// Tools are those that rules name.
	Tools []request.NamedTool `json:"tools,omitempty"`
	// Open: no access policy is stated, so everybody may ask for everything.
	Open bool `json:"open,omitempty"`
}

// AccessKinds are the kinds of backends that may be servers of MCP: Services are, for rules that name MCPTools.
func AccessKinds() []model.Kind {
	return []model.Kind{model.KindMCPBackend, model.KindXBackend, model.KindService}
}

// accessible is the question who may ask a backend for what.
type accessible struct {
	backend model.ObjectRef
	access  Access
}

func (a *accessible) gather(*asked)     {}
func (a *accessible) work() error       { return nil }
func (a *accessible) holds(*asked) bool { return true }

func (a *accessible) tell(q *asked) {
	a.access = Access{Backend: a.backend.String()}
	routes := flow.All(q.view, q.world.Plan.Routes)
	for ref, route := range routes {
		for _, rule := range route.Rules {
			index := slices.IndexFunc(rule.Backends, func(b model.WeightedBackend) bool {
				return b.Backend.Object == a.backend && (b.MCP || a.backend.Kind() != model.KindService)
			})
			if index < 0 {
				continue
			}
			for _, place := range route.Places {
				at := AccessPlace{
					Rule:     fmt.Sprintf("rule %s of %s", rule.Key.Name, ref),
					Listener: fmt.Sprintf("listener %s of %s", place.Listener.Section, place.Gateway),
				}
				pieces := q.world.Policies.ToBackend(q.sight(), place.Gateway, place.Listener, rule.Key, index)
				grants, stated := q.world.Policies.Grants(pieces, nil)
				at.Grants, at.Open, at.Tools = grants, !stated, q.world.Policies.Tools(pieces)
				if a.access.Server == nil {
					a.access.Server = q.server(plan.BackendKey{Gateway: place.Gateway, Backend: rule.Backends[index].Backend})
				}
				a.access.Places = append(a.access.Places, at)
			}
		}
	}
}

// server is where a backend is for the proxies of a Gateway.
func (q *asked) server(key plan.BackendKey) *Server {
	b, found := flow.Get(q.view, q.world.Plan.Backends, key)
	if !found {
		return nil
	}
	var s Server
	if b.Hostname != "" {
		s.Addresses = []string{net.JoinHostPort(b.Hostname, strconv.Itoa(int(b.HostPort)))}
	}
	for _, e := range b.Endpoints {
		s.Addresses = append(s.Addresses, net.JoinHostPort(e.Address, strconv.Itoa(int(e.Port))))
	}
	if b.TLS != nil {
		s.TLS = &TLS{Hostname: b.TLS.Hostname, CA: b.TLS.CA}
		if b.TLS.Certificate != (model.ObjectRef{}) {
			s.TLS.Certificate = b.TLS.Certificate.String()
		}
	}
	if key.Backend.Object.Kind() == model.KindMCPBackend {
		if o, found := flow.Get(q.view, q.world.Sources.MCPBackends.Collection(), key.Backend.Object); found {
			s.Path = o.Spec.MCP.Path
		}
	}
	return &s
}

// Access tells who may ask a backend for what.
func (e *Explainer) Access(backend model.ObjectRef) (Access, error) {
	a := &accessible{backend: backend}
	err := e.ask(a)
	return a.access, err
}
