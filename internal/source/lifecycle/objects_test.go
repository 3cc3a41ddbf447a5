package lifecycle

import (
	"strings"
	"testing"
)

// A line of a story is a step (see rig.step), and what comes of it: what is published and removed, and what waits, with
// the milliseconds that are left.
var stories = map[string]string{
	"a first version serves, whatever it names": `
		web.1 shop                  | web.1
		shop.1                      | shop.1`,

	"a version waits for an object that it begins to name": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		+40                         | web held 60
		other.1                     | other.1; web held 60
		shop.1                      | shop.1 web.2`,

	"and for a part": `
		shop.1 :http                | shop.1
		web.1 shop/http             | web.1
		web.2 shop/more             | web held 100
		shop.2 :http :more          | shop.2 web.2`,

	"and for all of them": `
		web.1                       | web.1
		web.2 shop api              | web held 100
		api.1                       | api.1; web held 100
		shop.1                      | shop.1 web.2`,

	"an object is enough where no part is named": `
		shop.1 :http                | shop.1
		web.1                       | web.1
		web.2 shop                  | web.2`,

	"a part is there where an object has none": `
		shop.1                      | shop.1
		web.1                       | web.1
		web.2 shop/any              | web.2`,

	"what was missing before is not waited for": `
		web.1 shop                  | web.1
		web.2 shop                  | web.2
		api.1                       | api.1
		web.3 api shop              | web.3`,

	"it does not wait for longer than Hold": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		+99                         | web held 1
		+1                          | web.2`,

	"however often it is edited meanwhile": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		+60                         | web held 40
		web.3 shop api              | web held 40
		+40                         | web.3`,

	"nor does the next one gain from it": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		+100                        | web.2
		web.3 shop api              | web held 100`,

	"an edit ends the wait": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		web.3                       | web.3`,

	"an edit that is taken back was none": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		=web                        |
		shop.1                      | shop.1`,

	"those that wait for each other are published in one go": `
		a.1                         | a.1
		b.1 :one                    | b.1
		c.1 :one                    | c.1
		a.2 b/two                   | a held 100
		b.2 :one :two c/two         | a held 100; b held 100
		c.2 :one :two               | c.2 b.2 a.2`,

	"a circle ends with Hold": `
		a.1 :one                    | a.1
		b.1 :one                    | b.1
		a.2 :two b/two              | a held 100
		+50                         | a held 50
		b.2 :two a/two              | a held 50; b held 100
		+50                         | a.2 b.2`,

	"what is deleted fades": `
		shop.1                      | shop.1
		-shop                       | shop fading 100
		+60                         | shop fading 40
		-shop                       | shop fading 40
		+40                         | -shop`,

	"and is found meanwhile": `
		shop.1                      | shop.1
		web.1                       | web.1
		-shop                       | shop fading 100
		web.2 shop                  | web.2; shop fading 100
		+100                        | -shop
		web.3                       | web.3
		web.4 shop                  | web held 100`,

	"or comes back": `
		shop.1                      | shop.1
		-shop                       | shop fading 100
		shop.2                      | shop.2
		+100                        |`,

	"or comes back as it was": `
		shop.1                      | shop.1
		-shop                       | shop fading 100
		=shop                       |
		+100                        |`,

	"or comes back and waits, from then on": `
		web.1                       | web.1
		-web                        | web fading 100
		+60                         | web fading 40
		web.2 shop                  | web held 100
		+100                        | web.2`,

	"what waits and is deleted fades as it was": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		+60                         | web held 40
		-web                        | web fading 100
		shop.1                      | shop.1; web fading 100
		+100                        | -web`,

	"what must go at once does": `
		grant.1                     | grant.1
		!grant                      | -grant
		!grant                      |
		web.1                       | web.1
		web.2 shop                  | web held 100
		!web                        | -web
		shop.1                      | shop.1
		-shop                       | shop fading 100
		!shop                       | -shop`,

	"what was never there does not fade": `
		-shop                       |
		web.1 ?cert                 | web unanswered
		-web                        |
		cert?                       |`,

	"what is read on demand is waited for without an end": `
		web.1 ?cert                 | web unanswered
		+5000                       | web unanswered
		web.2 ?cert                 | web unanswered
		cert?                       | web.2`,

	"and until all of it is known": `
		web.1 ?cert ?key            | web unanswered
		key?                        | web unanswered
		cert?                       | web.1`,

	"with the version before in place": `
		web.1                       | web.1
		web.2 ?cert                 | web unanswered
		+5000                       | web unanswered
		-web                        | web fading 100
		web.3 ?cert                 | web unanswered
		web.4                       | web.4`,

	"what is known to be absent may still come": `
		web.1                       | web.1
		web.2 ?cert                 | web unanswered
		+5000                       | web unanswered
		cert?                       | web held 100
		+50                         | web held 50
		cert.1                      | cert.1 web.2`,

	"a first version does not wait for it": `
		web.1 ?cert                 | web unanswered
		cert?                       | web.1`,

	"what waits may begin to refer to what is read on demand": `
		web.1                       | web.1
		web.2 shop                  | web held 100
		web.3 shop ?cert            | web unanswered
		+50                         | web unanswered
		cert?                       | web held 50
		+50                         | web.3`,

	"what is held may become unanswered": `
		cert?                       |
		web.1                       | web.1
		web.2 shop ?cert            | web held 100
		?cert                       | web unanswered
		+200                        | web unanswered
		cert?                       | web.2`,

	"all may have to wait for longer": `
		shop.1                      | shop.1
		web.1                       | web.1
		-shop                       | shop fading 100
		web.2 api                   | shop fading 100; web held 100
		+60                         | shop fading 40; web held 40
		~                           | shop fading 100; web held 100
		+100 late                   | shop fading 0; web held 0
		api.1                       | api.1 -shop web.2`,
}

func TestStories(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			r := newRig()
			for _, line := range strings.Split(strings.TrimSpace(story), "\n") {
				step, want, _ := strings.Cut(strings.TrimSpace(line), "|")
				step, want = strings.TrimSpace(step), strings.TrimSpace(want)
				r.step(step)
				if got := r.told(); got != want {
					t.Fatalf("%s: %q, want %q", step, got, want)
				}
			}
		})
	}
}

// TestStates: an object is in one state at a time, and counted there.
func TestStates(t *testing.T) {
	r := newRig()
	for _, c := range []struct {
		step string
		want State
	}{
		{"-web", Absent}, {"web.1 ?cert", Unanswered}, {"cert?", Known}, {"web.2 shop", Held}, {"-web", Fading},
		{"web.3 ?key", Unanswered}, {"=web", Known}, {"-web", Fading}, {"+100", Absent},
	} {
		r.step(c.step)
		web := refTo("web")
		if got := r.state(web); got != c.want {
			t.Errorf("%s: state %d, want %d", c.step, got, c.want)
		}
		for s := Held; s < states; s++ {
			if got := r.Count(s); got > 1 || got == 1 != (s == c.want) {
				t.Errorf("%s: %d objects are in state %d", c.step, got, s)
			}
		}
		_, waiting := r.WaitingVersion(web)
		if want := c.want == Held || c.want == Unanswered; waiting != want || len(r.AllWaiting()) == 1 != want {
			t.Errorf("%s: a version waits: %v, want %v", c.step, waiting, want)
		}
		_, known := r.PublishedVersion(web)
		if n := len(r.PublishedOfKind(web.Kind())); known != (n == 1) {
			t.Errorf("%s: published: %v, and %d of its kind", c.step, known, n)
		}
	}
}

// TestKnownCostsNothing: an object that waits for nothing has no allocation of its own.
func TestKnownCostsNothing(t *testing.T) {
	r := newRig()
	r.step("shop.1")
	ref, v := refTo("shop"), parse("shop.2")
	if n := testing.AllocsPerRun(100, func() {
		if r.AddVersion(ref, v, r.now) {
			r.SetPublished(ref, v)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
