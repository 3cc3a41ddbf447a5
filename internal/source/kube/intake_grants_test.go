package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/model"
)

// grantTo lets Gateways of the namespace shop refer to Secrets of the namespace safe: to one, or with "" to all.
func grantTo(generation int64, secret string) *gatewayv1.ReferenceGrant {
	g := &gatewayv1.ReferenceGrant{ObjectMeta: meta("grant", generation)}
	g.Namespace, g.UID = "safe", "grant"
	g.Spec.From = []gatewayv1.ReferenceGrantFrom{{Group: gatewayv1.GroupName, Kind: "Gateway", Namespace: "shop"}}
	g.Spec.To = []gatewayv1.ReferenceGrantTo{{Kind: "Secret"}}
	if secret != "" {
		g.Spec.To[0].Name = new(gatewayv1.ObjectName(secret))
	}
	return g
}

// TestGrantGoneBeforeAnswer: a Gateway does not wait for a Secret that it may not refer to any more, nor does a grant
// wait for one that nobody refers to any more.
func TestGrantGoneBeforeAnswer(t *testing.T) {
	refers := func() *gatewayv1.Gateway {
		g := gateway("web", "ours", "cert")
		g.Spec.Listeners[0].TLS.CertificateRefs[0].Namespace = new(gatewayv1.Namespace("safe"))
		return g
	}
	t.Run("the grant", func(t *testing.T) {
		b := newBench(t, grantTo(1, "cert"))
		b.set(refers())
		b.wantPort("web", 0)
		b.remove(grantTo(1, "cert"))
		b.wantPort("web", 443)
	})
	t.Run("the Gateway", func(t *testing.T) {
		g := refers()
		b := newBench(t, g)
		b.set(grantTo(1, "cert"))
		b.remove(g)
		if _, found := lookup(b, b.sources.ReferenceGrants, "grant"); !found {
			t.Error("the grant still waits for an answer that nobody asks for")
		}
	})
}

// TestSecretOfAnotherNamespace is read only while a ReferenceGrant permits it. The grant counts when there is an
// answer.
func TestSecretOfAnotherNamespace(t *testing.T) {
	there, grant := model.Ref(model.KindSecret, "safe", "cert"), model.Ref(model.KindReferenceGrant, "safe", "grant")
	theirs := func(key string) *corev1.Secret {
		s := secret("cert", key)
		s.Namespace = "safe"
		return s
	}
	g := gateway("web", "ours", "cert")
	g.Spec.Listeners[0].TLS.CertificateRefs[0].Namespace = new(gatewayv1.Namespace("safe"))
	b := newBench(t, g)
	wants := func(what string, asked, granted, read bool) {
		t.Helper()
		b.wantPort("web", 443)
		var hasGrant, hasSecret bool
		b.graph.View(func(v flow.View) {
			_, hasGrant = flow.Get(v, b.sources.ReferenceGrants.Collection(), grant)
			_, hasSecret = flow.Get(v, b.sources.Secrets.Collection(), there)
		})
		if b.asked[there] != asked || hasGrant != granted || hasSecret != read {
			t.Errorf("%s: asked %v, granted %v, read %v; want %v, %v, %v", what, b.asked[there], hasGrant, hasSecret, asked,
				granted, read)
		}
	}
	wants("no grant", false, false, false)
	b.set(grantTo(1, "other"))
	wants("to another", false, true, false)
	b.set(grantTo(2, ""))
	b.set(grantTo(2, ""))
	wants("to all", true, true, false)
	b.answer(there, theirs("one"))
	wants("answered", true, true, true)
	b.set(grantTo(3, "other"))
	wants("taken back", false, true, false)
	b.remove(grantTo(3, "other"))
	wants("gone", false, false, false)
	b.set(grantTo(4, "cert"))
	wants("to this one", true, false, false)
	b.remove(grantTo(4, "cert"))
	wants("gone before the answer", false, false, false)
	b.set(grantTo(5, "cert"))
	b.list(model.KindReferenceGrant)
	wants("gone from the list", false, false, false)
	b.set(grantTo(6, "cert"))
	b.later(firstAnswerTimeout)
	wants("no answer", true, true, false)
	b.remove(g)
	if len(b.asked)+len(b.intake.demands.objects)+len(b.intake.demands.byUser) > 0 {
		t.Errorf("still asked for: %v, %+v", b.asked, b.intake.demands)
	}
	b.remove(grantTo(6, "cert"))
	if len(b.intake.grants) > 0 {
		t.Errorf("kept: %v", b.intake.grants)
	}
	// At a start the grants may be read first, or last.
	b.set(grantTo(7, "cert"), gateway("other", "ours"), g)
	b.wantPort("web", 0)
	b.answer(there, theirs("two"))
	wants("at once", true, true, true)
}
