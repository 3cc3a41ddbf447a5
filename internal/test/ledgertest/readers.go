package ledgertest

import (
	"slices"

	"cardea.dev/cardea/internal/core/ledger"
)

// readers is Cardeas that read a target themselves, and what is live by their answers.
var readers = map[string]func(rig){
	"a name of a target is one Cardea's, until it leaves": func(r rig) {
		one := ledger.Reading{Target: ledger.DefaultTarget, Name: "here", Instance: "one"}
		two := ledger.Reading{Target: ledger.DefaultTarget, Name: "here", Instance: "two"}
		other := ledger.Reading{Target: ledger.DefaultTarget, Name: "there", Instance: "other"}
		reads := func(asked, want ledger.Reading) {
			r.t.Helper()
			got, err := r.RecordReader(r.ctx, asked)
			r.wantNoError(err)
			if got.Instance != want.Instance || got.Name != want.Name || got.Seen.IsZero() {
				r.t.Fatalf("it is %+v, want %s", got, want.Instance)
			}
		}
		reads(one, one)
		reads(other, other)
		reads(one, one)
		reads(two, one)
		r.wantNoError(r.RemoveReader(r.ctx, two))
		reads(two, one)
		r.wantNoError(r.SetTarget(r.ctx, ledger.Target{Name: "edge", Server: ledger.Proxies}, "alice"))
		reads(ledger.Reading{Target: "edge", Name: "here", Instance: "two"}, two)
		r.wantNoError(r.RemoveReader(r.ctx, one))
		reads(two, two)
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		if s := r.mustStatus(routeKey("web")); len(s.Readers) != 2 || s.Readers[0].Name != "here" ||
			s.Readers[0].Instance != "two" ||
			s.Readers[1].Name != "there" || s.Readers[1].Gone || s.Readers[1].Seen.IsZero() {
			r.t.Fatalf("the readers are %+v", s.Readers)
		}
	},
	"live is what each Cardea that reads the target acknowledged": func(r rig) {
		for _, name := range []string{"east", "west"} {
			_, err := r.RecordReader(r.ctx, ledger.Reading{Target: ledger.DefaultTarget, Name: name, Instance: name})
			r.wantNoError(err)
		}
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		is := func(stage ledger.Stage, words ...string) {
			r.t.Helper()
			p := r.mustStatus(routeKey("web")).ProgressAt(r.mustObject(routeKey("web"), 0).Generation)
			if got := slices.Concat(p.Words, p.Waits); p.Stage != stage || !slices.Equal(got, words) {
				r.t.Fatalf("it is %s %q, want %s %q", p.Stage, got, stage, words)
			}
			list, err := r.Status(r.ctx, ledger.StatusQuery{Pending: true})
			r.wantNoError(err)
			if (len(list) > 0) != (stage != ledger.IsLive) {
				r.t.Fatalf("it is %s, and %d are pending", stage, len(list))
			}
		}
		say := func(l ledger.Live) {
			r.t.Helper()
			l.Key = routeKey("web")
			l.Generation = r.mustObject(routeKey("web"), 0).Generation
			r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{l}))
		}
		is(ledger.Committed, "east has not answered", "west has not answered")
		say(ledger.Live{Cluster: "gone", Gateway: "infra/edge", Proxies: 1})
		say(ledger.Live{Cluster: "gone", Gateway: "infra/inner", Refused: "never"})
		is(ledger.Committed, "east has not answered", "west has not answered")
		say(ledger.Live{Cluster: "east", Gateway: "infra/edge", Proxies: 1})
		is(ledger.Committed, "west has not answered")
		say(ledger.Live{Cluster: "west", Gateway: "infra/edge", Refused: "no such cluster"})
		is(ledger.IsRefused, "west: Gateway infra/edge: no such cluster")
		say(ledger.Live{Cluster: "west", Waits: "Gateway infra/edge has no connected proxy"})
		is(ledger.Committed, "west: Gateway infra/edge has no connected proxy")
		say(ledger.Live{Cluster: "west", Gateway: "infra/edge", Proxies: 1})
		is(ledger.IsLive)
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		is(ledger.Committed, "east has not answered", "west has not answered")
		say(ledger.Live{Cluster: "east", Gateway: "infra/edge", Proxies: 1})
		r.wantNoError(r.RemoveReader(r.ctx, ledger.Reading{Target: ledger.DefaultTarget, Name: "west", Instance: "west"}))
		is(ledger.IsLive)
		r.wantNoError(r.RemoveReader(r.ctx, ledger.Reading{Target: ledger.DefaultTarget, Name: "east", Instance: "east"}))
		is(ledger.IsLive)
	},
	"it is kept when a generation was live first": func(r rig) {
		acknowledge := func(generation int64, refused string) {
			r.t.Helper()
			r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{{Key: routeKey("web"), Cluster: "here", Gateway: "infra/edge",
				Generation: generation, Refused: refused}, {Key: routeKey("web"), Cluster: "here", Gateway: "infra/inner",
				Generation: generation}}))
		}
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		acknowledge(1, "")
		first := r.mustStatus(routeKey("web")).LiveSince
		acknowledge(1, "")
		if again := r.mustStatus(routeKey("web")).LiveSince; first.IsZero() || !again.Equal(first) {
			r.t.Fatalf("live since %s, then since %s", first, again)
		}
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		acknowledge(2, "no such cluster")
		r.mustCommit(putEdit(routeKey("web"), "v3"))
		list, err := r.History(r.ctx, routeKey("web"), ledger.Page{})
		r.wantNoError(err)
		if !list[0].LiveSince.IsZero() || !list[1].LiveSince.IsZero() || !list[2].LiveSince.Equal(first) ||
			!r.mustObject(routeKey("web"), 1).LiveSince.Equal(first) {
			r.t.Fatalf("the history is %+v", list)
		}
		statuses, err := r.Status(r.ctx, ledger.StatusQuery{Change: 1})
		r.wantNoError(err)
		if p := statuses[0].ProgressAt(1); p.Stage != ledger.Superseded || !p.LiveSince.Equal(first) {
			r.t.Fatalf("the progress is %+v", p)
		}
	},
	"what one Gateway refused is pending, though another one serves it": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"), putEdit(routeKey("web"), "v1"))
		r.recordApplied(r.claimOne("east"))
		for _, l := range []ledger.Live{{Key: k, Cluster: "east"}, {Key: routeKey("web"), Cluster: "here"}} {
			l.Generation, l.Gateway = 1, "infra/edge"
			refused := l
			refused.Gateway, refused.Refused = "infra/inner", "no such cluster"
			r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{l, refused}))
		}
		list, err := r.Status(r.ctx, ledger.StatusQuery{Pending: true})
		r.wantNoError(err)
		if len(list) != 2 {
			r.t.Fatalf("%d are pending", len(list))
		}
	},
}
