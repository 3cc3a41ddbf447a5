package ledgertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
)

// accesses is tokens, grants and denials.
var accesses = map[string]func(rig){
	"a token is found by its hash until it expires": func(r rig) {
		r.wantNoError(r.SetToken(r.ctx, ledger.Token{Name: "ci", Subject: "ci", Groups: []string{"robots"}, Hash: "aa"},
			"alice"))
		r.wantNoError(r.SetToken(r.ctx, ledger.Token{Name: "old", Subject: "old", Hash: "bb",
			Expires: time.Now().Add(-time.Minute)}, "alice"))
		k, err := r.Token(r.ctx, "aa")
		r.wantNoError(err)
		if k.Name != "ci" || k.Subject != "ci" || len(k.Groups) != 1 || k.Made.IsZero() {
			r.t.Fatalf("the token is %+v", k)
		}
		for _, hash := range []string{"bb", "cc", ""} {
			_, err = r.Token(r.ctx, hash)
			r.wantCode(err, ledger.NotFound)
		}
		list, err := r.Tokens(r.ctx)
		r.wantNoError(err)
		if len(list) != 2 || list[0].Hash != "" {
			r.t.Fatalf("the tokens are %+v", list)
		}
		r.wantNoError(r.DeleteToken(r.ctx, "ci", "alice"))
		_, err = r.Token(r.ctx, "aa")
		r.wantCode(err, ledger.NotFound)
		r.wantCode(r.DeleteToken(r.ctx, "ci", "alice"), ledger.NotFound)
	},
	"grants are kept": func(r rig) {
		g := ledger.Grant{Name: "writers", Subjects: []string{"group:shop"}, Namespaces: []string{"shop"},
			Permissions: []ledger.Permission{ledger.MayWrite}}
		r.wantNoError(r.SetGrant(r.ctx, g, "alice"))
		list, err := r.Grants(r.ctx)
		r.wantNoError(err)
		if len(list) != 1 || !list[0].AllowsObject(ledger.Caller{Groups: []string{"shop"}}, ledger.MayWrite,
			routeKey("web")) {
			r.t.Fatalf("the grants are %+v", list)
		}
		r.wantNoError(r.DeleteGrant(r.ctx, "writers", "alice"))
		r.wantCode(r.DeleteGrant(r.ctx, "writers", "alice"), ledger.NotFound)
		r.wantCode(r.SetGrant(r.ctx, ledger.Grant{Name: "empty"}, "alice"), ledger.Invalid)
	},
	"the registry's log says who edited it": func(r rig) {
		began, err := r.RegistryLog(r.ctx, ledger.Page{Limit: 1})
		r.wantNoError(err)
		after := int64(0) // that of the rig's own edits
		if len(began) > 0 {
			after = began[0].Number
		}
		r.wantNoError(r.SetGrant(r.ctx, ledger.Grant{Name: "writers", Subjects: []string{"bob"},
			Permissions: []ledger.Permission{ledger.MayWrite}}, "alice"))
		r.wantNoError(r.SetToken(r.ctx, ledger.Token{Name: "ci", Subject: "ci", Hash: "secrethash"}, "alice"))
		r.wantNoError(r.SetTarget(r.ctx, ledger.Target{Name: "prod", Server: ledger.Clusters}, "alice"))
		r.wantNoError(r.SetCluster(r.ctx, ledger.Cluster{Name: "east"}, "alice"))
		r.wantNoError(r.DeleteToken(r.ctx, "ci", "alice"))
		r.wantNoError(r.DeleteGrant(r.ctx, "writers", "alice"))
		r.wantNoError(r.DeleteCluster(r.ctx, "east", "alice"))
		r.wantCode(r.DeleteCluster(r.ctx, "east", "alice"), ledger.NotFound) // is not noted
		list, err := r.RegistryLog(r.ctx, ledger.Page{Limit: 7})
		r.wantNoError(err)
		var said []string
		for i, e := range list {
			if e.Number != after+7-int64(i) || e.By != "alice" || e.At.IsZero() || e.Digest == "" ||
				strings.Contains(string(e.Value), "secrethash") {
				r.t.Errorf("entry %d is %+v", i, e)
			}
			word := "deleted "
			if e.Value != nil {
				word = "set "
			}
			said = append(said, word+e.Object)
		}
		want := []string{"deleted Cluster east", "deleted Grant writers", "deleted Token ci", "set Cluster east",
			"set Target prod", "set Token ci", "set Grant writers"}
		if !slices.Equal(said, want) || !strings.Contains(string(list[6].Value), `"bob"`) {
			r.t.Errorf("the log says %v", said)
		}
		v, err := r.Verify(r.ctx)
		r.wantNoError(err)
		if len(v.Wrong) != 0 || v.Registry != after+7 {
			r.t.Errorf("the verification is %+v", v)
		}
	},
	"a denial says how many were not noted before it": func(r rig) {
		r.wantNoError(r.Deny(r.ctx, ledger.Denial{Subject: "eve", Permission: ledger.MayWrite, Request: "PUT /", Missed: 7}))
		list, err := r.Denials(r.ctx, ledger.Page{})
		r.wantNoError(err)
		v, err := r.Verify(r.ctx)
		r.wantNoError(err)
		if len(list) != 1 || list[0].Missed != 7 || len(v.Wrong) != 0 {
			r.t.Fatalf("the denials are %+v, the verification is %+v", list, v)
		}
	},
	"denials are chained, and verified with the changes": func(r rig) {
		for i := range 5 {
			r.wantNoError(r.Deny(r.ctx, ledger.Denial{Subject: "eve", Permission: ledger.MayWrite, Object: "HTTPRoute shop/web",
				Request: fmt.Sprint("PUT ", i)}))
		}
		list, err := r.Denials(r.ctx, ledger.Page{Limit: 2})
		r.wantNoError(err)
		if len(list) != 2 || list[0].Number != 5 || list[0].Request != "PUT 4" || list[0].Digest == list[1].Digest {
			r.t.Fatalf("the denials are %+v", list)
		}
		list, err = r.Denials(r.ctx, ledger.Page{After: 4})
		r.wantNoError(err)
		if len(list) != 3 || list[0].Number != 3 {
			r.t.Fatalf("the denials are %+v", list)
		}
		r.mustCommit(putEdit(routeKey("web"), "v1"), putEdit(secretKey("tls"), "v1"))
		r.mustCommit(putEdit(routeKey("web"), "v2"))
		r.mustCommit(deleteEdit(routeKey("web")))
		v, err := r.Verify(r.ctx)
		r.wantNoError(err)
		if len(v.Wrong) != 0 || v.Changes != 3 || v.Contents != 3 || v.Denials != 5 || v.Digest != r.mustHead().Digest {
			r.t.Fatalf("the verification is %+v", v)
		}
	},
}
