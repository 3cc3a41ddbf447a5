package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/ops/explain"
)

// TestExplainFollowsAnEdit: the story of a request tells the rule that is live, when it was acknowledged and by how
// many proxies, and the story of the route the stages of its last edit.
func TestExplainFollowsAnEdit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Start(t, dir)
	text := strings.ReplaceAll(oneRoute, "${port}", fmt.Sprint(Backend(t, "app")))
	p.Write(t, "web.yaml", text)
	p.Ready(t)
	ask := "/explain?url=" + url.QueryEscape("http://any/old")
	var story explain.Story
	Eventually(t, func() error {
		if story = (explain.Story{}); p.Read(ask, &story) != nil || len(story.Rules) != 1 ||
			!story.Rules[0].Live.Acknowledged {
			return fmt.Errorf("%+v", story)
		}
		return nil
	})
	live := story.Rules[0].Live
	if story.Outcomes[0].Backend != "XBackend default/app" || live.Proxies != 1 || live.Version != "1.40.0" ||
		live.Since == nil {
		t.Errorf("%+v, want app's backend, acknowledged by one proxy of 1.40.0", story)
	}

	p.Write(t, "web.yaml", strings.Replace(text, "rules: [{", "rules: [{matches: [{path: {value: /new}}], ", 1))
	Eventually(t, func() error {
		if story = (explain.Story{}); p.Read(ask, &story) != nil || len(story.Rules) != 0 || len(story.Near) != 1 ||
			story.Outcomes[0].Status != 404 {
			return fmt.Errorf("%+v", story)
		}
		return nil
	})
	if near := story.Near[0]; near.Why != "path /old is not below /new" || near.Where != "web.yaml:12" {
		t.Errorf("near: %+v", near)
	}
	var route explain.Object
	Eventually(t, func() error {
		if route = (explain.Object{}); p.Read("/explain/httproutes/default/web", &route) != nil ||
			route.Stages.Acknowledged == nil {
			return fmt.Errorf("%+v", route)
		}
		return nil
	})
	s := route.Stages
	if s.Edited == nil || s.Read == nil || s.Read.Before(s.Edited.Add(-time.Second)) || s.Sent == nil ||
		s.Sent.Before(*s.Read) ||
		s.Acknowledged.Before(*s.Sent) || !s.Sent.After(*live.Since) {
		t.Errorf("stages %+v, want edited, read, sent, acknowledged in this order, after %s", s, live.Since)
	}
	if b := route.Before; len(b) != 1 || b[0].Stages.Sent == nil || b[0].Stages.Acknowledged == nil ||
		b[0].Stages.Read.After(*b[0].Stages.Sent) ||
		b[0].Stages.Sent.After(*b[0].Stages.Acknowledged) || !b[0].Stages.Acknowledged.Equal(*live.Since) {
		t.Errorf("before %+v, want the first edit, acknowledged at %s", b, live.Since)
	}
	p.Write(t, "web.yaml", strings.Replace(text, "rules: [{", "rulez: [{", 1))
	Eventually(t, func() error {
		if broken := (explain.Object{}); p.Read("/explain/httproutes/default/web", &broken) != nil ||
			len(broken.Findings) == 0 ||
			!strings.HasSuffix(broken.Findings[0], "its last good version stays in use") {
			return fmt.Errorf("%+v, want to be told of the newest version", broken)
		}
		return nil
	})
	if len(route.Made) != 1 || route.Made[0].Type != "Routes" || !route.Made[0].Live.Acknowledged {
		t.Errorf("made %+v, want a part of a table", route.Made)
	}
}

// TestExplainFollowsConnections: the story of a connection tells the rule that shares it, who edited that and since
// when it is live, also of datagrams; and the story of its route the resource that it became.
func TestExplainFollowsConnections(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Start(t, dir)
	services, routes := "", map[string]string{}
	for _, kind := range []string{"TCP", "UDP"} {
		name := strings.ToLower(kind)
		services += fmt.Sprintf(connectionService, name, kind, Backend(t, name+"-db"))
		routes[name] = fmt.Sprintf(connectionRoute, kind, name)
	}
	p.Write(t, "services.yaml", connectionGateway+services)
	for name, text := range routes {
		p.Write(t, name+".yaml", text)
	}
	p.Ready(t)
	for name, made := range map[string]string{"tcp": "Extension", "udp": "Endpoints"} {
		ask := "/explain?url=" + url.QueryEscape(name+"://any:9000")
		var story explain.Story
		ends := func(percent float64) func() error {
			return func() error {
				story = explain.Story{}
				if p.Read(ask, &story) != nil || len(story.Rules) != 1 || !story.Rules[0].Live.Acknowledged ||
					len(story.Outcomes) == 0 || story.Outcomes[0].Percent != percent {
					return fmt.Errorf("%+v, want %g%%", story, percent)
				}
				return nil
			}
		}
		Eventually(t, ends(100))
		before := story.Rules[0].Live.Since
		p.Write(t, name+".yaml", strings.Replace(routes[name], "port: 90}]",
			"port: 90}, {name: zz-gone, port: 90}]", 1))
		Eventually(t, ends(50))
		rule := story.Rules[0]
		if rule.Where != name+".yaml:6" || rule.Live.Since == nil || before == nil || !rule.Live.Since.After(*before) ||
			rule.Edit == nil || rule.Edit.Where != name+".yaml" {
			t.Errorf("%s: %+v, want it live after %v by an edit of its file", name, rule, before)
		}
		var route explain.Object
		Eventually(t, func() error {
			route = explain.Object{}
			if err := p.Read("/explain/"+name+"routes/default/r", &route); err != nil || len(route.Made) != 1 ||
				!route.Made[0].Live.Acknowledged || route.Stages.Acknowledged == nil {
				return fmt.Errorf("%v %+v, want one resource that is acknowledged", err, route)
			}
			return nil
		})
		if route.Made[0].Type != made {
			t.Errorf("%s: it became %+v, want %s", name, route.Made[0], made)
		}
	}
}

const connectionGateway = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web}
spec:
  gatewayClassName: cardea
  listeners: [{name: tcp, port: 9000, protocol: TCP}, {name: udp, port: 9000, protocol: UDP}]
`

// connectionRoute wants the protocol in capital letters and in small ones.
const connectionRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: %[1]sRoute
metadata: {name: r}
spec:
  parentRefs: [{name: web, sectionName: %[2]s}]
  rules: [{backendRefs: [{name: %[2]s, port: 90}]}]
`

// connectionService wants a name, the protocol and the port of a backend.
const connectionService = `---
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {ports: [{port: 90, protocol: %[2]s}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: %[3]d, protocol: %[2]s}]
`
