package kube

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/model"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

// TestDefinitionComesAndGoes: a kind that is not installed is there without objects, and is read as soon as it is
// installed. Its objects are gone when it is.
func TestDefinitionComesAndGoes(t *testing.T) {
	p := newPlace(t)
	p.uninstall("xbackends.gateway.networking.x-k8s.io")
	p.uninstall("httproutes.gateway.networking.k8s.io")
	t.Cleanup(p.install)
	var told []State
	r := p.read(func(c *Config) { c.OnState = func(s State) { told = append(told, s) } }).synced()
	for _, kind := range []model.Kind{model.KindXBackend, model.KindHTTPRoute} {
		if k := r.kind(kind); k.Missing != "it is not installed" || !k.Synced || k.Bundle != "" {
			t.Errorf("state %+v", k)
		}
	}
	// the standard channel of the Gateway API has no XBackend
	r.wantDefinitions("without HTTPRoutes and XBackends", []model.Definition{{
		Name: "httproutes.gateway.networking.k8s.io", Origin: model.GatewayAPIOrigin, Absent: true, Reads: "v1 or v1beta1",
	}})
	r.wantLogged(`level=INFO msg="kind can't be read and is ignored" kind=XBackend `+
		`definition=xbackends.gateway.networking.x-k8s.io`, 1)
	r.wantLogged(`level=WARN msg="kind can't be read; install the Gateway API" kind=HTTPRoute`, 1)

	p.install()
	p.apply(shopObjects)
	ref := p.ref(model.KindHTTPRoute, "shop")
	await(r, r.sources.HTTPRoutes, ref, anyway)
	await(r, r.sources.XBackends, p.ref(model.KindXBackend, "app"), anyway)
	if k := r.kind(model.KindHTTPRoute); k.Missing != "" || k.Bundle != "v1.7.0" || !r.edge.State().Synced {
		t.Errorf("state %+v", k)
	}
	r.wantLogged(`level=INFO msg="kind is read now" kind=HTTPRoute`, 1)

	p.uninstall("httproutes.gateway.networking.k8s.io")
	awaitGone(r, r.sources.HTTPRoutes, ref)
	eventually(t, func() error {
		if k := r.kind(model.KindHTTPRoute); k.Missing == "" || !k.Synced || !r.edge.State().Synced {
			return fmt.Errorf("state %+v", k)
		}
		return nil
	})
	p.install()
	p.apply(shopObjects)
	await(r, r.sources.HTTPRoutes, ref, anyway)
	await(r, r.sources.Gateways, p.ref(model.KindGateway, "web"), anyway)
	if err := r.end(); err != nil { // so that told is written no more
		t.Fatal(err)
	}
	var seen []string
	for _, s := range told {
		for _, k := range s.Kinds {
			if is := fmt.Sprint(k.Missing == ""); k.Kind == model.KindHTTPRoute && (len(seen) == 0 || seen[len(seen)-1] != is) {
				seen = append(seen, is)
			}
		}
	}
	if got := strings.Join(seen, " "); !strings.HasSuffix(got, "false true false true") {
		t.Errorf("told that HTTPRoutes are there: %s", got)
	}
}

// TestDefinitionMadeAnew: a kind that is deleted and installed again in one go is read again.
func TestDefinitionMadeAnew(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	r := p.read().synced()
	t.Cleanup(p.install)
	p.uninstall("gateways.gateway.networking.k8s.io")
	p.install()
	awaitGone(r, r.sources.Gateways, p.ref(model.KindGateway, "web"))
	p.apply(shopObjects)
	await(r, r.sources.Gateways, p.ref(model.KindGateway, "web"), anyway)
}

// TestBetaVersion: where ReferenceGrants are served in their beta version only, they are read in that.
func TestBetaVersion(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	p.unserve("referencegrants", "gateway.networking.k8s.io/v1")
	r := p.read().synced()
	await(r, r.sources.ReferenceGrants, p.ref(model.KindReferenceGrant, "open"), anyway)
	if k := r.kind(model.KindReferenceGrant); k.Version != "gateway.networking.k8s.io/v1beta1" || k.Missing != "" {
		t.Errorf("state %+v", k)
	}
}

// TestGiveUp: a kind that is installed, but served in no version that is read, does not keep all else waiting for ever.
func TestGiveUp(t *testing.T) {
	p := newPlace(t)
	p.apply(shopObjects)
	serve := p.unserve("xbackends", "gateway.networking.x-k8s.io/v1alpha1")
	began := time.Now()
	r := p.read(func(c *Config) {
		c.Now = func() time.Time { return began.Add(100 * time.Since(began)) } // the time to wait is 100 times shorter
	}).synced()
	if k := r.kind(model.KindXBackend); k.Missing == "" || k.Bundle != "v1.7.0" {
		t.Errorf("state %+v", k)
	}
	serve()
	await(r, r.sources.XBackends, p.ref(model.KindXBackend, "app"), anyway)
}

// unserve has the API server serve a kind in one version less, the first one, until the test ends or serve is called.
func (p *place) unserve(resource, version string) (serve func()) {
	p.t.Helper()
	group, name, _ := strings.Cut(version, "/")
	set := func(served bool) {
		p.t.Helper()
		text := fmt.Sprintf(`[
			{"op": "test", "path": "/spec/versions/0/name", "value": %q},
			{"op": "replace", "path": "/spec/versions/0/served", "value": %v}
		]`, name, served)
		err := p.Client.RESTClient().Patch("application/json-patch+json").AbsPath(definitions + resource + "." +
			group).Body([]byte(text)).
			Do(context.Background()).Error()
		if err != nil {
			p.t.Fatal(err)
		}
		eventually(p.t, func() error {
			err := p.Client.RESTClient().Get().AbsPath("/apis/" + version + "/" + resource).Do(context.Background()).Error()
			if is := err == nil; is != served {
				return fmt.Errorf("served: %v (%v)", is, err)
			}
			return nil
		})
	}
	set(false)
	serve = sync.OnceFunc(func() { set(true) })
	p.t.Cleanup(serve)
	return serve
}

func (p *place) uninstall(definition string) {
	p.t.Helper()
	p.delete(definitions + definition)
	eventually(p.t, func() error {
		if err := p.Client.RESTClient().Get().AbsPath(definitions + definition).Do(context.Background()).Error(); err == nil {
			return fmt.Errorf("%s is still there", definition)
		}
		return nil
	})
}

// install installs what was uninstalled.
func (p *place) install() {
	p.t.Helper()
	if err := installAll(p.Cluster); err != nil {
		p.t.Fatal(err)
	}
}

// wantLogged wants a text in the log, so many times. What is known may be told a moment later.
func (r *reading) wantLogged(text string, times int) {
	r.t.Helper()
	eventually(r.t, func() error {
		if n := strings.Count(r.log.String(), text); n < times {
			return fmt.Errorf("logged %d times, want %d: %s\n%s", n, times, text, r.log)
		}
		return nil
	})
	if n := strings.Count(r.log.String(), text); n != times {
		r.t.Errorf("logged %d times, want %d: %s\n%s", n, times, text, r.log)
	}
}
