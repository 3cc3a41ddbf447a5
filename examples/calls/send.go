package calls

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

// sendMethod is written where other calls have their HTTP method.
const sendMethod = "SEND"

// In place of a backend's name: nobody answered.
const (
	Closed = "closed" // the connection was closed without an answer
	Silent = "silent" // no datagram came
)

const (
	// silence is how long an answer to a datagram is waited for.
	silence = 3 * time.Second
	// resendAfter is when a datagram is sent once more: one may be lost.
	resendAfter = 500 * time.Millisecond
	// connectionTimeout is the most that an answer over a connection may take.
	connectionTimeout = 30 * time.Second
	// maxDatagram is the most that an answer may have.
	maxDatagram = 64 << 10
)

// protocol is the one that a client offers in its TLS handshake (ALPN).
const protocol = "echo"

// isSend tells whether a call sends bytes over a connection of its own, or a datagram.
func (c Call) isSend() bool { return c.Method == sendMethod }

// sendAll makes a call as often as it says, all at once: whoever waits for a datagram that doesn't come waits long.
func (c *Client) sendAll(ctx context.Context, call Call) ([]Answer, error) {
	answers, problems := make([]Answer, call.Times), make([]error, call.Times)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() { answers[i], problems[i] = c.sendOnce(ctx, call) })
	}
	group.Wait()
	return answers, errors.Join(problems...)
}

func (c *Client) sendOnce(ctx context.Context, call Call) (Answer, error) {
	network, port := "tcp", cmp.Or(call.URL.Port(), "443")
	if call.URL.Scheme == "udp" {
		network = "udp"
	}
	conn, err := c.dial(ctx, network, net.JoinHostPort(call.URL.Hostname(), port))
	if err != nil {
		return Answer{}, err
	}
	defer conn.Close()
	line := []byte(cmp.Or(call.Body, "hello") + "\n")
	if network == "udp" {
		return c.sendDatagram(conn, line)
	}
	_ = conn.SetDeadline(time.Now().Add(connectionTimeout))
	answer, err := sendLine(ctx, conn, call, line)
	if err != nil && isClosed(err) {
		return Answer{Seen: Seen{Name: Closed}}, nil
	}
	return answer, err
}

// sendLine sends a line over a connection, and reads one.
func sendLine(ctx context.Context, conn net.Conn, call Call, line []byte) (answer Answer, err error) {
	if call.URL.Scheme == "tls" {
		secure := tls.Client(conn, &tls.Config{
			InsecureSkipVerify: true, ServerName: call.URL.Hostname(), NextProtos: []string{protocol},
		})
		if err := secure.HandshakeContext(ctx); err != nil {
			return answer, err
		}
		state := secure.ConnectionState()
		conn, answer.tls = secure, &state
	}
	if _, err := conn.Write(line); err != nil {
		return answer, err
	}
	text, err := bufio.NewReader(conn).ReadBytes('\n')
	if err != nil {
		return answer, err
	}
	return answer, answer.readEcho(text)
}

// sendDatagram sends a datagram until one comes back.
func (c *Client) sendDatagram(conn net.Conn, datagram []byte) (answer Answer, err error) {
	text := make([]byte, maxDatagram)
	open, end := time.Now().Add(c.OpenTimeout), time.Now().Add(silence)
	for time.Now().Before(end) {
		if _, err := conn.Write(datagram); err != nil && !errors.Is(err, syscall.ECONNREFUSED) {
			return answer, err
		}
		_ = conn.SetReadDeadline(time.Now().Add(resendAfter))
		n, err := conn.Read(text)
		switch {
		case err == nil:
			return answer, answer.readEcho(text[:n])
		case errors.Is(err, syscall.ECONNREFUSED): // nobody listens there yet
			if time.Now().After(open) {
				return answer, err
			}
			end = time.Now().Add(silence)
			time.Sleep(20 * time.Millisecond)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return answer, err
		}
	}
	return Answer{Seen: Seen{Name: Silent}}, nil
}

// readEcho reads what a backend says that it saw.
func (a *Answer) readEcho(text []byte) error {
	var echo struct {
		Seen
		Got string
	}
	if err := json.Unmarshal(text, &echo); err != nil {
		return fmt.Errorf("the answer %q is no echo: %w", text, err)
	}
	a.Seen, a.Body = echo.Seen, strings.TrimSpace(echo.Got)
	return nil
}
