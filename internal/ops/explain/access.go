package explain

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/kind"
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

// AccessKinds are the kinds of backends that may be servers of MCP, those first that are nothing else.
func AccessKinds(all *kind.Catalog) (list []model.Kind) {
	for _, only := range []bool{true, false} {
		for _, k := range all.Backends() {
			if k.Backend.Tools != kind.NoTools && (k.Backend.Path != nil) == only {
				list = append(list, k.Kind)
			}
		}
	}
	return list
}

// accessQuestion is the question who may ask a backend for what.
type accessQuestion struct {
	backend model.ObjectRef
	access  Access
}

func (a *accessQuestion) gatherRefs(*inquiry)      {}
func (a *accessQuestion) doSlowWork() error        { return nil }
func (a *accessQuestion) stillHolds(*inquiry) bool { return true }

func (a *accessQuestion) writeStory(q *inquiry) {
	a.access = Access{Backend: a.backend.String()}
	tools := q.world.Sources.Catalog.FindKind(a.backend.Kind()).Backend.Tools
	routes := flow.All(q.view, q.world.Plan.Routes)
	for ref, route := range routes {
		for _, rule := range route.Rules {
			index := slices.IndexFunc(rule.Backends, func(b model.WeightedBackend) bool {
				return b.Backend.Object == a.backend && (b.MCP || tools == kind.ToolsAlways)
			})
			if index < 0 {
				continue
			}
			for _, place := range route.Listeners {
				at := AccessPlace{
					Rule:     fmt.Sprintf("rule %s of %s", rule.Key.Name, ref),
					Listener: fmt.Sprintf("listener %s of %s", place.Listener.Describe(place.Gateway), place.Gateway),
				}
				pieces := q.world.Policies.ToBackend(q.policySnapshot(), place.Gateway, place.Listener, rule.Key, index)
				grants, stated := q.world.Policies.ListGrants(pieces, nil)
				at.Grants, at.Open, at.Tools = grants, !stated, q.world.Policies.NamedTools(pieces)
				if a.access.Server == nil {
					a.access.Server = q.findServer(plan.BackendKey{Gateway: place.Gateway, Backend: rule.Backends[index].Backend})
				}
				a.access.Places = append(a.access.Places, at)
			}
		}
	}
}

// findServer is where a backend is for the proxies of a Gateway.
func (q *inquiry) findServer(key plan.BackendKey) *Server {
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
	of := key.Backend.Object
	if path := q.world.Sources.Catalog.FindKind(of.Kind()).Backend.Path; path != nil {
		if o, found := q.world.Sources.KindSource(of.Kind()).Get(q.view, of); found {
			s.Path = path(o.Spec)
		}
	}
	return &s
}

// ExplainAccess tells who may ask a backend for what.
func (e *Explainer) ExplainAccess(backend model.ObjectRef) (Access, error) {
	a := &accessQuestion{backend: backend}
	err := e.answerQuestion(a)
	return a.access, err
}
