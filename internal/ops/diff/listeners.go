package diff

import (
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/core/resource"
)

// changedListener is a listener that differs, and what its old or its new form takes: a request for each of its filter
// chains that differs.
type changedListener struct {
	key       resource.Key
	witnesses []request.Request
}

// listenerChange makes the witnesses. Parts are in the order of their IDs.
func listenerChange(types resource.AllTypes, key resource.Key, was, is resource.Resource) changedListener {
	l := changedListener{key: key}
	for _, side := range []struct{ own, other resource.Resource }{{was, is}, {is, was}} {
		for _, bind := range side.own.Binds {
			address, number, _ := net.SplitHostPort(bind)
			port, _ := strconv.ParseUint(number, 10, 16)
			from := request.Request{Address: address, Port: uint32(port), Method: http.MethodGet, Path: "/"}
			for _, p := range side.own.Parts {
				if slices.Equal(side.own.Binds, side.other.Binds) && hasPart(side.other.Parts, p) {
					continue
				}
				l.witnesses = append(l.witnesses, connectionRequests(types, from, p)...)
			}
		}
	}
	return l
}

func hasPart(parts []*resource.Part, p *resource.Part) bool {
	return slices.ContainsFunc(parts, func(o *resource.Part) bool { return o.ID == p.ID && o.Hash == p.Hash })
}

// connectionRequests are requests that a part of a listener takes: by each server name that it claims, or in the clear
// if it names a table without that.
func connectionRequests(types resource.AllTypes, from request.Request, p *resource.Part) (list []request.Request) {
	for _, name := range p.Claims {
		from.TLS, from.Host = true, request.HostOf(model.HostnameDomain(name))
		from.SNI = from.Host
		list = append(list, from)
	}
	if len(p.Claims) == 0 && slices.ContainsFunc(p.Needs,
		func(n resource.Name) bool { return types.Has(n.Type, resource.Routing) }) {
		from.Host = request.HostOf(model.HostnameDomain(""))
		list = append(list, from)
	}
	return list
}

// describeCertificates tells what a connection that came about is shown; "": nothing is known of that.
func describeCertificates(r request.Result) string {
	if r.Closed != "" || len(r.Certificates) == 0 {
		return ""
	}
	var names []string
	for _, secret := range r.Certificates {
		names = append(names, secret.String())
	}
	return "with the certificate of " + strings.Join(names, " and ")
}
