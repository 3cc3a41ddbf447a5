package live

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/app/standalone"
)

// TestOpenConnectionsSurviveEdits holds an HTTP/1.1 and an HTTP/2 connection through edits of every kind: the proxy
// neither closes the one nor sends a GOAWAY on the other.
func TestOpenConnectionsSurviveEdits(t *testing.T) {
	t.Parallel()
	work := filepath.Join(t.TempDir(), "w")
	s := open(t, shop(), func(o *standalone.Options) { o.WorkDir = work })
	one, two := s.line(t, nil), newMultiplex(s, nil)
	check := func(after string) {
		t.Helper()
		if err := one.get("shop.example"); err != nil {
			t.Errorf("HTTP/1.1 after %s: %v", after, err)
		}
		if err := two.get("http://shop.example/"); err != nil {
			t.Errorf("HTTP/2 after %s: %v", after, err)
		}
	}
	check("connecting")
	for i := range 5 {
		for _, service := range []string{"green", "blue"} {
			s.write("route.yaml", routeFile("web", "shop.example", to(service)))
			s.soon("GET http://shop.example/ -> 200 " + service)
			check("the route's backend changed")
		}
		s.write("extra.yaml", routeFile("extra", "extra.example", to("green")))
		s.soon("GET http://extra.example/ -> 200 green")
		check("a route came")
		s.write("gateway.yaml", gatewayFile(80, 90+i))
		s.soon(fmt.Sprintf("GET http://extra.example:%d/ -> 200 green", 90+i))
		check("a listener came")
		s.remove("extra.yaml")
		s.soon("GET http://extra.example/ -> 404")
		check("a route went")
		s.write("blue.yaml", serviceFile("blue", "second-blue"))
		s.soon("GET http://shop.example/ -> 200 second-blue")
		check("an endpoint changed")
		s.write("blue.yaml", serviceFile("blue", "blue"))
		s.soon("GET http://shop.example/ -> 200 blue")
	}
	if n := two.dials.Load(); n != 1 {
		t.Errorf("the HTTP/2 client had to connect %d times: the proxy sent it away", n)
	}
	drainedNothing(t, work)
}

func TestHostAndRedirectsWithAPortOffset(t *testing.T) {
	t.Parallel()
	s := prepare(t, t.TempDir(), shop())
	s.write("gateway.yaml", gatewayFile(80, 8080))
	s.write("route.yaml", routeFile("web", "shop.example", to("blue"),
		"{matches: [{path: {value: /old}}], filters: [{type: RequestRedirect, requestRedirect: {path: {type: "+
			"ReplaceFullPath, replaceFullPath: /new}}}]}"))
	s.start()
	s.Ready(t)
	s.expect(`
		GET http://shop.example/ -> 200 blue host=shop.example
		GET http://shop.example:8080/ -> 200 blue host=shop.example:8080
		GET http://shop.example/ -H host:SHOP.example:20080 -> 200 blue host=SHOP.example:20080
		GET http://shop.example/old -> 302 location=http://shop.example/new
		GET http://shop.example:8080/old -> 302 location=http://shop.example:8080/new
		GET http://shop.example:8080/old -H host:shop.example:20080 -> 302 location=http://shop.example:8080/new`)
}

// TestLongAnswers lasts a minute: an answer that takes 20 s and an event stream of 60 s live through edits.
func TestLongAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	t.Parallel()
	const events = 60
	s := prepare(t, t.TempDir(), "")
	s.ports["slow"] = listenAndServe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/answer":
			time.Sleep(20 * time.Second)
		case "/events":
			for i := range events {
				fmt.Fprintf(w, "data: %d\n\n", i)
				http.NewResponseController(w).Flush()
				time.Sleep(time.Second)
			}
		}
	}))
	for name, text := range map[string]string{
		"gateway.yaml": gatewayFile(80), "slow.yaml": serviceFile("slow", "slow"), "blue.yaml": serviceFile("blue", "blue"),
		"green.yaml": serviceFile("green", "green"), "route.yaml": routeFile("slow", "slow.example", to("slow")),
		"other.yaml": routeFile("other", "other.example", to("blue")),
	} {
		s.write(name, text)
	}
	s.start()
	s.Ready(t)

	client := newMultiplex(s, nil)
	answered, streamed := make(chan error, 1), make(chan error, 1)
	first := make(chan struct{})
	go func() { answered <- client.get("http://slow.example/answer") }()
	one := s.line(t, nil)
	go func() {
		streamed <- one.stream("slow.example", "/events", func(n int, line string) error {
			if n == 0 {
				close(first)
			}
			if line != fmt.Sprintf("data: %d", n) {
				return fmt.Errorf("event %d is %q", n, line)
			}
			return nil
		}, events)
	}()
	<-first
	s.write("other.yaml", routeFile("other", "other.example", to("green")))
	s.soon("GET http://other.example/ -> 200 green")
	// Their own route, too.
	s.write("route.yaml", routeFile("slow", "slow.example", to("green")))
	s.soon("GET http://slow.example/ -> 200 green")
	if err := <-answered; err != nil {
		t.Errorf("the answer of 20 s: %v", err)
	}
	if err := <-streamed; err != nil {
		t.Errorf("the event stream of 60 s: %v", err)
	}
}

// TestRequestsInFlightSurviveTheirGateway takes the Gateway away, in two ways, while requests are being answered.
func TestRequestsInFlightSurviveTheirGateway(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *stage){
		"deleted": func(s *stage) { s.remove("gateway.yaml") },
		"another's": func(s *stage) {
			s.write("gateway.yaml", strings.Replace(gatewayFile(80), "cardea", "others", 1)+`---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: others}
spec: {controllerName: others.example/controller}
`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, answer := make(chan struct{}, 2), make(chan struct{})
			s := prepare(t, t.TempDir(), "")
			s.ports["slow"] = listenAndServe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					return
				}
				asked <- struct{}{}
				<-answer
			}))
			s.write("gateway.yaml", gatewayFile(80))
			s.write("slow.yaml", serviceFile("slow", "slow"))
			s.write("route.yaml", routeFile("web", "shop.example", to("slow")))
			s.start()
			s.Ready(t)
			child := s.reads("process started")
			one, two := s.line(t, nil), newMultiplex(s, nil)
			answered := make(chan error, 2)
			go func() {
				response, err := one.ask("shop.example", "/slow")
				if err == nil && response.StatusCode != http.StatusOK {
					err = fmt.Errorf("answered %s", response.Status)
				}
				answered <- err
			}()
			go func() { answered <- two.get("http://shop.example/slow") }()
			<-asked
			<-asked
			leave(s)
			// New connections are not taken, while the old ones are answered.
			e2e.Eventually(t, func() error {
				conn, err := s.dial(t.Context(), nil)
				if err == nil {
					conn.Close()
					return fmt.Errorf("the port still answers")
				}
				return nil
			})
			close(answer)
			for range 2 {
				if err := <-answered; err != nil {
					t.Error(err)
				}
			}
			e2e.Eventually(t, func() error { return gone(child.PID) })
			// It comes back.
			s.write("gateway.yaml", gatewayFile(80))
			s.soon("GET http://shop.example/ -> 200")
		})
	}
}

// TestAGatewayThatIsBackSoon goes and comes while a request is in flight: its proxy stays.
func TestAGatewayThatIsBackSoon(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	s := prepare(t, t.TempDir(), "")
	s.ports["slow"] = listenAndServe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			asked <- struct{}{}
			<-answer
		}
	}))
	s.write("gateway.yaml", gatewayFile(80))
	s.write("slow.yaml", serviceFile("slow", "slow"))
	s.write("route.yaml", routeFile("web", "shop.example", to("slow")))
	s.start()
	s.Ready(t)
	two := newMultiplex(s, nil)
	answered := make(chan error, 1)
	go func() { answered <- two.get("http://shop.example/slow") }()
	<-asked
	s.remove("gateway.yaml")
	e2e.Eventually(t, func() error {
		if conn, err := s.dial(t.Context(), nil); err == nil {
			conn.Close()
			return fmt.Errorf("the port still answers")
		}
		return nil
	})
	s.write("gateway.yaml", gatewayFile(80))
	s.soon("GET http://shop.example/ -> 200")
	close(answer)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if n := len(s.book.find("process started")); n != 1 {
		t.Errorf("%d proxies were started, want 1", n)
	}
}

// listenAndServe is a backend of the test's own.
func listenAndServe(t testing.TB, h http.Handler) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// line is one HTTP/1.1 connection that its client keeps.
type line struct {
	conn net.Conn
	r    *bufio.Reader
}

// line connects to port 80, or with TLS to port 443.
func (s *stage) line(t testing.TB, config *tls.Config) *line {
	t.Helper()
	conn, err := s.dial(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &line{conn, bufio.NewReader(conn)}
}

func (s *stage) dial(ctx context.Context, config *tls.Config) (net.Conn, error) {
	if config == nil {
		return (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(s.Address, strconv.Itoa(80+e2e.Offset)))
	}
	return (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", net.JoinHostPort(s.Address, strconv.Itoa(443+e2e.Offset)))
}

// get makes a call on the connection. It is an error if that is not kept.
func (l *line) get(host string) error {
	response, err := l.ask(host, "/")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || response.Close {
		return fmt.Errorf("answered %s, closing: %v", response.Status, response.Close)
	}
	return nil
}

func (l *line) ask(host, path string) (*http.Response, error) {
	if _, err := fmt.Fprintf(l.conn, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host); err != nil {
		return nil, err
	}
	return http.ReadResponse(l.r, nil)
}

// stream reads events until the answer ends, which must be after so many.
func (l *line) stream(host, path string, event func(n int, line string) error, want int) error {
	response, err := l.ask(host, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	n := 0
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if lines.Text() == "" {
			continue
		}
		if err := event(n, lines.Text()); err != nil {
			return err
		}
		n++
	}
	if err := lines.Err(); err != nil || n != want {
		return fmt.Errorf("ended after %d events of %d: %v", n, want, err)
	}
	return nil
}

// multiplex is an HTTP/2 client that counts its connections.
type multiplex struct {
	http  *http.Client
	dials atomic.Int32
}

func newMultiplex(s *stage, config *tls.Config) *multiplex {
	m := &multiplex{}
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP2(config != nil)
	transport.Protocols.SetUnencryptedHTTP2(config == nil)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		m.dials.Add(1)
		return s.dial(ctx, config)
	}
	transport.DialContext, transport.DialTLSContext = dial, dial
	m.http = &http.Client{Transport: transport}
	s.t.Cleanup(transport.CloseIdleConnections)
	return m
}

func (m *multiplex) get(url string) error {
	response, err := m.http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK || !strings.HasPrefix(response.Proto, "HTTP/2") {
		return fmt.Errorf("answered %s by %s", response.Status, response.Proto)
	}
	return nil
}
