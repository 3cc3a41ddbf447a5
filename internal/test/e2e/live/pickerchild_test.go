package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/explain"
)

// ownPickerStage is a pool of simulated model servers that names no picker.
type ownPickerStage struct {
	*stage
	client *http.Client
	ports  []string
	ends   []func() // of the servers
	work   string
}

// openOwnPicker serves a pool of n servers, for which program is run as the picker.
func openOwnPicker(t *testing.T, n int, program string) *ownPickerStage {
	t.Helper()
	s := &ownPickerStage{stage: prepare(t, t.TempDir(), archive("gateway.yaml", gatewayFile(80)))}
	for i := range n {
		set := simulator.Defaults()
		set.Name, set.Prefill, set.Decode = strconv.Itoa(i), 0, 0
		server := httptest.NewServer(simulator.New(set).Handler())
		t.Cleanup(server.Close)
		_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		s.ports, s.ends = append(s.ports, port), append(s.ends, server.Close)
	}
	// Not t.TempDir: a Unix socket's path must be short.
	work, err := os.MkdirTemp("", "e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(work) })
	s.work = work
	s.pool(n)
	s.start(func(o *standalone.Options) { o.Pickers, o.PickerProgram, o.WorkDir = true, program, work })
	s.Ready(t)
	s.client = &http.Client{Timeout: e2e.WaitTimeout, Transport: &http.Transport{}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// pool writes the pool with the first n servers, and the route to it.
func (s *ownPickerStage) pool(n int) {
	s.t.Helper()
	s.write("pool.yaml", fmt.Sprintf(`apiVersion: inference.networking.k8s.io/v1
kind: InferencePool
metadata: {name: llama, namespace: shop, annotations: {inference.cardea.dev/metrics-token: key}}
spec:
  selector: {matchLabels: {app: models}}
  targetPorts: [{number: %s}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: llama, namespace: shop, labels: {cardea.dev/inferencepool: llama}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: []
---
`, strings.Join(s.ports[:n], "}, {number: "))+routeFile("models", "models.example",
		"{backendRefs: [{group: inference.networking.k8s.io, kind: InferencePool, name: llama}]}"))
}

// completion is the body of a request.
func completion(prompt string) io.Reader {
	return strings.NewReader(fmt.Sprintf(`{"model": "simulated", "max_tokens": 1, "prompt": %q}`,
		strings.Repeat(prompt, 40)))
}

// complete sends a prompt, and returns the name of the server that answered.
func (s *ownPickerStage) complete(prompt string) (server string, err error) {
	return s.send(completion(prompt))
}

// send sends a body, and returns the name of the server that answered.
func (s *ownPickerStage) send(body io.Reader) (server string, err error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+s.at(80)+"/v1/completions", body)
	if err != nil {
		return "", err
	}
	request.Host = "models.example"
	answer, err := s.client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return answer.Header.Get("X-Model-Server"), err
}

// picks is how many requests the picker was asked about that runs now; -1: none serves.
func (s *ownPickerStage) picks() int { return s.picksOf("llama") }

// picksOf is how many requests the picker of a pool in namespace shop was asked about; -1: none serves.
func (s *stage) picksOf(pool string) int {
	text, err := s.Get("/pickers/shop/" + pool + "/metrics")
	if err != nil {
		return -1
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "cardea_picker_picks_total{") {
			value, err := strconv.ParseFloat(strings.Fields(line)[1], 64)
			if err != nil {
				s.t.Fatal(err)
			}
			n += int(value)
		}
	}
	return n
}

// asks waits until the proxy asks the picker. Every request is answered meanwhile.
func (s *ownPickerStage) asks() {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		if _, err := s.complete("is anybody asked? "); err != nil {
			s.t.Errorf("while the picker comes: %v", err)
		}
		if n := s.picks(); n < 1 {
			return fmt.Errorf("the picker was asked %d times", n)
		}
		return nil
	})
}

// upgrades: a request for another protocol has no body before its answer. The picker is asked, and the answer comes.
func (s *ownPickerStage) upgrades() {
	s.t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+s.at(80)+"/v1/completions", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Host = "models.example"
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "websocket")
	before := s.picks()
	answer, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	// The simulated server knows no other protocol.
	server, picked := answer.Header.Get("X-Model-Server"), s.picks()-before
	if answer.StatusCode != http.StatusMethodNotAllowed || server == "" || picked != 1 {
		s.t.Errorf("status %d of server %q, picked %d times", answer.StatusCode, server, picked)
	}
}

// traffic sends requests from here on, several at a time, until quiet is called. Each of them must be answered.
func (s *ownPickerStage) traffic() (quiet func()) {
	done := make(chan struct{})
	var clients sync.WaitGroup
	var sent atomic.Int64
	for i := range 4 {
		clients.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := s.complete(fmt.Sprintf("traffic of client %d ", i)); err != nil {
					s.t.Errorf("request %d of the traffic: %v", sent.Load(), err)
				}
				sent.Add(1)
			}
		})
	}
	return sync.OnceFunc(func() {
		close(done)
		clients.Wait()
		s.t.Logf("%d requests of traffic", sent.Load())
	})
}

// stays checks that the requests of each conversation go to one server, and that the picker is asked about each.
func (s *ownPickerStage) stays() {
	s.t.Helper()
	before, sent := s.picks(), 0
	for _, prompt := range []string{"one", "two", "three", "four"} {
		first := ""
		for range 6 {
			server, err := s.complete(prompt)
			if sent++; err != nil || first != "" && server != first {
				s.t.Errorf("%s: served by %q and then by %q (%v)", prompt, first, server, err)
			}
			first = server
		}
	}
	if got := s.picks() - before; got != sent {
		s.t.Errorf("the picker was asked about %d of %d requests", got, sent)
	}
}

// explains checks that the picker tells why it would choose the server that has a prompt.
func (s *ownPickerStage) explains(prompt string) {
	s.t.Helper()
	server, err := s.complete(prompt)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := http.Post(s.Admin+"/explain?method=POST&url="+url.QueryEscape("http://models.example/v1/completions"),
		"application/json", completion(prompt))
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	var story explain.Story
	if err := json.NewDecoder(answer.Body).Decode(&story); err != nil {
		s.t.Fatal(err)
	}
	var text strings.Builder
	if err := story.Print(&text, time.Now()); err != nil {
		s.t.Fatal(err)
	}
	n, _ := strconv.Atoi(server)
	want := fmt.Sprintf("...now 127.0.0.1:%[1]s, or if...\n127.0.0.1:%[1]s: ... = prefix 3 x 1 + ...", s.ports[n])
	if !e2e.Matches(text.String(), want) {
		s.t.Errorf("%s\nwant %s", text.String(), want)
	}
}

// renames checks that requests for an alias get a model that the servers have, from when the folder says so.
func (s *ownPickerStage) renames() {
	s.t.Helper()
	ask := func() error {
		_, err := s.send(strings.NewReader(`{"prompt": "hello", "model" : "alias"}`))
		return err
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "404") {
		s.t.Errorf("no server has the model, but the answer is %v", err)
	}
	s.write("alias.yaml", `apiVersion: inference.networking.x-k8s.io/v1alpha2
kind: InferenceModelRewrite
metadata: {name: alias, namespace: shop}
spec:
  poolRef: {name: llama}
  rules: [{matches: [{model: {value: alias}}], targets: [{modelRewrite: simulated}]}]
`)
	e2e.Eventually(s.t, ask)
	s.remove("alias.yaml")
	e2e.Eventually(s.t, func() error {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "404") {
			return fmt.Errorf("the alias is known after its object is gone: %v", err)
		}
		return nil
	})
}

// TestPickerOfAFolder: a pool of a folder that names no picker gets one, as a process that is told of the pool's
// changes, comes back when it ends, and goes with the pool.
func TestPickerOfAFolder(t *testing.T) {
	t.Parallel()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	s := openOwnPicker(t, 3, program)
	s.pool(2)
	s.asks()

	// The Secret with the servers' token is missing, and comes.
	e2e.Eventually(t, func() error {
		list, err := s.allFindings()
		if err == nil && !slices.ContainsFunc(list, func(f admin.Finding) bool {
			return strings.HasPrefix(f.Message, `Secret shop/key has no entry "value" that Cardea's picker can read`)
		}) {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	s.write("key.yaml", "{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: shop}, stringData: {value: a}}\n")
	s.stays()
	s.upgrades()
	s.explains("a prompt to explain ")
	s.renames()

	// It ends: every request is answered all the same, and it is back.
	pid := s.reads("process started", "picker shop/llama").PID
	quiet := s.traffic()
	defer quiet()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.reads("process ended; restarting", "picker shop/llama", "signal: killed")
	s.reads("finding", "Cardea's picker does not run: signal: killed")
	s.asks()
	quiet()
	s.stays()
	if n := s.gauges("cardea_picker_starts_total", "pool")["shop/llama"]; n != 2 {
		t.Errorf("%v starts, want 2", n)
	}
	e2e.Eventually(t, func() error { return s.findsNothing("InferencePool shop/llama") })

	// An endpoint more gets requests, by the picker.
	s.pool(3)
	prompt := 0
	e2e.Eventually(t, func() error {
		before := s.picks()
		server, err := s.complete(fmt.Sprintf("%d is a new one ", prompt))
		if prompt++; err != nil {
			t.Fatal(err)
		}
		if picked := s.picks() - before; server != "2" || picked != 1 {
			return fmt.Errorf("server %s got request %d, and the picker was asked %d times", server, prompt, picked)
		}
		return nil
	})

	// It ends: the picker can't reach it, and the pool says so.
	s.ends[2]()
	e2e.Eventually(t, func() error {
		list, err := s.allFindings()
		if err == nil && !slices.ContainsFunc(list, func(f admin.Finding) bool {
			return f.Object == "InferencePool shop/llama" && strings.HasPrefix(f.Message, "1 of 3 endpoints doesn't answer "+
				"Cardea's picker, so it gets no requests: 127.0.0.1:"+s.ports[2])
		}) {
			err = fmt.Errorf("%+v", list)
		}
		return err
	})
	shown, err := s.Get("/objects/inferencepools.inference.networking.k8s.io/shop/llama")
	if err != nil || !strings.Contains(string(shown), model.UnreachedAnnotation+`": "1"`) {
		t.Errorf("%s %v", shown, err)
	}

	// The pool goes, and its picker with it.
	pid = s.reads("process started", "picker shop/llama").PID
	s.remove("pool.yaml")
	e2e.Eventually(t, func() error {
		folders, err := filepath.Glob(filepath.Join(s.work, "picker-*"))
		if err == nil && len(folders) > 0 {
			err = fmt.Errorf("there is %v", folders)
		}
		return err
	})
	if err := gone(pid); err != nil {
		t.Error(err)
	}
	if s.gauges("cardea_picker_up", "pool")["shop/llama"] != 0 || s.picks() != -1 {
		t.Error("a picker is shown that is gone")
	}

	// It comes back, with the servers that are there.
	s.pool(2)
	e2e.Eventually(t, func() error {
		_, err := s.complete("is it there? ")
		return err
	})
	s.asks()
	s.stays()
}

// TestPickerThatDoesNotRun: the pool says why there is no picker, and requests are answered.
func TestPickerThatDoesNotRun(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "cardea")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no such luck\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s := openOwnPicker(t, 1, broken)
	want := admin.Finding{Severity: "warning", Object: "InferencePool shop/llama", Where: "pool.yaml:4",
		Field: "spec.endpointPickerRef", Condition: "ResolvedRefs", Reason: "ResolvedRefs",
		Message: "Cardea's picker does not run: exit status 3; its last line of output: no such luck; " +
			"each request goes to the endpoint with the fewest requests (failureMode FailOpen)"}
	e2e.Eventually(t, func() error {
		list, err := s.allFindings()
		if err == nil && !slices.Contains(list, want) {
			err = fmt.Errorf("%+v\nwant %+v", list, want)
		}
		return err
	})
	for range 3 {
		if _, err := s.complete("all the same "); err != nil {
			t.Error(err)
		}
	}
	s.told("http://models.example/v1/completions", "chosen by Cardea's picker of one endpoint",
		"the picker can't be asked: it does not serve")
}

func (s *stage) allFindings() (list []admin.Finding, err error) {
	body, err := s.Get("/findings")
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	return list, err
}

// findsNothing says that nothing is wrong with an object.
func (s *stage) findsNothing(object string) error {
	list, err := s.allFindings()
	if i := slices.IndexFunc(list, func(f admin.Finding) bool { return f.Object == object }); i >= 0 {
		return fmt.Errorf("%+v", list[i])
	}
	return err
}
