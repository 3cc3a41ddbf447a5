package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// servers is how many model servers parts a and b have.
const servers = 8

// done is what the trivial server answers.
const done = `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"done"}}]}`

// idle is what a server tells that has nothing to do.
const idle = `vllm:num_requests_waiting{model_name="m"} 0
vllm:num_requests_running{model_name="m"} 0
vllm:kv_cache_usage_perc{model_name="m"} 0
`

// listen serves the same at several ports of this machine, until stop is called.
func listen(handlers []http.Handler) (ports []int, stop func(), err error) {
	var running []*http.Server
	stop = func() {
		for _, s := range running {
			_ = s.Close()
		}
	}
	for _, h := range handlers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stop()
			return nil, nil, err
		}
		server := &http.Server{Handler: h}
		running, ports = append(running, server), append(ports, l.Addr().(*net.TCPAddr).Port)
		go func() { _ = server.Serve(l) }()
	}
	return ports, stop, nil
}

// trivial answers every request at once.
func trivial(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	text := done
	if r.URL.Path == "/metrics" {
		text = idle
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// chat is request i to a host: a body of about 1 kB, of which the last words differ.
func chat(host string, i int) []byte {
	body := fmt.Sprintf(`{"model":"m","max_tokens":16,"messages":[{"role":"system","content":%q},`+
		`{"role":"user","content":"What about case %08d?"}]}`, strings.Repeat("You answer in short sentences. ", 28), i)
	return fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"+
		"User-Agent: bench\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
}

// sequence makes n requests to a host, one after the other over one connection. It returns their times, sorted.
func sequence(port int, host string, n int) ([]time.Duration, error) {
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	reader, took := bufio.NewReader(c), make([]time.Duration, n)
	for i := range n {
		request := chat(host, i)
		began := time.Now()
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return nil, err
		}
		took[i] = time.Since(began)
		if answer.StatusCode != http.StatusOK || !bytes.Equal(body, []byte(done)) {
			return nil, fmt.Errorf("%s answered %s: %s", host, answer.Status, body)
		}
	}
	slices.Sort(took)
	return took, nil
}
