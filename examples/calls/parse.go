package calls

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Call is a request and the expected answer.
type Call struct {
	Line int    // in the file
	Text string // the line, without repeated spaces
	// Method is HTTP's; "GRPC": a gRPC call, the URL's path names its service and method; "SEND": bytes over a connection,
	// or a datagram.
	Method string
	URL    *url.URL
	Header http.Header // of the request; Host is its own
	Host   string      // "" means the URL's host
	Body   string
	Client string // the certificate that is shown, by its name (Client.Show); "": none
	Times  int

	Code    string  // of a gRPC call: its status, such as "UNAVAILABLE"
	Status  int     // of others. 0: the connection must be closed without an answer
	Shares  []Share // none: any backend may answer
	Expects []Expectation
}

// Share is the part of the calls that a backend must answer.
type Share struct {
	Backend string // of a "SEND" also Closed, Silent
	Percent float64
}

// Expectation is the expected value of an attribute of the exchange; "" means absent.
type Expectation struct{ Name, Value string }

// ParseFile reads a file of calls.
func ParseFile(path string) ([]Call, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	return list, nil
}

// Parse reads calls, one a line. Empty lines and lines that start with # are skipped. Its error begins with the line.
func Parse(r io.Reader) ([]Call, error) {
	var list []Call
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		c, err := parseCall(fields)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", n, err)
		}
		c.Line = n
		list = append(list, c)
	}
	return list, lines.Err()
}

func parseCall(fields []string) (Call, error) {
	c := Call{Text: strings.Join(fields, " "), Header: http.Header{}, Times: 1}
	left, right, ok := cut(fields, "->")
	if !ok || len(left) < 2 || len(right) < 1 {
		return c, fmt.Errorf("want METHOD URL [-H name:value] [-u user:password] [-t token] [-d body] "+
			"[-E certificate] [*times] -> STATUS [backend] [name=value], got %q", c.Text)
	}
	if err := c.request(left); err != nil {
		return c, err
	}
	return c, c.answer(right)
}

func (c *Call) request(fields []string) error {
	c.Method = fields[0]
	var err error
	if c.URL, err = url.Parse(fields[1]); err != nil {
		return err
	}
	switch {
	case c.URL.Host == "", c.isSend() != isConnection(c.URL.Scheme),
		!c.isSend() && c.URL.Scheme != "http" && c.URL.Scheme != "https":
		return fmt.Errorf("want a whole URL, got %q", fields[1])
	case c.isSend() && c.URL.Port() == "" && c.URL.Scheme != "tls":
		return fmt.Errorf("want a port, got %q", fields[1])
	}
	for rest := fields[2:]; len(rest) > 0; rest = rest[1:] {
		if times, ok := strings.CutPrefix(rest[0], "*"); ok {
			if c.Times, err = strconv.Atoi(times); err != nil || c.Times < 1 {
				return fmt.Errorf("want *N, got %q", rest[0])
			}
			continue
		}
		if rest[0] == "-d" && len(rest) > 1 {
			rest = rest[1:]
			c.Body = rest[0]
			continue
		}
		if c.isSend() {
			return fmt.Errorf("want -d body or *N, got %q", rest[0])
		}
		if rest[0] == "-E" && len(rest) > 1 {
			rest = rest[1:]
			c.Client = rest[0]
			continue
		}
		if len(rest) > 1 && (rest[0] == "-u" || rest[0] == "-t") {
			c.Header.Set("Authorization", credentials(rest[0], rest[1]))
			rest = rest[1:]
			continue
		}
		if rest[0] != "-H" || len(rest) < 2 {
			return fmt.Errorf("want -H name:value, -u user:password, -t token, -d body, -E certificate or *N, got %q",
				rest[0])
		}
		rest = rest[1:]
		name, value, ok := strings.Cut(rest[0], ":")
		if !ok || name == "" {
			return fmt.Errorf("want -H name:value, got %q", rest[0])
		}
		if strings.EqualFold(name, "host") {
			c.Host = value
		} else {
			c.Header.Add(name, value)
		}
	}
	return nil
}

// isConnection tells whether a URL is of a connection, or of datagrams.
func isConnection(scheme string) bool { return scheme == "tcp" || scheme == "tls" || scheme == "udp" }

// credentials are the value of the header Authorization for a user and password (-u), or for a token (-t).
func credentials(kind, value string) string {
	if kind == "-u" {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(value))
	}
	return "Bearer " + value
}

func (c *Call) answer(fields []string) error {
	if c.isSend() {
		return c.expect(fields)
	}
	if len(fields) == 1 && fields[0] == Closed {
		return nil
	}
	var err error
	if c.Method == grpcMethod {
		if c.Code = fields[0]; !isCode(c.Code) {
			return fmt.Errorf("want a status of gRPC, got %q", fields[0])
		}
	} else if c.Status, err = strconv.Atoi(fields[0]); err != nil || c.Status < 100 || c.Status > 599 {
		return fmt.Errorf("want a status, got %q", fields[0])
	}
	return c.expect(fields[1:])
}

// expect reads who must answer, and what else is expected.
func (c *Call) expect(fields []string) (err error) {
	for _, field := range fields {
		if name, value, ok := strings.Cut(field, "="); ok {
			c.Expects = append(c.Expects, Expectation{name, value})
			continue
		}
		name, percent, ok := strings.Cut(field, "~")
		share := Share{Backend: name, Percent: 100}
		if ok {
			if share.Percent, err = strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64); err != nil {
				return fmt.Errorf("want backend~N%%, got %q", field)
			}
		}
		c.Shares = append(c.Shares, share)
	}
	return nil
}

// cut splits fields at the first one that equals sep.
func cut(fields []string, sep string) (before, after []string, ok bool) {
	for i, f := range fields {
		if f == sep {
			return fields[:i], fields[i+1:], true
		}
	}
	return fields, nil, false
}
