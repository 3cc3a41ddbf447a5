package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	xgatewayv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	"sigs.k8s.io/yaml"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
	"cardea.dev/cardea/extend"
	"cardea.dev/cardea/internal/app/dataplanes"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/app/world"
	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
	"cardea.dev/cardea/internal/source/files"
)

// Plugged is the kinds and features of a program whose behaviour is tested.
type Plugged struct {
	Extensions []world.Extension
	// schemas is read once: compiling its rules takes longer than a run of the fuzzer.
	schemas func() *schema.Schema
}

// Plug makes it of plugins.
func Plug(plugins []extend.Plugin) (*Plugged, error) {
	extensions, err := world.ExtensionsOf(plugins)
	return &Plugged{extensions, sync.OnceValue(func() *schema.Schema {
		return schema.New(world.NewCatalog(extensions...))
	})}, err
}

// world reads a folder into a world in flow's check mode.
func (p *Plugged) world(t *testing.T, dir string) *world.World {
	t.Helper()
	w := world.New(world.Config{
		Dialects: dataplanes.All(), Extensions: p.Extensions, Check: true, Budgets: model.DefaultBudgets,
		Environment: model.Environment{Addresses: []string{"127.0.0.1"}, PortOffset: Offset}})
	s := p.schemas()
	folder, err := files.New(files.Config{Dir: dir, Sources: w.Sources.Sources, Graph: w.Graph, Schema: s,
		OnProblem: func(files.Problem) {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := folder.Load(); err != nil {
		t.Fatal(err)
	}
	w.Graph.Settle()
	return w
}

func (p *Plugged) options(dir string) standalone.Options {
	return standalone.Options{
		Dialects: dataplanes.All(), Extensions: p.Extensions, Dir: dir, PortOffset: Offset, Bind: []string{"127.0.0.1"},
		Budgets: model.DefaultBudgets,
	}
}

func (p *Plugged) findings(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	if _, err := standalone.Check(t.Context(), p.options(dir), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (p *Plugged) config(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	if err := standalone.Translate(t.Context(), p.options(dir), "", "yaml", &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// status prints every condition of every object, a line each.
func (p *Plugged) status(t *testing.T, dir string) string {
	t.Helper()
	w := p.world(t, dir)
	var lines []string
	add := func(subject string, conditions []metav1.Condition) {
		for _, c := range conditions {
			lines = append(lines, fmt.Sprintf("%s: %s=%s %s", subject, c.Type, c.Status, c.Reason))
		}
	}
	listener := func(ref model.ObjectRef, l gatewayv1.ListenerStatus) {
		kinds := make([]string, 0, 1)
		for _, k := range l.SupportedKinds {
			kinds = append(kinds, string(k.Kind))
		}
		lines = append(lines, fmt.Sprintf("%s %s: attachedRoutes=%d supportedKinds=%v", ref, l.Name, l.AttachedRoutes,
			kinds))
		add(fmt.Sprintf("%s %s", ref, l.Name), l.Conditions)
	}
	w.Graph.View(func(v flow.View) {
		for ref, r := range w.Reports.ForKind(model.KindGatewayClass).All(v) {
			add(ref.String(), r.Status.(gatewayv1.GatewayClassStatus).Conditions)
		}
		for ref, r := range w.Reports.ForKind(model.KindGateway).All(v) {
			status := r.Status.(gatewayv1.GatewayStatus)
			add(ref.String(), status.Conditions)
			if n := status.AttachedListenerSets; n != nil {
				lines = append(lines, fmt.Sprintf("%s: attachedListenerSets=%d", ref, *n))
			}
			for _, l := range status.Listeners {
				listener(ref, l)
			}
		}
		for ref, r := range w.Reports.ForKind(model.KindListenerSet).All(v) {
			status := r.Status.(gatewayv1.ListenerSetStatus)
			add(ref.String(), status.Conditions)
			for _, l := range status.Listeners {
				listener(ref, gatewayv1.ListenerStatus(l))
			}
		}
		for ref, r := range w.Reports.ForKind(model.KindXBackend).All(v) {
			for i, a := range r.Status.(xgatewayv1alpha1.BackendStatus).Ancestors {
				add(fmt.Sprintf("%s ancestor %d %s", ref, i, a.AncestorRef.Name), a.Conditions)
			}
		}
		for ref, r := range w.Reports.ForKind(model.KindInferencePool).All(v) {
			for i, p := range r.Status.(inferencev1.InferencePoolStatus).Parents {
				add(fmt.Sprintf("%s parent %d %s", ref, i, p.ParentRef.Name), p.Conditions)
			}
		}
		for ref, r := range w.Reports.ForKind(model.KindBackendTLSPolicy).All(v) {
			for i, a := range r.Status.(gatewayv1.PolicyStatus).Ancestors {
				add(fmt.Sprintf("%s ancestor %d %s", ref, i, a.AncestorRef.Name), a.Conditions)
			}
		}
		parents := func(ref model.ObjectRef, list []gatewayv1.RouteParentStatus) {
			for i, p := range list {
				add(fmt.Sprintf("%s parent %d %s", ref, i, p.ParentRef.Name), p.Conditions)
			}
		}
		for ref, r := range w.Reports.ForKind(model.KindHTTPRoute).All(v) {
			parents(ref, r.Status.(gatewayv1.HTTPRouteStatus).Parents)
		}
		for _, e := range p.Extensions {
			for ref, r := range w.Reports.ForKind(e.Kind.Kind).All(v) {
				for _, a := range r.Status.(gatewayv1.PolicyStatus).Ancestors {
					add(fmt.Sprintf("%s at %s %s", ref, *a.AncestorRef.Kind, a.AncestorRef.Name), a.Conditions)
				}
			}
		}
		for ref, r := range w.Reports.ForKind(model.KindGRPCRoute).All(v) {
			parents(ref, r.Status.(gatewayv1.GRPCRouteStatus).Parents)
		}
		for ref, r := range w.Reports.ForKind(model.KindTLSRoute).All(v) {
			parents(ref, r.Status.(gatewayv1.TLSRouteStatus).Parents)
		}
		for ref, r := range w.Reports.ForKind(model.KindTCPRoute).All(v) {
			parents(ref, r.Status.(gatewayv1.TCPRouteStatus).Parents)
		}
		for ref, r := range w.Reports.ForKind(model.KindUDPRoute).All(v) {
			parents(ref, r.Status.(gatewayv1.UDPRouteStatus).Parents)
		}
	})
	slices.SortStableFunc(lines, func(a, b string) int {
		return strings.Compare(a[:strings.Index(a, ": ")], b[:strings.Index(b, ": ")])
	})
	return strings.Join(lines, "\n") + "\n"
}

// readDocs reads what of a text is objects. Each backend that it names has a port of its own.
func ReadDocs(text string) (docs []map[string]any) {
	var backends []string
	text = Placeholder.ReplaceAllStringFunc(text, func(s string) string {
		name := Placeholder.FindStringSubmatch(s)[1]
		if certificate := certificateText(name); certificate != nil {
			return strconv.Quote(string(certificate))
		}
		if !slices.Contains(backends, name) {
			backends = append(backends, name)
		}
		return strconv.Itoa(3000 + slices.Index(backends, name))
	})
	for _, part := range strings.Split("\n"+text, "\n---") {
		b, err := yaml.YAMLToJSON([]byte(part))
		if err != nil {
			continue
		}
		var doc map[string]any
		if utiljson.Unmarshal(b, &doc) == nil && doc["kind"] != nil {
			docs = append(docs, doc)
		}
	}
	return docs
}
