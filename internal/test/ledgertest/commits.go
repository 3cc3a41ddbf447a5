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
			e := put(key(fmt.Sprint("web-", i)), "v1")
			if i == 6 {
				e = expecting(e, 4)
			}
			edits = append(edits, e)
		}
		e := r.refused(ledger.Stale, draft(edits...))
		if !strings.Contains(e.Object, "web-6") {
			r.t.Fatalf("the error is %v", e)
		}
		list, err := r.Objects(r.ctx, ledger.ObjectsQuery{Deleted: true})
		r.ok(err)
		if len(list.Objects) != 0 || r.head().Change != 0 {
			r.t.Fatalf("kept: %+v", list)
		}
	},
	"a stale edit is refused, with the generation that is there": func(r rig) {
		r.must(put(key("web"), "v1"))
		r.must(put(key("web"), "v2"))
		if e := r.refused(ledger.Stale, draft(expecting(put(key("web"), "v3"), 1))); e.Have != 2 {
			r.t.Fatalf("the error is %+v", e)
		}
		r.refused(ledger.Stale, draft(expecting(put(key("other"), "v3"), 1)))
		r.refused(ledger.Exists, draft(expecting(put(key("web"), "v3"), 0)))
	},
	"what is not there can't be deleted": func(r rig) {
		r.refused(ledger.NotFound, draft(remove(key("web"))))
		r.must(put(key("web"), "v1"))
		r.must(remove(key("web")))
		r.refused(ledger.NotFound, draft(remove(key("web"))))
	},
	"a draft that changes nothing makes no change": func(r rig) {
		r.must(put(key("web"), "v1"))
		c := r.must(put(key("web"), "v1"))
		if c.Number != 0 || len(c.Unchanged) != 1 || len(c.Edited) != 0 || r.head().Change != 1 {
			r.t.Fatalf("the change is %+v", c)
		}
		c = r.must(put(key("web"), "v1"), put(key("api"), "v1"))
		if c.Number != 2 || len(c.Unchanged) != 1 || len(c.Edited) != 1 {
			r.t.Fatalf("the change is %+v", c)
		}
	},
	"a dry run writes nothing": func(r rig) {
		d := draft(put(key("web"), "v1"))
		d.DryRun = true
		c := r.mustDraft(d)
		if c.Number != 0 || len(c.Edited) != 1 || r.head().Change != 0 {
			r.t.Fatalf("the change is %+v", c)
		}
		d.Edits[0].Expect = new(int64(7))
		r.refused(ledger.Stale, d)
	},
	"one object twice in a change is refused": func(r rig) {
		r.refused(ledger.Invalid, draft(put(key("web"), "v1"), put(key("web"), "v2")))
	},
	"an unknown target is refused, and the known ones are named": func(r rig) {
		k := key("web")
		k.Target = "nowhere"
		if e := r.refused(ledger.NotFound, draft(put(k, "v1"))); !strings.Contains(e.Fix, ledger.DefaultTarget) {
			r.t.Fatalf("the error is %v", e)
		}
	},
	"a draft above the limits is refused": func(r rig) {
		d := draft()
		for i := range ledger.MaxEdits + 1 {
			d.Edits = append(d.Edits, ledger.Edit{Key: key(fmt.Sprint("web-", i)), Delete: true})
		}
		r.refused(ledger.TooLarge, d)
	},
	"a change of a thousand objects is one change": func(r rig) {
		var edits []ledger.Edit
		for i := range 1000 {
			edits = append(edits, put(key(fmt.Sprintf("web-%04d", i)), "v1"))
		}
		c := r.must(edits...)
		if c.Number != 1 || len(c.Edited) != 1000 {
			r.t.Fatalf("change %d edited %d objects", c.Number, len(c.Edited))
		}
		kept, err := r.Change(r.ctx, 1)
		r.ok(err)
		r.same(kept, c)
	},
	"a draft for another head is refused, and the changes since are named": func(r rig) {
		r.must(put(key("web"), "v1"))
		r.must(put(key("web"), "v2"))
		d := draft(put(key("api"), "v1"))
		d.Head = 1
		if e := r.refused(ledger.Conflict, d); len(e.Later) != 1 || e.Later[0] != 2 {
			r.t.Fatalf("the error is %+v", e)
		}
		d.Head = 2
		r.mustDraft(d)
	},
	"a request that is repeated makes one change": func(r rig) {
		d := draft(put(key("web"), "v1"))
		d.Request = "r-1"
		first := r.mustDraft(d)
		r.must(put(key("web"), "v2"))
		again := r.mustDraft(d)
		if !again.Repeated || again.Number != first.Number || again.Digest != first.Digest || first.Repeated {
			r.t.Fatalf("first %+v, then %+v", first, again)
		}
		r.is(key("web"), 2, 2, "v2")
	},
	"a request used for another draft is refused": func(r rig) {
		d := draft(put(key("web"), "v1"))
		d.Request = "r-1"
		r.mustDraft(d)
		d.Edits = []ledger.Edit{put(key("web"), "v2")}
		r.refused(ledger.Conflict, d)
	},
	"a request that changed nothing does so again": func(r rig) {
		r.must(put(key("web"), "v1"))
		d := draft(put(key("web"), "v1"))
		d.Request = "r-1"
		r.mustDraft(d)
		r.must(put(key("web"), "v2"))
		if c := r.mustDraft(d); !c.Repeated || c.Number != 0 {
			r.t.Fatalf("the change is %+v", c)
		}
		r.is(key("web"), 2, 2, "v2")
	},
	"a revision that never was is refused": func(r rig) {
		r.must(put(key("web"), "v1"))
		r.refused(ledger.NotFound, draft(toRevision(key("web"), 7)))
	},
	"undo brings back what was before": func(r rig) {
		r.must(put(key("web"), "v1"), put(key("api"), "v1"))
		n := r.must(put(key("web"), "v2"), remove(key("api")), put(key("new"), "v1")).Number
		d, err := ledger.UndoOf(r.ctx, r, n)
		r.ok(err)
		d.Author = "bob"
		c := r.mustDraft(d)
		if c.Verb != ledger.Undo || c.Of != n {
			r.t.Fatalf("the change is %+v", c)
		}
		r.is(key("web"), 3, 1, "v1")
		r.is(key("api"), 3, 1, "v1")
		r.is(key("new"), 2, 0, "")
	},
	"undo names the later changes that stand in the way": func(r rig) {
		n := r.must(put(key("web"), "v1")).Number
		r.must(put(key("web"), "v2"))
		r.must(put(key("web"), "v3"))
		_, err := ledger.UndoOf(r.ctx, r, n)
		if e := r.code(err, ledger.Conflict); len(e.Later) != 2 || e.Later[0] != 2 || e.Later[1] != 3 {
			r.t.Fatalf("the error is %+v", e)
		}
	},
	"rollback makes objects what they were, as one change": func(r rig) {
		r.must(put(key("web"), "v1"), put(key("api"), "v1"))
		r.must(put(key("web"), "v2"))
		r.must(remove(key("api")))
		r.must(put(key("new"), "v1"))
		d, err := ledger.RollbackOf(r.ctx, r, []ledger.Key{key("web"), key("api"), key("new")}, 1)
		r.ok(err)
		c := r.mustDraft(d)
		if c.Number != 5 || len(c.Edited) != 3 || c.Verb != ledger.Rollback || c.Of != 1 {
			r.t.Fatalf("the change is %+v", c)
		}
		r.is(key("web"), 3, 1, "v1")
		r.is(key("api"), 3, 1, "v1")
		r.is(key("new"), 2, 0, "")
	},
	"a held object is not edited until it is released": func(r rig) {
		d := draft(put(key("web"), "v1"))
		d.Hold = &ledger.Hold{By: "alice", Why: "incident"}
		r.mustDraft(d)
		if o := r.is(key("web"), 1, 1, "v1"); o.Hold == nil || o.Hold.By != "alice" {
			r.t.Fatalf("the object is %+v", o)
		}
		if e := r.refused(ledger.Held, draft(put(key("web"), "v2"))); !strings.Contains(e.Message, "alice") {
			r.t.Fatalf("the error is %v", e)
		}
		if s := r.status(key("web")); s.Hold == nil {
			r.t.Fatalf("the status is %+v", s)
		}
		d = draft(put(key("web"), "v2"))
		d.Release = true
		r.mustDraft(d)
		if o := r.is(key("web"), 2, 2, "v2"); o.Hold != nil {
			r.t.Fatalf("still held: %+v", o.Hold)
		}
		r.must(put(key("web"), "v3"))
	},
	"a hold ends by itself": func(r rig) {
		d := draft(put(key("web"), "v1"))
		d.Hold = &ledger.Hold{By: "alice", Until: time.Now().Add(time.Hour)}
		r.mustDraft(d)
		r.refused(ledger.Held, draft(put(key("web"), "v2")))
		d = draft(put(key("api"), "v1"))
		d.Hold = &ledger.Hold{By: "alice", Until: time.Now().Add(-time.Hour)}
		r.mustDraft(d)
		r.must(put(key("api"), "v2"))
	},
	"a Secret is kept, and goes back": func(r rig) {
		k := secretKey("tls")
		c := r.must(put(k, "v1"))
		if hash := content(k, "v1").Hash(); c.Edited[0].Hash == hash {
			r.t.Fatal("the hash of a Secret can be guessed")
		}
		r.must(put(k, "v2"))
		if c := r.must(put(k, "v2")); c.Number != 0 {
			r.t.Fatalf("the same Secret made change %d", c.Number)
		}
		r.must(toRevision(k, 1))
		r.is(k, 3, 1, "")
	},
	"text that no database keeps is refused": func(r rig) {
		d := draft(put(key("web"), "v1"))
		d.Message = "a\x00b"
		r.refused(ledger.Invalid, d)
		bad := put(key("web"), "v1")
		bad.Content = ledger.Content(`{"apiVersion": `)
		r.refused(ledger.Invalid, draft(bad))
	},
}

// same wants a change as it was answered to be the one that is kept.
func (r rig) same(kept, answered ledger.Change) {
	r.t.Helper()
	answered.Unchanged, answered.Repeated = nil, false
	if a, b := fmt.Sprintf("%+v", kept), fmt.Sprintf("%+v", answered); a != b {
		r.t.Fatalf("kept is\n%s\nanswered was\n%s", a, b)
	}
}
