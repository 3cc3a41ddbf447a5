package simulate

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The fields by which a table is read without decoding the routes of 10,000 virtual hosts.
const (
	virtualHostsField = 2 // RouteConfiguration.virtual_hosts
	domainsField      = 2 // VirtualHost.domains
)

var errTable = errors.New("it is not a RouteConfiguration")

// table is a RouteConfiguration. A virtual host is decoded when a request needs it.
type table struct {
	head  *routev3.RouteConfiguration // without virtual hosts
	exact map[string]*lazyHost        // by domain, in lower case
	// suffixes are the domains "*.x" by ".x", heads the domains "x.*" by "x.": the longest first.
	suffixes, prefixes []wildcard
	catchAll           *lazyHost // the domain "*"
}

type wildcard struct {
	text string
	host *lazyHost
}

// lazyHost is a virtual host, as bytes until it is asked for.
type lazyHost struct {
	bytes   []byte
	decoded *routev3.VirtualHost
}

func (h *lazyHost) decodeHost() (*routev3.VirtualHost, error) {
	if h.decoded == nil {
		v := new(routev3.VirtualHost)
		if err := proto.Unmarshal(h.bytes, v); err != nil {
			return nil, err
		}
		h.decoded, h.bytes = v, nil
	}
	return h.decoded, nil
}

func readTable(b []byte) (*table, error) {
	t := &table{head: new(routev3.RouteConfiguration), exact: map[string]*lazyHost{}}
	var rest []byte
	err := eachField(b, func(number protowire.Number, whole, value []byte) error {
		if number != virtualHostsField {
			rest = append(rest, whole...)
			return nil
		}
		h := &lazyHost{bytes: value}
		return eachField(value, func(number protowire.Number, _, domain []byte) error {
			if number == domainsField {
				t.addDomain(strings.ToLower(string(domain)), h)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	longest := func(a, b wildcard) int { return cmp.Compare(len(b.text), len(a.text)) }
	slices.SortStableFunc(t.suffixes, longest)
	slices.SortStableFunc(t.prefixes, longest)
	return t, proto.Unmarshal(rest, t.head)
}

func (t *table) addDomain(domain string, h *lazyHost) {
	switch {
	case domain == "*":
		t.catchAll = h
	case strings.HasPrefix(domain, "*"):
		t.suffixes = append(t.suffixes, wildcard{domain[1:], h})
	case strings.HasSuffix(domain, "*"):
		t.prefixes = append(t.prefixes, wildcard{domain[:len(domain)-1], h})
	default:
		t.exact[domain] = h
	}
}

// findHost is the virtual host of a Host header: an exact domain before a wildcard at the front before one at the end,
// the longest of each, and at last "*". A wildcard stands for one character or more.
func (t *table) findHost(authority string) *lazyHost {
	name := strings.ToLower(authority)
	if t.head.GetIgnorePortInHostMatching() {
		name = cutPort(name)
	}
	if h, ok := t.exact[name]; ok {
		return h
	}
	for _, w := range t.suffixes {
		if len(name) > len(w.text) && strings.HasSuffix(name, w.text) {
			return w.host
		}
	}
	for _, w := range t.prefixes {
		if len(name) > len(w.text) && strings.HasPrefix(name, w.text) {
			return w.host
		}
	}
	return t.catchAll
}

// cutPort cuts a port from a host, which may be an IPv6 address in brackets.
func cutPort(host string) string {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || strings.HasSuffix(host, "]") || strings.Count(host, ":") > 1 && !strings.Contains(host, "]:") {
		return host
	}
	return host[:colon]
}

// eachField calls each with every field of a message: value is that of a length-delimited field, and nil for others.
func eachField(b []byte, each func(number protowire.Number, whole, value []byte) error) error {
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return errTable
		}
		size := protowire.ConsumeFieldValue(number, kind, b[tag:])
		if size < 0 {
			return errTable
		}
		var value []byte
		if kind == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(b[tag:])
		}
		if err := each(number, b[:tag+size], value); err != nil {
			return err
		}
		b = b[tag+size:]
	}
	return nil
}
