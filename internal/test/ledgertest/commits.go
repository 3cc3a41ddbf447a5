package ledgertest

import (
	"fmt"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// commits is what becomes of drafts.
var commits = map[string]func(rig){
	"a broken edit in a change of ten: nothing of it is taken": func(r rig) {
		var edits []ledger.Edit
		for i := range 10 {
			e := putEdit(routeKey(fmt.Sprint("web-", i)), "v1")
			if i == 6 {
				e = expectGeneration(e, 4)
			}
			edits = append(edits, e)
		}
		e := r.wantRefusal(ledger.Stale, newDraft(edits...))
		if !strings.Contains(e.Object, "web-6") {
			r.t.Fatalf("the error is %v", e)
		}
		list, err := r.Objects(r.ctx, ledger.ObjectsQuery{Deleted: true})
		r.wantNoError(err)
		if len(list.Objects) != 0 || r.mustHead().Change != 0 {
			r.t.Fatalf("kept: %+v", list)
		}
	},
	"a stale edit is refused, with the generation that is there": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		if e := r.wantRefusal(ledger.Stale, newDraft(expectGeneration(putEdit(routeKey("web"), "v3"), 1))); e.Have != 2 {
			r.t.Fatalf("the error is %+v", e)
		}
		r.wantRefusal(ledger.Stale, newDraft(expectGeneration(putEdit(routeKey("other"), "v3"), 1)))
		r.wantRefusal(ledger.Exists, newDraft(expectGeneration(putEdit(routeKey("web"), "v3"), 0)))
	},
	"what is not there can't be deleted": func(r rig) {
		r.wantRefusal(ledger.NotFound, newDraft(deleteEdit(routeKey("web"))))
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(deleteEdit(routeKey("web")))
		r.wantRefusal(ledger.NotFound, newDraft(deleteEdit(routeKey("web"))))
	},
	"a draft that changes nothing makes no change": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		c := r.mustCommit(putEdit(routeKey("web"), "v1"))
		if c.Number != 0 || len(c.Unchanged) != 1 || len(c.Edited) != 0 || r.mustHead().Change != 1 {
			r.t.Fatalf("the change is %+v", c)
		}
		c = r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(routeKey("api"), "v1"))
		if c.Number != 2 || len(c.Unchanged) != 1 || len(c.Edited) != 1 {
			r.t.Fatalf("the change is %+v", c)
		}
	},
	"a dry run writes nothing": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.DryRun = true
		c := r.mustDraft(d)
		if c.Number != 0 || len(c.Edited) != 1 || r.mustHead().Change != 0 {
			r.t.Fatalf("the change is %+v", c)
		}
		d.Edits[0].Expect = new(int64(7))
		r.wantRefusal(ledger.Stale, d)
	},
	"one object twice in a change is refused": func(r rig) {
		r.wantRefusal(ledger.Invalid, newDraft(putEdit(routeKey("web"), "v1"), putEdit(routeKey("web"), "v2")))
	},
	"an unknown target is refused, and the known ones are named": func(r rig) {
		k := routeKey("web")
		k.Target = "nowhere"
		if e := r.wantRefusal(ledger.NotFound, newDraft(putEdit(k, "v1"))); !strings.Contains(e.Fix, ledger.DefaultTarget) {
			r.t.Fatalf("the error is %v", e)
		}
	},
	"a draft above the limits is refused": func(r rig) {
		d := newDraft()
		for i := range ledger.MaxEdits + 1 {
			d.Edits = append(d.Edits, ledger.Edit{Key: routeKey(fmt.Sprint("web-", i)), Delete: true})
		}
		r.wantRefusal(ledger.TooLarge, d)
	},
	"a change of a thousand objects is one change": func(r rig) {
		var edits []ledger.Edit
		for i := range 1000 {
			edits = append(edits, putEdit(routeKey(fmt.Sprintf("web-%04d", i)), "v1"))
		}
		c := r.mustCommit(edits...)
		if c.Number != 1 || len(c.Edited) != 1000 {
			r.t.Fatalf("change %d edited %d objects", c.Number, len(c.Edited))
		}
		kept, err := r.Change(r.ctx, 1)
		r.wantNoError(err)
		r.wantSameChange(kept, c)
	},
	"a draft for another head is refused, and the changes since are named": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		d := newDraft(putEdit(routeKey("api"), "v1"))
		d.Head = 1
		if e := r.wantRefusal(ledger.Conflict, d); len(e.Later) != 1 || e.Later[0] != 2 {
			r.t.Fatalf("the error is %+v", e)
		}
		d.Head = 2
		r.mustDraft(d)
	},
	"a request that is repeated makes one change": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Request = "r-1"
		first := r.mustDraft(d)
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		again := r.mustDraft(d)
		if !again.Repeated || again.Number != first.Number || again.Digest != first.Digest || first.Repeated {
			r.t.Fatalf("first %+v, then %+v", first, again)
		}
		r.wantObject(routeKey("web"), 2, 2, "v2")
	},
	"a request used for another draft is refused": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Request = "r-1"
		r.mustDraft(d)
		d.Edits = []ledger.Edit{putEdit(routeKey("web"), "v2")}
		r.wantRefusal(ledger.Conflict, d)
	},
	"a request that changed nothing does so again": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Request = "r-1"
		r.mustDraft(d)
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		if c := r.mustDraft(d); !c.Repeated || c.Number != 0 {
			r.t.Fatalf("the change is %+v", c)
		}
		r.wantObject(routeKey("web"), 2, 2, "v2")
	},
	"a revision that never was is refused": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"))
		r.wantRefusal(ledger.NotFound, newDraft(revisionEdit(routeKey("web"), 7)))
	},
	"undo brings back what was before": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(routeKey("api"), "v1"))
		n := r.mustCommit(putEdit(routeKey("web"), "v2"), deleteEdit(routeKey("api")), putEdit(routeKey("new"), "v1")).Number
		d, err := ledger.UndoOf(r.ctx, r, n)
		r.wantNoError(err)
		d.Author = "bob"
		c := r.mustDraft(d)
		if c.Verb != ledger.Undo || c.Of != n {
			r.t.Fatalf("the change is %+v", c)
		}
		r.wantObject(routeKey("web"), 3, 1, "v1")
		r.wantObject(routeKey("api"), 3, 1, "v1")
		r.wantObject(routeKey("new"), 2, 0, "")
	},
	"undo names the later changes that stand in the way": func(r rig) {
		n := r.mustCommit(putEdit(routeKey("web"), "v1")).Number
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		r.mustCommit(putEdit(routeKey("web"), "v3"))
		_, err := ledger.UndoOf(r.ctx, r, n)
		if e := r.wantCode(err, ledger.Conflict); len(e.Later) != 2 || e.Later[0] != 2 || e.Later[1] != 3 {
			r.t.Fatalf("the error is %+v", e)
		}
	},
	"rollback makes objects what they were, as one change": func(r rig) {
		r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(routeKey("api"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		r.mustCommit(deleteEdit(routeKey("api")))
		r.mustCommit(putEdit(routeKey("new"), "v1"))
		d, err := ledger.RollbackOf(r.ctx, r, []ledger.Key{routeKey("web"), routeKey("api"), routeKey("new")}, 1)
		r.wantNoError(err)
		c := r.mustDraft(d)
		if c.Number != 5 || len(c.Edited) != 3 || c.Verb != ledger.Rollback || c.Of != 1 {
			r.t.Fatalf("the change is %+v", c)
		}
		r.wantObject(routeKey("web"), 3, 1, "v1")
		r.wantObject(routeKey("api"), 3, 1, "v1")
		r.wantObject(routeKey("new"), 2, 0, "")
	},
	"a held object is not edited until it is released": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Hold = &ledger.Hold{By: "alice", Why: "incident"}
		r.mustDraft(d)
		if o := r.wantObject(routeKey("web"), 1, 1, "v1"); o.Hold == nil || o.Hold.By != "alice" {
			r.t.Fatalf("the object is %+v", o)
		}
		if e := r.wantRefusal(ledger.Held, newDraft(putEdit(routeKey("web"), "v2"))); !strings.Contains(e.Message, "alice") {
			r.t.Fatalf("the error is %v", e)
		}
		if s := r.mustStatus(routeKey("web")); s.Hold == nil {
			r.t.Fatalf("the status is %+v", s)
		}
		d = newDraft(putEdit(routeKey("web"), "v2"))
		d.Release = true
		r.mustDraft(d)
		if o := r.wantObject(routeKey("web"), 2, 2, "v2"); o.Hold != nil {
			r.t.Fatalf("still held: %+v", o.Hold)
		}
		r.mustCommit(putEdit(routeKey("web"), "v3"))
	},
	"a hold ends by itself": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Hold = &ledger.Hold{By: "alice", Until: time.Now().Add(time.Hour)}
		r.mustDraft(d)
		r.wantRefusal(ledger.Held, newDraft(putEdit(routeKey("web"), "v2")))
		d = newDraft(putEdit(routeKey("api"), "v1"))
		d.Hold = &ledger.Hold{By: "alice", Until: time.Now().Add(-time.Hour)}
		r.mustDraft(d)
		r.mustCommit(putEdit(routeKey("api"), "v2"))
	},
	"a Secret is kept, and goes back": func(r rig) {
		k := secretKey("tls")
		c := r.mustCommit(putEdit(k, "v1"))
		if hash := makeContent(k, "v1").Hash(); c.Edited[0].Hash == hash {
			r.t.Fatal("the hash of a Secret can be guessed")
		}
		r.mustCommit(putEdit(k, "v2"))
		if c := r.mustCommit(putEdit(k, "v2")); c.Number != 0 {
			r.t.Fatalf("the same Secret made change %d", c.Number)
		}
		r.mustCommit(revisionEdit(k, 1))
		r.wantObject(k, 3, 1, "")
	},
	"text that no database keeps is refused": func(r rig) {
		d := newDraft(putEdit(routeKey("web"), "v1"))
		d.Message = "a\x00b"
		r.wantRefusal(ledger.Invalid, d)
		bad := putEdit(routeKey("web"), "v1")
		bad.Content = ledger.Content(`{"apiVersion": `)
		r.wantRefusal(ledger.Invalid, newDraft(bad))
	},
}

// wantSameChange wants a change as it was answered to be the one that is kept.
func (r rig) wantSameChange(kept, answered ledger.Change) {
	r.t.Helper()
	answered.Unchanged, answered.Repeated = nil, false
	if a, b := fmt.Sprintf("%+v", kept), fmt.Sprintf("%+v", answered); a != b {
		r.t.Fatalf("kept is\n%s\nanswered was\n%s", a, b)
	}
}
