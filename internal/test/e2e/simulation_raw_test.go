package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/core/request"
	"cardea.dev/cardea/internal/dataplane/envoy/simulate"
)

// rawStage is a real Envoy, asked byte by byte, and the simulation of what it has.
type rawStage struct {
	program *Program
	config  *simulate.Config
}

// startRaw serves objects; ${port} in them is a backend that answers what it was asked for, whatever that is.
func startRaw(t *testing.T, objects string) *rawStage {
	t.Helper()
	dir := t.TempDir()
	text := strings.ReplaceAll(objects, "${port}", rawBackend(t))
	if err := os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &rawStage{program: Start(t, dir)}
	s.program.Ready(t)
	s.config = simulationOf(t, dir)
	return s
}

// agree sends a request, and wants the answer that is simulated: the proxy's status and where it redirects to, or the
// backend with the path that it gets.
func (s *rawStage) agree(t *testing.T, r request.Request) {
	t.Helper()
	r.Port = Offset + 80
	result := s.config.SimulateRequest(r)
	if result.Undecided || len(result.NotSimulated) > 0 || len(result.Outcomes) != 1 {
		t.Errorf("%s: simulated %+v, want one outcome", brief(r), result)
		return
	}
	status, want := result.Outcomes[0].Status, ""
	if request := result.Outcomes[0].Request; request != nil {
		status, want = http.StatusOK, request.Path
	}
	gotStatus, header, got := s.exchange(t, r)
	if gotStatus != status || status == http.StatusOK && got != want {
		t.Errorf("%s: Envoy answers %d %.100q, simulated %d %.100q", brief(r), gotStatus, got, status, want)
	}
	if location := result.Outcomes[0].Location; header.Get("Location") != location {
		t.Errorf("%s: Envoy redirects to %.100q, simulated %.100q", brief(r), header.Get("Location"), location)
	}
}

// send sends a request as it is.
func (s *rawStage) send(t *testing.T, r request.Request) (status int, body string) {
	t.Helper()
	status, _, body = s.exchange(t, r)
	return status, body
}

// exchange is send that tells the answer's headers, too.
func (s *rawStage) exchange(t *testing.T, r request.Request) (status int, header http.Header, body string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(s.program.Address, fmt.Sprint(r.Port)), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.Method, r.Path, r.Host)
	for _, name := range request.HeaderNames(r.Header) {
		for _, value := range r.Header[name] {
			fmt.Fprintf(&text, "%s: %s\r\n", name, value)
		}
	}
	if _, err := io.WriteString(conn, text.String()+"\r\n"); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	response, err := http.ReadResponse(from, &http.Request{Method: r.Method})
	if err == nil && response.StatusCode == http.StatusContinue {
		response, err = http.ReadResponse(from, &http.Request{Method: r.Method})
	}
	if err != nil {
		t.Fatalf("%s: %v", brief(r), err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", brief(r), err)
	}
	return response.StatusCode, response.Header, string(b)
}

// brief is the beginning of a request.
func brief(r request.Request) string {
	return fmt.Sprintf("%.100q", fmt.Sprint(r.Method, " ", r.Host, r.Path, " ", r.Header))
}

// rawBackend answers every request with what it asks for, of whatever method and path. It returns its port.
func rawBackend(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answerRaw(conn)
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port
}

// answerRaw answers the requests of a connection, which have no body.
func answerRaw(conn net.Conn) {
	defer conn.Close()
	for from := bufio.NewReader(conn); ; {
		first, err := from.ReadString('\n')
		for line := first; err == nil && line != "\r\n"; {
			line, err = from.ReadString('\n')
		}
		words := strings.Fields(first)
		if err != nil || len(words) < 2 {
			return
		}
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(words[1]),
			words[1]); err != nil {
			return
		}
	}
}
