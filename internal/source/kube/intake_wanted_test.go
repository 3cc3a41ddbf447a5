package kube

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

var certificate = model.Ref(model.KindSecret, "shop", "cert")

// port is that of the Gateway's first listener, 0 if it is not there: what tests change of it.
func (b *bench) port(name string) int32 {
	o, found := lookup(b, b.sources.Gateways, name)
	if !found || len(o.Spec.Listeners) == 0 {
		return 0
	}
	return o.Spec.Listeners[0].Port
}

func (b *bench) wantPort(name string, want int32) {
	b.t.Helper()
	if got := b.port(name); got != want {
		b.t.Fatalf("the Gateway is the one with port %d, want %d", got, want)
	}
}

func (b *bench) wantSecret(want string) {
	b.t.Helper()
	var got string
	if o, found := lookup(b, b.sources.Secrets, "cert"); found {
		got = string(o.Spec.Data[corev1.TLSPrivateKeyKey])
	}
	if got != want {
		b.t.Fatalf("the Secret's key is %q, want %q", got, want)
	}
}

// TestSecretOnDemand: a Secret is read when a Gateway refers to it, and the Gateway waits for the answer.
func TestSecretOnDemand(t *testing.T) {
	t.Run("there", func(t *testing.T) {
		b := newBench(t)
		b.set(gateway("web", "ours", "cert"))
		if !b.asked[certificate] {
			t.Fatal("nobody asked for the Secret")
		}
		b.wantPort("web", 0)
		b.answer(certificate, secret("cert", "one"))
		b.wantPort("web", 443)
		b.wantSecret("one")
		b.answer(certificate, secret("cert", "two"))
		b.wantSecret("two")
	})
	t.Run("absent", func(t *testing.T) {
		b := newBench(t)
		b.set(gateway("web", "ours", "cert"))
		b.answer(certificate, nil)
		b.wantPort("web", 443)
		b.wantSecret("")
		if why := b.unread(certificate); why != "" {
			t.Errorf("it could not be read: %s", why)
		}
		b.answer(certificate, secret("cert", "late"))
		b.wantSecret("late")
	})
	t.Run("forbidden", func(t *testing.T) {
		b := newBench(t)
		b.set(gateway("web", "ours", "cert"))
		b.fail(certificate, errForbidden(certificate))
		b.wantPort("web", 443)
		if why := b.unread(certificate); why != errForbidden(certificate).Error() {
			t.Errorf("why it can't be read: %q", why)
		}
		before := b.rev()
		b.fail(certificate, fmt.Errorf("and again: %w", errForbidden(certificate)))
		if b.rev() != before {
			t.Error("each try is news")
		}
		b.answer(certificate, secret("cert", "allowed"))
		b.wantSecret("allowed")
		if why := b.unread(certificate); why != "" {
			t.Errorf("it still can't be read: %s", why)
		}
	})
	t.Run("no answer", func(t *testing.T) {
		b := newBench(t)
		b.set(gateway("web", "ours", "cert"))
		b.fail(certificate, errAway)
		b.wantPort("web", 0)
		b.later(firstAnswerTimeout)
		b.wantPort("web", 443)
		if why := b.unread(certificate); why != errAway.Error() {
			t.Errorf("why it can't be read: %q", why)
		}
		if !b.next.IsZero() {
			t.Errorf("the intake wants to work at %v, and has nothing to do", b.next)
		}
		b.fail(certificate, errForbidden(certificate)) // this is an answer
		if why := b.unread(certificate); why != errForbidden(certificate).Error() {
			t.Errorf("why it can't be read: %q", why)
		}
		if len(b.intake.demands.queue) > 0 {
			t.Errorf("still asked for: %v", b.intake.demands.queue)
		}
	})
	t.Run("not readable any more", func(t *testing.T) {
		b := newBench(t)
		b.set(gateway("web", "ours", "cert"))
		b.answer(certificate, secret("cert", "one"))
		b.fail(certificate, errForbidden(certificate))
		b.wantSecret("one")
		if why := b.unread(certificate); why != "" {
			t.Errorf("it is said to be unread: %s", why)
		}
	})
	t.Run("deleted and made again", func(t *testing.T) {
		b := newBench(t)
		b.set(gateway("web", "ours", "cert"))
		b.answer(certificate, secret("cert", "one"))
		b.answer(certificate, nil)
		b.wantSecret("one")
		b.answer(certificate, secret("cert", "two"))
		b.wantSecret("two")
		b.answer(certificate, nil)
		b.later(hold)
		b.wantSecret("")
	})
}

// TestSecretOfEdit: an edit that begins to refer to a Secret waits for it, with the version before it in place.
func TestSecretOfEdit(t *testing.T) {
	g := gateway("web", "ours")
	b := newBench(t, g)
	b.wantPort("web", 80)
	b.now = b.now.Add(hold)
	now := gateway("web", "ours", "cert")
	now.UID, now.Generation = g.UID, 2
	b.set(now)
	b.wantPort("web", 80)
	b.answer(certificate, secret("cert", "one"))
	b.wantPort("web", 443)

	// Back again: the Secret is not wanted any more.
	back := gateway("web", "ours")
	back.UID, back.Generation = g.UID, 3
	b.set(back)
	b.wantPort("web", 80)
	b.wantSecret("")
	if len(b.asked) > 0 || len(b.intake.demands.objects)+len(b.intake.demands.byUser) > 0 {
		t.Errorf("still asked for: %v, %+v", b.asked, b.intake.demands)
	}
	b.answer(certificate, secret("cert", "late")) // was on its way
	b.wantSecret("")
}

// TestSecretAbsentAfterEdit: one that is absent may be on its way.
func TestSecretAbsentAfterEdit(t *testing.T) {
	g := gateway("web", "ours")
	b := newBench(t, g)
	now := gateway("web", "ours", "cert")
	now.UID, now.Generation = g.UID, 2
	b.set(now)
	b.answer(certificate, nil)
	b.wantPort("web", 80)
	b.now = b.now.Add(hold / 2)
	b.answer(certificate, secret("cert", "one"))
	b.wantPort("web", 443)
	b.wantSecret("one")
}

// TestSecretShared: it is read once for all, and as long as one refers to it.
func TestSecretShared(t *testing.T) {
	one, two := gateway("one", "ours", "cert"), gateway("two", "ours", "cert")
	b := newBench(t)
	b.set(one, two)
	b.answer(certificate, secret("cert", "key"))
	b.wantPort("one", 443)
	b.wantPort("two", 443)
	b.remove(one)
	b.wantSecret("key")
	b.remove(two)
	b.wantSecret("")
	if len(b.asked) > 0 {
		t.Errorf("still asked for: %v", b.asked)
	}
}

// TestSecretOfOthers: other controllers' Gateways have nothing read for them.
func TestSecretOfOthers(t *testing.T) {
	b := newBench(t)
	b.set(gateway("web", "theirs", "cert"))
	if len(b.asked) > 0 {
		t.Errorf("asked for: %v", b.asked)
	}
	b.set(gateway("web", "nobody's", "cert")) // may be ours, once the class arrives
	if !b.asked[certificate] {
		t.Error("not asked for")
	}
	b.set(class("nobody's", "example.com/other"))
	if len(b.asked) > 0 {
		t.Errorf("asked for: %v", b.asked)
	}
}

// TestSecretForgotten: a Gateway that goes while its Secret can't be read leaves nothing behind.
func TestSecretForgotten(t *testing.T) {
	g := gateway("web", "ours", "cert")
	b := newBench(t)
	b.set(g)
	b.fail(certificate, errForbidden(certificate))
	b.remove(g)
	if why := b.unread(certificate); why != "" || len(b.asked) > 0 {
		t.Errorf("left: %q, %v", why, b.asked)
	}
}

// TestSecretKeys: of a Secret those entries are kept that somebody asks for, whatever its type.
func TestSecretKeys(t *testing.T) {
	b := newBench(t)
	b.set(gateway("web", "ours", "cert"))
	s := secret("cert", "password")
	s.Type = corev1.SecretTypeOpaque
	s.Data["token"] = []byte("nobody asks for it")
	b.answer(certificate, s)
	b.wantPort("web", 443)
	if o, found := lookup(b, b.sources.Secrets, "cert"); !found || o.Spec.Type != corev1.SecretTypeOpaque ||
		len(o.Spec.Data) != 2 || o.Spec.Data["token"] != nil {
		t.Errorf("kept: %+v", o)
	}
}

// TestMoreKeys: who asks for more entries of a Secret than are read waits for them, until the deadline; who has
// what it asked for does not.
func TestMoreKeys(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.set(gateway("web", "ours", "cert"))
			b.answer(certificate, secret("cert", "one"))
			b.intake.demands.objects[certificate].answeredKeys = kind.PairKeys
			pair := kind.Reference{To: certificate, Keys: kind.PairKeys}
			all := kind.Reference{To: certificate, Keys: kind.AllKeys}
			waits := func(r kind.Reference, want bool) {
				t.Helper()
				if got := b.intake.isPending(r); got != want {
					t.Errorf("entries %d are waited for: %t, want %t", r.Keys, got, want)
				}
			}
			b.intake.demandReferences(model.Ref(model.KindXBackend, certificate.Namespace(), "other"), []kind.Reference{all})
			b.work()
			waits(pair, false)
			waits(all, true)
			if answered {
				b.answer(certificate, secret("cert", "one"))
			} else {
				b.now = b.now.Add(firstAnswerTimeout)
				b.work()
			}
			waits(all, false)
			if why := b.unread(certificate); why != "" {
				t.Errorf("what was read is said to be unreadable: %s", why)
			}
		})
	}
}

// TestRefusedIsForgotten: an object that named what it may not, and is gone, leaves nothing behind.
func TestRefusedIsForgotten(t *testing.T) {
	b := newBench(t)
	user := model.Ref(model.KindXBackend, "elsewhere", "app")
	b.intake.demandReferences(user, []kind.Reference{{To: certificate, Keys: kind.PairKeys}})
	if len(b.intake.demands.refused) != 1 || len(b.asked) > 0 {
		t.Errorf("refused: %v, asked for: %v", b.intake.demands.refused, b.asked)
	}
	b.intake.demandReferences(user)
	if len(b.intake.demands.refused)+len(b.intake.demands.refusedIn) > 0 {
		t.Errorf("left: %v, %v", b.intake.demands.refused, b.intake.demands.refusedIn)
	}
}
