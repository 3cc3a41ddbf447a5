package ledgertest

import (
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// reads is what can be asked.
var reads = map[string]func(rig){
	"an empty ledger has nothing": func(r rig) {
		h := r.mustHead()
		if h.Change != 0 || h.Digest != "" || h.Epoch == "" {
			r.t.Fatalf("the head is %+v", h)
		}
		list, err := r.Objects(r.ctx, ledger.ObjectsQuery{})
		r.wantNoError(err)
		changes, err := r.Changes(r.ctx, ledger.ChangesQuery{})
		r.wantNoError(err)
		if len(list.Objects) != 0 || len(changes.Changes) != 0 {
			r.t.Fatalf("there are %+v and %+v", list, changes)
		}
	},
	"what is not there is not found": func(r rig) {
		_, err := r.Object(r.ctx, routeKey("web"), 0)
		r.wantCode(err, ledger.NotFound)
		_, err = r.History(r.ctx, routeKey("web"), ledger.Page{})
		r.wantCode(err, ledger.NotFound)
		_, err = r.Change(r.ctx, 1)
		r.wantCode(err, ledger.NotFound)
		r.mustCommit(putEdit(routeKey("api"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		_, err = r.Object(r.ctx, routeKey("web"), 1)
		r.wantCode(err, ledger.NotFound)
		_, err = r.Object(r.ctx, routeKey("web"), 3)
		r.wantCode(err, ledger.NotFound)
	},
	"an object is read as it was after each change": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		r.mustCommit(deleteEdit(routeKey("web")))
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.wantObjectAt(routeKey("web"), 1, 1, 1, "v1")
		r.wantObjectAt(routeKey("web"), 2, 2, 2, "v2")
		r.wantObjectAt(routeKey("web"), 3, 3, 0, "")
		r.wantObjectAt(routeKey("web"), 4, 4, 1, "v1")
	},
	"pages of objects are pinned to a change": func(r rig) {
		var edits []ledger.Edit
		for i := range 25 {
			edits = append(edits, putEdit(routeKey(fmt.Sprintf("web-%02d", i)), "v1"))
		}
		r.mustCommit(edits...)
		first, err := r.Objects(r.ctx, ledger.ObjectsQuery{Limit: 10, Contents: true})
		r.wantNoError(err)
		if first.At != 1 || !first.More || len(first.Objects) != 10 {
			r.t.Fatalf("the page is at %d, %d objects", first.At, len(first.Objects))
		}
		r.mustCommit(deleteEdit(routeKey("web-15")), putEdit(routeKey("web-16"), "v2"), putEdit(routeKey("web-155"), "v1"))
		seen := first.Objects
		for page := first; page.More; {
			page, err = r.Objects(r.ctx, ledger.ObjectsQuery{Limit: 10, At: first.At, Contents: true,
				After: &page.Objects[len(page.Objects)-1].Key})
			r.wantNoError(err)
			seen = append(seen, page.Objects...)
		}
		if len(seen) != 25 {
			r.t.Fatalf("%d objects, want 25", len(seen))
		}
		for i, o := range seen {
			if k := routeKey(fmt.Sprintf("web-%02d", i)); o.Key != k || o.Generation != 1 || !sameJSON(o.Content, makeContent(k,
				"v1")) {
				r.t.Fatalf("object %d is %+v", i, o)
			}
		}
	},
	"objects are listed by key, and selected": func(r rig) {
		r.addClusters("apps")
		other := routeKey("web")
		other.Namespace = "infra"
		r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(routeKey("Web"), "v1"), putEdit(routeKey("a-b"), "v1"),
			putEdit(routeKey("ab"), "v1"), putEdit(other, "v1"),
			putEdit(keyIn("apps", "ConfigMap", "web"), "v1"), putEdit(routeKey("gone"), "v1"))
		r.mustCommit(deleteEdit(routeKey("gone")))
		list, err := r.Objects(r.ctx, ledger.ObjectsQuery{})
		r.wantNoError(err)
		for i := 1; i < len(list.Objects); i++ {
			if list.Objects[i-1].Compare(list.Objects[i].Key) >= 0 {
				r.t.Fatalf("%s comes before %s", list.Objects[i-1].Key, list.Objects[i].Key)
			}
		}
		for _, test := range []struct {
			q    ledger.ObjectsQuery
			want int
		}{
			{ledger.ObjectsQuery{}, 6}, {ledger.ObjectsQuery{Deleted: true}, 7}, {ledger.ObjectsQuery{Target: "apps"}, 1},
			{ledger.ObjectsQuery{Namespace: "infra"}, 1}, {ledger.ObjectsQuery{Kind: "ConfigMap"}, 1},
			{ledger.ObjectsQuery{Group: other.Group}, 5}, {ledger.ObjectsQuery{At: 1}, 7},
			{ledger.ObjectsQuery{Keys: []ledger.Key{other, routeKey("web"), routeKey("web"), routeKey("never")}}, 2},
		} {
			list, err := r.Objects(r.ctx, test.q)
			r.wantNoError(err)
			if len(list.Objects) != test.want || len(list.Objects) > 0 && list.Objects[0].Content != nil {
				r.t.Errorf("%+v has %d objects, want %d", test.q, len(list.Objects), test.want)
			}
		}
	},
	"changes are listed in pages, and selected": func(r rig) {
		for i := range 12 {
			d := newDraft(putEdit(routeKey(fmt.Sprint("web-", i%3)), fmt.Sprint("v", i)))
			if i%4 == 0 {
				d.Author = "bob"
			}
			r.mustDraft(d)
		}
		numbers := func(q ledger.ChangesQuery) (list []int64, more bool) {
			page, err := r.Changes(r.ctx, q)
			r.wantNoError(err)
			for _, c := range page.Changes {
				list = append(list, c.Number)
			}
			return list, page.More
		}
		k := routeKey("web-1")
		for _, test := range []struct {
			q    ledger.ChangesQuery
			want string
			more bool
		}{
			{ledger.ChangesQuery{Page: ledger.Page{Limit: 3}}, "[12 11 10]", true},
			{ledger.ChangesQuery{Page: ledger.Page{Limit: 3, After: 4}}, "[3 2 1]", false},
			{ledger.ChangesQuery{Page: ledger.Page{Limit: 3, After: 9}, Oldest: true}, "[10 11 12]", false},
			{ledger.ChangesQuery{Page: ledger.Page{Limit: 2}, Oldest: true}, "[1 2]", true},
			{ledger.ChangesQuery{Author: "bob"}, "[9 5 1]", false},
			{ledger.ChangesQuery{Object: &k}, "[11 8 5 2]", false},
			{ledger.ChangesQuery{Object: &k, Author: "bob"}, "[5]", false},
		} {
			if got, more := numbers(test.q); fmt.Sprint(got) != test.want || more != test.more {
				r.t.Errorf("%+v has %v, %v, want %s", test.q, got, more, test.want)
			}
		}
	},
	"large changes come in smaller pages": func(r rig) {
		const n, size = 5, ledger.MaxEdits / 2
		for i := range n {
			var d ledger.Draft
			for j := range size {
				d.Edits = append(d.Edits, putEdit(keyIn(ledger.DefaultTarget, "ConfigMap", fmt.Sprint(j)), fmt.Sprint("v", i)))
			}
			r.mustDraft(d)
		}
		for i, c := range r.collectChanges(0, n) {
			if c.Number != int64(i)+1 || len(c.Edited) != size {
				r.t.Fatalf("the watch has change %d with %d edits", c.Number, len(c.Edited))
			}
		}
		q, seen := ledger.ChangesQuery{}, 0
		for more := true; more; {
			page, err := r.Changes(r.ctx, q)
			r.wantNoError(err)
			seen, more = seen+len(page.Changes), page.More
			q.After = page.Changes[len(page.Changes)-1].Number
		}
		v, err := r.Verify(r.ctx)
		r.wantNoError(err)
		if seen != n || v.Changes != n || len(v.Wrong) != 0 {
			r.t.Fatalf("%d changes were listed, the verification is %+v", seen, v)
		}
	},
	"history is listed in pages, the newest first": func(r rig) {
		for i := range 7 {
			r.mustCommit(putEdit(routeKey("web"), fmt.Sprint("v", i)))
		}
		page, err := r.History(r.ctx, routeKey("web"), ledger.Page{Limit: 3})
		r.wantNoError(err)
		rest, err := r.History(r.ctx, routeKey("web"), ledger.Page{Limit: 10, After: page[len(page)-1].Generation})
		r.wantNoError(err)
		if all := append(page, rest...); len(page) != 3 || len(all) != 7 || all[0].Generation != 7 ||
			all[6].Generation != 1 || all[6].Author != "alice" || all[6].Content != nil {
			r.t.Fatalf("the history is %+v", all)
		}
	},
	"history tells what went wrong": func(r rig) {
		r.addClusters("apps", "east")
		k := keyIn("apps", "ConfigMap", "web")
		r.mustCommit(putEdit(k, "v1"))
		for range 2 {
			r.recordFailure(r.claimOne("east"), false)
			_, err := r.Retry(r.ctx, "east", nil)
			r.wantNoError(err)
		}
		r.mustCommit(putEdit(k, "v2"))
		r.wantNoError(r.ReportAnswers(r.ctx, []ledger.Live{{Key: k, Cluster: "east", Gateway: "infra/edge", Generation: 2,
			Proxies: 1,
			Refused: "no such cluster"}}))
		history, err := r.History(r.ctx, k, ledger.Page{})
		r.wantNoError(err)
		if len(history) != 2 || len(history[1].Failures) != 1 || len(history[0].Failures) != 1 {
			r.t.Fatalf("the history is %+v", history)
		}
		if f := history[1].Failures[0]; f.Code != "Forbidden" || f.Times != 2 || f.Cluster != "east" || f.At.IsZero() {
			r.t.Fatalf("the failure is %+v", f)
		}
		if f := history[0].Failures[0]; f.Message != "no such cluster" || f.Gateway != "infra/edge" {
			r.t.Fatalf("the refusal is %+v", f)
		}
	},
	"digests are chained over all of a change": func(r rig) {
		first := r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(routeKey("api"), "v1"))
		second := r.mustCommit(putEdit(routeKey("web"), "v2"))
		kept := r.collectChanges(0, 2)
		r.wantSameChange(kept[0], first)
		r.wantSameChange(kept[1], second)
		if ledger.ChainDigest("", kept[0]) != first.Digest || ledger.ChainDigest(first.Digest, kept[1]) != second.Digest ||
			r.mustHead().Digest != second.Digest {
			r.t.Fatalf("the digests are %s, %s, of the head %s", first.Digest, second.Digest, r.mustHead().Digest)
		}
	},
}
