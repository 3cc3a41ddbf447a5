package diff

import (
	"fmt"
	"io"
	"strings"
)

// Print writes the report for people.
func (r Report) Print(w io.Writer) error {
	var b strings.Builder
	section := func(title string, n int) {
		if n > 0 {
			fmt.Fprintf(&b, "%s (%d)\n", title, n)
		}
	}
	section("objects", len(r.Objects))
	for _, o := range r.Objects {
		fmt.Fprintf(&b, "  %s\n", o)
		for _, f := range r.Fields {
			if o[2:] == f.Object {
				fmt.Fprintf(&b, "      %s: %s -> %s\n", f.Field, f.Before, f.After)
			}
		}
		if more := r.MoreFields[o[2:]]; more > 0 {
			fmt.Fprintf(&b, "      and %d more\n", more)
		}
	}
	section("data planes", len(r.DataPlanes))
	for _, o := range r.DataPlanes {
		fmt.Fprintf(&b, "  %s\n", o)
	}
	section("routes", len(r.Routes))
	for _, route := range r.Routes {
		fmt.Fprintf(&b, "  %s %s port %s, %s: %s: %s\n", route.Change, route.Gateway, route.Port, route.Host, route.Object,
			route.Match)
	}
	section("other resources", len(r.Resources))
	for _, o := range r.Resources {
		fmt.Fprintf(&b, "  %s\n", o)
	}
	section("requests that would go elsewhere", len(r.Requests)+r.More)
	printRequests(&b, r.Requests, r.More)
	section("connections that would go elsewhere; open ones stay", len(r.Connections)+r.MoreConnections)
	printRequests(&b, r.Connections, r.MoreConnections)
	section("the proxies would end", len(r.Ends))
	for _, e := range r.Ends {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	if r.Unasked > 0 {
		fmt.Fprintf(&b, "requests of %d more routes were not compared\n", r.Unasked)
	}
	section("who may call what", len(r.Access)+r.MoreAccess)
	printAccess(&b, r.Access, r.MoreAccess)
	section("refused", len(r.Refused))
	for _, f := range r.Refused {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	section("warnings", len(r.Warnings))
	for _, f := range r.Warnings {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	if r.IsEmpty() {
		b.WriteString("no change\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printRequests(b *strings.Builder, list []Request, more int) {
	for _, q := range list {
		like := ""
		if q.Like > 0 {
			like = fmt.Sprintf(" (and %d like it)", q.Like)
		}
		fmt.Fprintf(b, "  %s: %s%s\n    before: %s\n    after:  %s\n", q.Gateway, q.Request, like, q.Before, q.After)
	}
	if more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
