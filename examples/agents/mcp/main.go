// Command mcp is a server of tools for agents, and a client of one, both made with the Go SDK of the Model Context
// Protocol:
//
//	mcp serve [ADDRESS]       prints the address that it listens on: one of this machine, or ADDRESS
//	mcp call URL [LINE...]    makes a session, and does what each line says: list, or call TOOL ARGUMENTS
//
// Without lines as arguments, those of the input are done. With STATELESS in its environment the server keeps no
// sessions, and speaks the protocol of 2026-07-28, too.
//
// The client prints a line for each: the names of tools, what a tool answered, or the error. With CERT, KEY and CA in
// its environment, files in PEM, it shows a certificate; it sends TOKEN as a bearer token. ADDRESS is where it connects
// to, whatever the URL says; with WAIT, a duration, it tries that long until the gateway answers.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		err = serve("127.0.0.1:0")
	case len(os.Args) == 3 && os.Args[1] == "serve":
		err = serve(os.Args[2])
	case len(os.Args) == 3 && os.Args[1] == "call":
		err = call(os.Args[2], os.Stdin)
	case len(os.Args) > 3 && os.Args[1] == "call":
		err = call(os.Args[2], strings.NewReader(strings.Join(os.Args[3:], "\n")))
	default:
		err = fmt.Errorf("usage: mcp serve [ADDRESS] | mcp call URL [LINE...]")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

type numbers struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type order struct {
	Item   string  `json:"item"`
	Amount float64 `json:"amount"`
}

type nothing struct{}

func serve(address string) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "get-sum", Description: "adds two numbers"},
		func(_ context.Context, _ *mcp.CallToolRequest, n numbers) (*mcp.CallToolResult, any, error) {
			return text("%v", n.A+n.B), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "get-env", Description: "tells secrets"},
		func(context.Context, *mcp.CallToolRequest, nothing) (*mcp.CallToolResult, any, error) {
			return text("secret"), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "order", Description: "orders something"},
		func(_ context.Context, _ *mcp.CallToolRequest, o order) (*mcp.CallToolResult, any, error) {
			return text("ordered %v of %s", o.Amount, o.Item), nil, nil
		})
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{
			DisableLocalhostProtection: true, // a gateway sends the names that its clients asked for
			Stateless:                  os.Getenv("STATELESS") != "",
		}))
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func call(url string, input io.Reader) error {
	client, err := caller()
	if err != nil {
		return err
	}
	ctx := context.Background()
	session, err := connect(ctx, client, url)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer session.Close()
	lines := bufio.NewScanner(input)
	for lines.Scan() {
		fmt.Println(strings.Join(strings.Fields(do(ctx, session, lines.Text())), " ")) // in one line
	}
	return lines.Err()
}

// connect begins a session.
func connect(ctx context.Context, client *http.Client, url string) (session *mcp.ClientSession, err error) {
	wait, _ := time.ParseDuration(os.Getenv("WAIT"))
	for until := time.Now().Add(wait); ; time.Sleep(100 * time.Millisecond) {
		session, err = mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(ctx,
			&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client}, nil)
		if err == nil || time.Now().After(until) {
			return session, err
		}
	}
}

func do(ctx context.Context, session *mcp.ClientSession, line string) string {
	if line == "list" {
		tools, err := session.ListTools(ctx, nil)
		if err != nil {
			return "error: " + err.Error()
		}
		var names []string
		for _, t := range tools.Tools {
			names = append(names, t.Name)
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	parts := strings.SplitN(line, " ", 3)
	if len(parts) < 3 || parts[0] != "call" {
		return "error: not a line: " + line
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: parts[1], Arguments: json.RawMessage(parts[2])})
	if err != nil {
		return "error: " + err.Error()
	}
	var all []string
	for _, c := range result.Content {
		if t, is := c.(*mcp.TextContent); is {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, " ")
}

// caller is a client with the certificate of the environment, if it has one.
func caller() (*http.Client, error) {
	config := new(tls.Config)
	if file := os.Getenv("CA"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(pem)
	}
	if file := os.Getenv("CERT"); file != "" {
		pair, err := tls.LoadX509KeyPair(file, os.Getenv("KEY"))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config}
	if address := os.Getenv("ADDRESS"); address != "" {
		transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
	return &http.Client{Transport: bearer{transport, os.Getenv("TOKEN")}}, nil
}

// bearer adds a token to requests, if there is one.
type bearer struct {
	http.RoundTripper
	token string
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return b.RoundTripper.RoundTrip(r)
}
