package calls

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tolerance is the allowed difference of a share, in percent of the calls.
const tolerance = 15

// Client makes calls to one address, whatever the host of their URLs.
type Client struct {
	// OpenTimeout is how long it waits for a port that refuses connections. Envoy acknowledges a listener before it opens
	// it, and opens it when it has what the listener needs, such as key sets that it fetches.
	OpenTimeout time.Duration

	dial  func(ctx context.Context, network, target string) (net.Conn, error)
	plain pair
	shown map[string]pair
}

// pair is a client for each way to speak HTTP: what TLS negotiates, and HTTP/2.
type pair struct{ http, http2 *http.Client }

// NewClient makes a client that calls an IP address, at the URL's port plus offset. Certificates are not verified,
// except where a call expects one. Close it when done.
func NewClient(address string, offset int) *Client {
	c := &Client{OpenTimeout: 10 * time.Second, shown: map[string]pair{}}
	c.dial = func(ctx context.Context, network, target string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(target)
		if err != nil {
			return nil, err
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			return nil, err
		}
		return c.dialOpen(ctx, network, net.JoinHostPort(address, strconv.Itoa(n+offset)))
	}
	c.plain = c.pair(nil)
	return c
}

func (c *Client) dialOpen(ctx context.Context, network, target string) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	for end := time.Now().Add(c.OpenTimeout); ; time.Sleep(20 * time.Millisecond) {
		conn, err := dialer.DialContext(ctx, network, target)
		if !errors.Is(err, syscall.ECONNREFUSED) || time.Now().After(end) {
			return conn, err
		}
	}
}

// Show makes a certificate known under a name, by which calls ask to show it.
func (c *Client) Show(name string, certificate tls.Certificate) {
	c.shown[name] = c.pair([]tls.Certificate{certificate})
}

func (c *Client) pair(certificates []tls.Certificate) pair {
	client := func(protocols *http.Protocols) *http.Client {
		config := &tls.Config{InsecureSkipVerify: true, Certificates: certificates}
		if len(certificates) > 0 { // whoever the server says that it trusts
			config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &certificates[0], nil
			}
		}
		return &http.Client{
			Timeout:       time.Minute,
			Transport:     &http.Transport{DialContext: c.dial, TLSClientConfig: config, Protocols: protocols},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	http2 := new(http.Protocols)
	http2.SetHTTP2(true)
	http2.SetUnencryptedHTTP2(true)
	return pair{http: client(nil), http2: client(http2)}
}

// of is who makes a call.
func (c *Client) of(call Call) (pair, error) {
	if call.Client == "" {
		return c.plain, nil
	}
	of, known := c.shown[call.Client]
	if !known {
		return of, fmt.Errorf("there is no certificate %q to show", call.Client)
	}
	return of, nil
}

// Close closes the kept connections.
func (c *Client) Close() {
	for _, p := range append(slices.Collect(maps.Values(c.shown)), c.plain) {
		p.http.CloseIdleConnections()
		p.http2.CloseIdleConnections()
	}
}

// Do makes the call as often as it says. An error says what was expected, and what was answered.
func (c *Client) Do(ctx context.Context, call Call) error {
	answers, err := c.Ask(ctx, call)
	if err != nil {
		return err
	}
	return Check(call, answers)
}

// Ask makes the call as often as it says, without comparing the answers.
func (c *Client) Ask(ctx context.Context, call Call) ([]Answer, error) {
	if call.isSend() {
		answers, err := c.sendAll(ctx, call)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.Text, err)
		}
		return answers, nil
	}
	answers := make([]Answer, call.Times)
	for i := range answers {
		var err error
		if answers[i], err = c.once(ctx, call); err != nil {
			return nil, fmt.Errorf("%s: %w", call.Text, err)
		}
	}
	return answers, nil
}

// Check returns how the answers differ from what the call expects.
func Check(call Call, answers []Answer) error {
	backends := map[string]int{}
	for _, answer := range answers {
		if err := compareAnswer(call, answer); err != nil {
			return fmt.Errorf("%s: %w", call.Text, err)
		}
		backends[answer.Seen.Name]++
	}
	for _, share := range call.Shares {
		got := 100 * float64(backends[share.Backend]) / float64(call.Times)
		exact := share.Percent == 0 || share.Percent == 100
		if exact && got != share.Percent || math.Abs(got-share.Percent) > tolerance {
			return fmt.Errorf("%s: %q answered %.0f%% of %d calls, want %.0f%% (answers: %v)", call.Text, share.Backend, got,
				call.Times, share.Percent, backends)
		}
	}
	return nil
}

// Answer is the answer to a call.
type Answer struct {
	Status  int    // 0: the connection was closed without an answer
	Code    string // of a gRPC call
	Header  http.Header
	Trailer http.Header
	Seen    Seen   // empty if no backend of examples/backend answered
	Body    string // its beginning

	tls *tls.ConnectionState
}

// Seen is what a backend saw: the answer of examples/backend.
type Seen struct {
	Name, Method, Path, Query, Host string
	Headers                         http.Header
	SNI, ALPN                       string // of the TLS handshake with the backend, for a "SEND"
}

func (c *Client) once(ctx context.Context, call Call) (Answer, error) {
	if call.Method == grpcMethod {
		return c.grpc(ctx, call)
	}
	request, err := http.NewRequestWithContext(ctx, call.Method, call.URL.String(), strings.NewReader(call.Body))
	if err != nil {
		return Answer{}, err
	}
	request.Header = call.Header.Clone()
	by, err := c.of(call)
	if err != nil {
		return Answer{}, err
	}
	answer, body, err := send(by.http, request, call.Host)
	if body == nil {
		return Answer{}, err
	}
	body = plain(answer.Header.Get("Content-Encoding"), body)
	answer.Body = strings.TrimSpace(string(body[:min(len(body), 200)]))
	// An answer that is not a backend's leaves Seen empty.
	_ = json.Unmarshal(body, &answer.Seen)
	if text := ofTool(body); answer.Seen.Name == "" && text != "" {
		_ = json.Unmarshal([]byte(text), &answer.Seen)
	}
	return answer, nil
}

// ofTool is the text that a tool of MCP answered with; "" if a body is no such answer.
func ofTool(body []byte) string {
	var message struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if json.Unmarshal(body, &message) != nil || len(message.Result.Content) != 1 {
		return ""
	}
	return message.Result.Content[0].Text
}

// plain is a body without its compression, if that is known.
func plain(encoding string, body []byte) []byte {
	if encoding != "gzip" {
		return body
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return body
	}
	text, err := io.ReadAll(io.LimitReader(unpacked, 1<<20))
	if err != nil {
		return body
	}
	return text
}

// send makes a request, with another Host than its URL's unless that is "". The body is nil if there is no answer:
// without an error, the connection was closed.
func send(client *http.Client, request *http.Request, host string) (answer Answer, body []byte, err error) {
	if host != "" {
		request.Host = host
	}
	response, err := client.Do(request)
	switch {
	case err != nil && isClosed(err):
		return Answer{}, nil, nil
	case err != nil:
		return Answer{}, nil, innermost(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(response.Body, 1<<20)); err != nil {
		return Answer{}, nil, err
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Trailer: response.Trailer, tls: response.TLS},
		body, nil
}

// compareAnswer returns how an answer differs from what the call expects. It does not compare who answered.
func compareAnswer(call Call, answer Answer) error {
	if call.Code != "" && answer.Code != call.Code {
		return fmt.Errorf("answered %s, want %s: %s", cmp.Or(answer.Code, "closed"), call.Code, answer.Body)
	}
	if call.Code == "" && answer.Status != call.Status {
		return fmt.Errorf("answered %s, want %s: %s", status(answer.Status), status(call.Status), answer.Body)
	}
	for _, want := range call.Expects {
		if err := compare(want, answer); err != nil {
			return err
		}
	}
	return nil
}

func status(code int) string {
	if code == 0 {
		return "closed"
	}
	return strconv.Itoa(code)
}

func compare(want Expectation, answer Answer) error {
	var got string
	seen := answer.Seen
	header, isHeader := strings.CutPrefix(want.Name, "header.")
	trailer, isTrailer := strings.CutPrefix(want.Name, "trailer.")
	switch {
	case isTrailer:
		got = strings.Join(answer.Trailer.Values(trailer), ",")
	case isHeader:
		got = strings.Join(seen.Headers.Values(header), ",")
	case want.Name == "path":
		got = seen.Path
	case want.Name == "query":
		got = seen.Query
	case want.Name == "method":
		got = seen.Method
	case want.Name == "host":
		got = seen.Host
	case want.Name == "sni":
		got = seen.SNI
	case want.Name == "alpn":
		got = seen.ALPN
	case want.Name == "body":
		got = answer.Body
	case want.Name == "certificate":
		if answer.tls == nil {
			return fmt.Errorf("the call is not made over TLS, want a certificate")
		}
		return answer.tls.PeerCertificates[0].VerifyHostname(want.Value)
	default:
		got = strings.Join(answer.Header.Values(want.Name), ",")
	}
	if begin, cut := strings.CutSuffix(want.Value, "..."); cut && begin != "" && strings.HasPrefix(got, begin) {
		return nil
	}
	if got != want.Value {
		return fmt.Errorf("%s is %q, want %q", want.Name, got, want.Value)
	}
	return nil
}

// isClosed reports whether the other side accepted the connection and then closed it, or said so by an alert of TLS.
func isClosed(err error) bool {
	var alert *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.As(err, &alert) && alert.Op == "remote error" ||
		strings.Contains(err.Error(), "server closed idle connection") // before net/http had sent the request
}

// innermost removes the method and URL that net/http puts before an error, since the call's text has them.
func innermost(err error) error {
	if u, ok := err.(*url.Error); ok {
		return u.Err
	}
	return err
}
