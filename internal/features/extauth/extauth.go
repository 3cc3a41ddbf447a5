// Package extauth is the feature `extAuth` of a SecurityPolicy: a server that is asked whether a request may pass.
//
// It owns the fields and what Envoy makes of them. It must never know how policies are attached, nor of an HTTPRoute's
// own ExternalAuth filter, which runs besides. Start reading at Feature; spec.go has the fields.
package extauth

import (
	_ "embed"
	"time"

	"cardea.dev/cardea/extend"
)

//go:generate go run -C ../../../extend/schemagen . $PWD
//go:embed schema.json
var schema []byte

// Value is the spec as read.
type Value struct {
	// Server is whom to ask, with what the request tells it and what its answer tells the backend.
	Server extend.ExternalAuth `json:"-"`
	Name   string              // of the server
	// Path stands in place of the request's; "": it stays.
	Path              string
	ToClient, OnAllow []string // headers of an answer that refuses, and of one that allows
	Partial           bool     // a part of a larger body goes to the server
	Timeout           time.Duration
	PassOnFailure     bool
	StatusOnFailure   int
	Context           map[string]Text
	Shadow            string // what it refuses is counted and logged below this name, and passes; "": it is refused
	When              []extend.RequestMatch
	Providers         []string // of tokens that are accepted
}

// RereadPerRule has rules of GRPCRoutes read it once more: they can't have bodies.
func (v Value) RereadPerRule() extend.Reread {
	if v.Server.MaxBody > 0 {
		return extend.RereadGRPC
	}
	return extend.RereadNever
}

// Feature is authorization by a server.
var Feature = extend.Feature[Spec, Value]{
	Kind: extend.SecurityPolicy, Name: "extAuth", Schema: schema, Levels: extend.AtRule, OnInvalid: extend.Deny,
	Group: extend.AuthenticationGroup, SkipHTTPSRedirect: true,
	Read: readSpec, Renders: renders, Judge: judgeRequest, Describe: describeValue, Sets: listIdentityHeaders,
}

// listIdentityHeaders are the headers of the server's answer.
func listIdentityHeaders(v Value) extend.IdentityHeaders { return extend.AttestedBy(v.Server) }

func judgeRequest(_ extend.Request, v Value) []extend.Verdict {
	allowed := v.Name + " allows it"
	if len(v.When) > 0 {
		allowed += ", or the request is not one that the server is asked about"
	}
	if v.Shadow != "" {
		return []extend.Verdict{
			{If: allowed}, {Status: extend.AnyStatus, If: allowed, Shadow: "extAuth in mode Shadow"},
		}
	}
	return []extend.Verdict{{Status: extend.AnyStatus, If: allowed}}
}

func describeValue(v Value) (list []string) {
	list = append(list, "asks "+v.Name)
	for _, m := range v.When {
		list = append(list, "about "+extend.DescribeMatch(m))
	}
	if v.Shadow != "" {
		list = append(list, "refuses nothing (mode Shadow)")
	}
	return list
}
