package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cardea.dev/cardea/examples/inference/simulator"
	"cardea.dev/cardea/internal/epp/score"
)

func newScraper(t *testing.T, edit func(*Config)) *Scraper {
	t.Helper()
	cfg := DefaultConfig()
	if edit != nil {
		edit(&cfg)
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a Scraper until the end of the test.
func run(t *testing.T, s *Scraper) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		_ = s.Run(ctx) // always nil
		close(done)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// scripted answers questions as a test says.
type scripted struct {
	mu    sync.Mutex
	fail  map[string]error
	asked map[string]int
	hang  map[string]bool
}

func (s *scripted) ask(ctx context.Context, endpoint string) (score.State, error) {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = map[string]int{}
	}
	s.asked[endpoint]++
	n, err, hang := s.asked[endpoint], s.fail[endpoint], s.hang[endpoint]
	s.mu.Unlock()
	if hang {
		<-ctx.Done()
		return score.State{}, ctx.Err()
	}
	return score.State{Known: true, Waiting: n}, err
}

func (s *scripted) set(endpoint string, err error, hang bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail, s.hang = map[string]error{endpoint: err}, map[string]bool{endpoint: hang}
}

func (s *scripted) count(endpoint string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[endpoint]
}

// TestStates: a server goes through the states of the package comment, in their times.
func TestStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, script := newScraper(t, func(c *Config) { c.Stale = 300 * time.Millisecond }), &scripted{}
		s.fetchState = script.ask
		s.SetEndpoints([]string{"a", "b"})
		want := func(what string, known, gone bool) {
			t.Helper()
			if got := s.StateOf("a"); got.Known != known || got.Gone != gone {
				t.Errorf("%s: %+v", what, got)
			}
			if !known && s.StateOf("a").Waiting != 0 {
				t.Errorf("%s: an old queue: %+v", what, s.StateOf("a"))
			}
		}
		want("not asked yet", false, false)
		run(t, s)
		time.Sleep(10 * time.Millisecond)
		want("it answered", true, false)
		if got := s.StateOf("nobody"); got.Known || got.Gone {
			t.Errorf("nobody: %+v", got)
		}
		time.Sleep(10 * time.Second)
		if n := script.count("a"); n < 95 || n > 101 {
			t.Errorf("asked %d times in 10 s", n)
		}
		script.set("a", errors.New("refused"), false)
		time.Sleep(200 * time.Millisecond)
		want("it failed twice", true, false)
		time.Sleep(150 * time.Millisecond)
		want("its answer is old", false, false)
		time.Sleep(300 * time.Millisecond)
		want("it failed five times", false, true)
		if got := s.StateOf("b"); !got.Known {
			t.Errorf("the other one: %+v", got)
		}
		before := script.count("a")
		time.Sleep(10 * time.Second)
		if n := script.count("a") - before; n < 8 || n > 11 {
			t.Errorf("one that is gone was asked %d times in 10 s", n)
		}
		script.set("a", nil, false)
		time.Sleep(1100 * time.Millisecond)
		want("it answers again", true, false)
		script.set("a", nil, true)
		time.Sleep(5 * time.Second)
		want("it hangs", false, true)
		if got := s.StateOf("b"); !got.Known {
			t.Errorf("the other one: %+v", got)
		}
		script.set("a", noMetricsError("nothing"), false)
		time.Sleep(5 * time.Second)
		s.SetEndpoints([]string{"a"})
		want("it answers, but tells nothing", false, false)
		s.SetEndpoints([]string{"b"})
		s.SetEndpoints([]string{"a"})
		time.Sleep(5 * time.Second)
		want("a new one that tells nothing", false, false)
		if got := s.StateOf("b"); got.Known {
			t.Errorf("one that is no member: %+v", got)
		}
	})
}

// TestScrape asks simulated model servers over HTTP: at their own port, and at another one.
func TestScrape(t *testing.T) {
	set := simulator.Defaults()
	set.Adapters = []string{"a"}
	server := httptest.NewServer(simulator.New(set).Handler())
	defer server.Close()
	endpoint := server.Listener.Addr().String()
	for name, edit := range map[string]func(*Config){
		"at its port":     nil,
		"at another port": func(c *Config) { c.Port = server.Listener.Addr().(*net.TCPAddr).Port },
	} {
		s := newScraper(t, edit)
		asked := endpoint
		if edit != nil {
			asked = "127.0.0.1:1"
		}
		s.SetEndpoints([]string{asked})
		run(t, s)
		eventually(t, name, func() bool {
			got := s.StateOf(asked)
			return got.Known && got.Adapters == 2 && got.BlockBytes == 64
		})
	}
}

// TestAnswers: whoever answers serves, whether it tells its load or not; a redirect on its own host leads to its load.
// A server that does not answer, or says that it can't serve, is gone.
func TestAnswers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("another host is asked")
	}))
	defer elsewhere.Close()
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	const page = "llamacpp:requests_processing 2\nllamacpp:requests_deferred 3\n"
	redirect := func(to string, code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics/" {
				fmt.Fprint(w, page)
				return
			}
			http.Redirect(w, r, to, code)
		}
	}
	const known, unknown, gone = "known", "unknown", "gone"
	token := filepath.Join(t.TempDir(), "token")
	write(t, token, "old\n")
	for name, c := range map[string]struct {
		server http.HandlerFunc
		want   string
		token  string
	}{
		"llama.cpp":                  {server: status(200, page), want: known},
		"llama.cpp, not --metrics":   {server: status(501, `{"error":{"code":501}}`), want: unknown},
		"llama.cpp, while it loads":  {server: status(503, `{"error":{"message":"Loading model"}}`), want: gone},
		"no such page":               {server: status(404, ""), want: unknown},
		"a wrong method":             {server: status(405, ""), want: unknown},
		"too many questions":         {server: status(429, ""), want: unknown},
		"another page":               {server: status(200, "<html>"), want: unknown},
		"a page that can't be read":  {server: status(200, "vllm:num_requests_waiting many\n"), want: unknown},
		"a gateway without a server": {server: status(502, ""), want: gone},
		"a redirect to a slash":      {server: redirect("/metrics/", 307), want: known},
		"a redirect to another host": {server: redirect(elsewhere.URL, 307), want: unknown},
		"a redirect to itself":       {server: redirect("/metrics", 302), want: unknown},
		"a redirect to TLS":          {server: redirect("https://127.0.0.1/metrics", 301), want: unknown},
		"a key, and none is known":   {server: keyed("new", page), want: unknown},
		"a key":                      {server: keyed("old", page), want: known, token: token},
		"a key that was changed":     {server: keyed("new", page), want: known, token: token + ".new"},
		"a redirect, and a key": {
			server: func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/metrics" {
					http.Redirect(w, r, "/metrics/", http.StatusTemporaryRedirect)
					return
				}
				keyed("old", page)(w, r)
			},
			want: known, token: token,
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.server)
			defer server.Close()
			endpoint := server.Listener.Addr().String()
			if c.token == token+".new" {
				write(t, c.token, "old")
			}
			asked := make(chan struct{}, 1000)
			s := newScraper(t, func(cfg *Config) {
				cfg.Interval, cfg.Stale, cfg.Failures, cfg.TokenFile = time.Millisecond, time.Minute, 3, c.token
			})
			ask := s.fetchState
			s.fetchState = func(ctx context.Context, e string) (score.State, error) {
				state, err := ask(ctx, e)
				asked <- struct{}{}
				return state, err
			}
			if c.token == token+".new" {
				write(t, c.token, "new")
			}
			s.SetEndpoints([]string{endpoint})
			run(t, s)
			if c.want == gone {
				eventually(t, "it is gone", func() bool { return s.StateOf(endpoint).Gone })
				return
			}
			for range 6 {
				<-asked
			}
			got := unknown
			switch is := s.StateOf(endpoint); {
			case is.Gone:
				got = gone
			case is.Known:
				if got = known; is.Running != 2 || is.Waiting != 3 {
					t.Errorf("load %+v", is)
				}
			}
			if got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
	s := newScraper(t, func(c *Config) { c.Interval, c.Failures = time.Millisecond, 2 })
	s.SetEndpoints([]string{"127.0.0.1:1"})
	run(t, s)
	eventually(t, "a port that refuses is gone", func() bool { return s.StateOf("127.0.0.1:1").Gone })
}

// TestGoneAfterFailures: failures count in a row; each answer ends the row, also one that tells nothing.
func TestGoneAfterFailures(t *testing.T) {
	quiet, failed := error(noMetricsError("nothing")), errors.New("refused")
	quiets, failures := slices.Repeat([]error{quiet}, 5), slices.Repeat([]error{failed}, 5)
	for name, c := range map[string]struct {
		answers []error
		gone    bool
	}{
		"one failure":                            {[]error{failed}, false},
		"five silences":                          {quiets, false},
		"five silences, one failure":             {slices.Concat(quiets, []error{failed}), false},
		"five failures":                          {failures, true},
		"five silences, five failures":           {slices.Concat(quiets, failures), true},
		"five failures, one silence":             {slices.Concat(failures, []error{quiet}), false},
		"five failures, a silence and a failure": {slices.Concat(failures, []error{quiet, failed}), false},
	} {
		s := newScraper(t, nil)
		s.SetEndpoints([]string{"a"})
		for _, answer := range c.answers {
			s.fetchState = func(context.Context, string) (score.State, error) { return score.State{}, answer }
			s.scrapeServer(t.Context(), "a")
		}
		if got := s.StateOf("a").Gone; got != c.gone {
			t.Errorf("%s: gone: %v, want %v", name, got, c.gone)
		}
	}
}

// keyed answers those who have the key.
func keyed(key, page string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, page)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTokens: a file that has no token is a mistake when the picker starts.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"empty": " \n", "lines": "a\nb", "words": "a b", "": ""} {
		path := filepath.Join(dir, name)
		if name != "" {
			write(t, path, text)
		}
		cfg := DefaultConfig()
		cfg.TokenFile = path
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTokenLater: a token that is not there yet is no mistake where it may come later; it is told of until it is read,
// by whoever asks, and servers get it from then on.
func TestTokenLater(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	server := httptest.NewServer(keyed("new", "vllm:num_requests_waiting 1\n"))
	defer server.Close()
	s := newScraper(t, func(c *Config) { c.Interval, c.TokenFile, c.TokenLater = time.Millisecond, file, true })
	endpoint := server.Listener.Addr().String()
	s.SetEndpoints([]string{endpoint})
	run(t, s)
	if why := s.DescribeTokenError(); !strings.Contains(why, file) || s.StateOf(endpoint).Known ||
		s.StateOf(endpoint).Gone {
		t.Errorf("%q, %+v", why, s.StateOf(endpoint))
	}
	write(t, file, "two words")
	if why := s.DescribeTokenError(); !strings.Contains(why, "one word") || strings.Contains(why, "two") {
		t.Errorf("%q", why)
	}
	write(t, file, "new")
	eventually(t, "the server gets the token", func() bool {
		return s.StateOf(endpoint).Known &&
			s.DescribeTokenError() == ""
	})
	if none := newScraper(t, func(*Config) {}); none.DescribeTokenError() != "" {
		t.Errorf("no token is wanted, and it says %q", none.DescribeTokenError())
	}
}

// TestTokenWithdrawn: a token whose file is gone is sent no more; one whose file can't be read stays.
func TestTokenWithdrawn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	var sent atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get("Authorization"))
	}))
	defer server.Close()
	write(t, file, "old")
	s := newScraper(t, func(c *Config) { c.TokenFile, c.TokenLater = file, true })
	endpoint := server.Listener.Addr().String()
	without, before := "asked without a token", "asked with the token from before"
	for _, step := range []struct {
		what  string
		do    func() error
		says  string
		sends string
	}{
		{"a token", func() error { return nil }, "", "Bearer old"},
		{"two words", func() error { return os.WriteFile(file, []byte("two words"), 0o600) }, before, "Bearer old"},
		{"withdrawn", func() error { return os.Remove(file) }, without, ""},
		{"two words, and none before", func() error { return os.WriteFile(file, []byte("a b"), 0o600) }, without, ""},
		{"back", func() error { return os.WriteFile(file, []byte("new"), 0o600) }, "", "Bearer new"},
		{"a folder", func() error { return errors.Join(os.Remove(file), os.Mkdir(file, 0o700)) }, before, "Bearer new"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if says := s.DescribeTokenError(); !strings.Contains(says, step.says) || (says == "") != (step.says == "") {
			t.Errorf("%s: it says %q, want %q", step.what, says, step.says)
		}
		_, _ = s.fetchState(t.Context(), endpoint) // it has no metrics
		if got := sent.Load(); got != step.sends {
			t.Errorf("%s: %q is sent, want %q", step.what, got, step.sends)
		}
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

// TestBounds: with a thousand endpoints there are few goroutines, one connection to each at most, and all are asked.
func TestBounds(t *testing.T) {
	var open, most atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "vllm:num_requests_waiting 1")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			most.Store(max(most.Load(), open.Add(1)))
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	var endpoints []string
	for i := range 1000 {
		endpoints = append(endpoints, fmt.Sprintf("127.0.%d.%d:%d", i/200+1, i%200+1, port))
	}
	s := newScraper(t, func(c *Config) { c.Port, c.Interval, c.Timeout = 0, 200*time.Millisecond, 10*time.Second })
	// The loopback's addresses all lead to one server.
	s.fetchState = s.newFetcher(&http.Client{Transport: &http.Transport{
		MaxConnsPerHost: 1,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}})
	s.SetEndpoints(endpoints)
	goroutines := 0
	run(t, s)
	eventually(t, "all are asked", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		goroutines = max(goroutines, strings.Count(string(stacks), "servers.(*Scraper).scrape"))
		for _, e := range endpoints {
			if !s.StateOf(e).Known {
				return false
			}
		}
		return true
	})
	if goroutines > maxWorkers || most.Load() > 1000 {
		t.Errorf("%d goroutines asked, %d connections", goroutines, most.Load())
	}
}

func TestMistakes(t *testing.T) {
	for _, edit := range []func(*Config){
		func(c *Config) { c.Interval = 0 }, func(c *Config) { c.Stale = c.Interval / 2 }, func(c *Config) { c.Failures = 0 },
		func(c *Config) { c.Scheme = "ftp" }, func(c *Config) { c.Port = 70000 },
	} {
		cfg := DefaultConfig()
		edit(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}
