package healthcheck

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"cardea.dev/cardea/extend"
)

// Value is the check as read. It has one of HTTP, GRPC and TCP; none: it is wrong, and nothing is checked.
type Value struct {
	HTTP *Request
	GRPC *string // the service
	TCP  *Exchange

	Timeout, Interval, Jitter time.Duration
	Unhealthy, Healthy        uint32
}

// Request is the request of a check. Empty fields are not stated.
type Request struct {
	Host, Path, Method  string
	Expected, Retriable []Range
}

// Range is statuses of HTTP, both ends included.
type Range struct{ First, Last int64 }

// Exchange is what is sent and received. Empty fields are not stated.
type Exchange struct{ Send, Receive string }

// Defaults, for fields that are not stated.
const (
	defaultTimeout   = time.Second
	defaultInterval  = 5 * time.Second
	defaultUnhealthy = 3
	defaultHealthy   = 1
)

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		Timeout: defaultTimeout, Interval: defaultInterval, Unhealthy: numberOr(s.Unhealthy, defaultUnhealthy),
		Healthy: numberOr(s.Healthy, defaultHealthy),
	}
	for _, d := range []struct {
		stated, to *time.Duration
	}{
		{extend.ReadDuration(r.Field("timeout"), s.Timeout, time.Millisecond), &v.Timeout},
		{extend.ReadDuration(r.Field("interval"), s.Interval, time.Millisecond), &v.Interval},
		{extend.ReadDuration(r.Field("jitter"), s.Jitter, 0), &v.Jitter},
	} {
		if d.stated != nil {
			*d.to = *d.stated
		}
	}
	stated := 0
	for _, is := range []bool{s.HTTP != nil, s.GRPC != nil, s.TCP != nil} {
		if is {
			stated++
		}
	}
	switch {
	case stated != 1:
		r.Refuse(fmt.Sprintf("%d of http, grpc and tcp are stated; state one, and disable: [healthCheck] if a broader "+
			"policy states another one", stated))
	case s.HTTP != nil:
		v.HTTP = readHTTP(r, *s.HTTP)
	case s.GRPC != nil && r.Location().HTTP1:
		r.Field("grpc").Refuse("gRPC needs a backend that speaks HTTP/2, and this one speaks HTTP/1.1; state appProtocol " +
			"kubernetes.io/h2c at its port, or check http or tcp")
	case s.GRPC != nil:
		v.GRPC = new(stringOrEmpty(s.GRPC.Service))
	default:
		v.TCP = &Exchange{stringOrEmpty(s.TCP.Send), stringOrEmpty(s.TCP.Receive)}
	}
	return v
}

// readHTTP is nil if something is wrong: a check of something else could take out every endpoint.
func readHTTP(r extend.Reader, h HTTP) *Request {
	q := &Request{Host: stringOrEmpty(h.Host), Path: "/", Method: stringOrEmpty((*string)(h.Method))}
	ok := true
	if h.Path != nil {
		q.Path = *h.Path
	}
	if !strings.HasPrefix(q.Path, "/") || strings.ContainsFunc(q.Path, notPrinted) {
		r.Field("http.path").Refuse(fmt.Sprintf("%q is not a path; it begins with / and has no spaces", q.Path))
		ok = false
	}
	if strings.ContainsFunc(q.Host, notPrinted) || strings.Contains(q.Host, "/") {
		r.Field("http.host").Refuse(fmt.Sprintf("%q is not a host", q.Host))
		ok = false
	}
	for _, list := range []struct {
		field  string
		stated []Statuses
		to     *[]Range
	}{{"http.expected", h.Expected, &q.Expected}, {"http.retriable", h.Retriable, &q.Retriable}} {
		for i, s := range list.stated {
			statuses, err := readStatuses(s)
			if err != nil {
				r.Field(fmt.Sprintf("%s[%d]", list.field, i)).Refuse(err.Error())
				ok = false
				continue
			}
			*list.to = append(*list.to, statuses)
		}
	}
	if !ok {
		return nil
	}
	return q
}

func readStatuses(s Statuses) (r Range, err error) {
	first, last, ranged := strings.Cut(string(s), "-")
	if !ranged {
		last = first
	}
	from, wrong := strconv.ParseInt(first, 10, 64)
	to, also := strconv.ParseInt(last, 10, 64)
	if wrong != nil || also != nil || from < 100 || to > 599 || from > to {
		return r, fmt.Errorf("%q is neither a status from 100 to 599 nor a range of statuses; write 204 or 200-299",
			string(s))
	}
	return Range{from, to}, nil
}

func notPrinted(c rune) bool { return c <= ' ' || c >= 0x7f }

func numberOr(n *int32, otherwise uint32) uint32 {
	if n == nil {
		return otherwise
	}
	return uint32(*n)
}

func stringOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
