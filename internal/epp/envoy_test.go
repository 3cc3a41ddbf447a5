package epp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/epp/objectives"
	"cardea.dev/cardea/internal/epp/score"
)

// answer is what a client got.
type answer struct {
	status         int
	server, picked string
	text           string
	tokens         int    // of the prompt, as the server saw it
	model          string // that the server was asked for
}

// call sends a body to a listener; GET if there is none.
func (r *rig) call(listener, path, body string, headers ...string) answer {
	r.t.Helper()
	method := "POST"
	if body == "" {
		method = "GET"
	}
	q, err := http.NewRequest(method, r.urls[listener]+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	got, err := r.client.Do(q)
	if err != nil {
		r.t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		r.t.Error(err)
	}
	var u struct {
		Model string
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	_ = json.Unmarshal(text, &u) // 0 for what is no answer of a model
	return answer{
		got.StatusCode, got.Header.Get("x-model-server"), got.Header.Get(pickedHeader), string(text), u.Usage.Prompt,
		u.Model,
	}
}

// head sends a head and returns who answered, before the request ends; what is sent to a server of another protocol
// comes back.
func (r *rig) head(listener, head string) (server string) {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.urls[listener], "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // it is open
	fmt.Fprint(conn, head)
	from := bufio.NewReader(conn)
	got, err := http.ReadResponse(from, nil)
	if err != nil {
		return err.Error()
	}
	defer got.Body.Close()
	if got.StatusCode == http.StatusSwitchingProtocols {
		fmt.Fprint(conn, "frame")
		frame := make([]byte, 5)
		if _, err := io.ReadFull(from, frame); err != nil || string(frame) != "frame" {
			r.t.Errorf("%q came back, %v", frame, err)
		}
	}
	return got.Header.Get("x-model-server")
}

func chat(text string) string {
	return fmt.Sprintf(`{"model":"simulated","messages":[{"role":"user","content":%q}]}`, text)
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

const path = "/v1/chat/completions"

// TestEnvoy runs all that needs an Envoy, with one.
func TestEnvoy(t *testing.T) {
	r := newRig(t)
	modes := []string{"duplex", "duplex-request", "closed", "buffered", "partial", "streamed", "none"}
	landed := func(t *testing.T) {
		t.Helper()
		eventually(t, "nothing is in flight", func() bool { return r.picker.flights.totalCount() == 0 })
	}
	for _, mode := range modes {
		t.Run("the pick is followed: "+mode, func(t *testing.T) {
			for i, server := range r.servers {
				r.prefer(server)
				for name, got := range map[string]answer{
					"POST":  r.call(mode, path, chat(fmt.Sprint(mode, i))),
					"GET":   r.call(mode, "/v1/models", ""),
					"forge": r.call(mode, "/v1/models", "", destinationKey, r.servers[(i+1)%3]),
				} {
					want(t, name+" status", got.status, 200)
					want(t, name+" server", got.server, server)
					want(t, name+" picked", got.picked, server)
				}
			}
			landed(t)
		})
		t.Run("a head is enough: "+mode, func(t *testing.T) {
			if mode == "buffered" {
				t.Skip("this listener waits for the end of answers, too")
			}
			r.prefer(r.servers[1])
			for name, head := range map[string]string{
				"an upgrade": "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
				"an upgrade, at a path of models": "GET " + path + " HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n" +
					"Upgrade: websocket\r\n\r\n",
				"a body that does not end": "POST /early HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
			} {
				if got := r.head(mode, head); got != r.servers[1] {
					t.Errorf("%s: served by %q, want %s", name, got, r.servers[1])
				}
			}
			landed(t)
		})
		t.Run("the fallback is followed: "+mode, func(t *testing.T) {
			r.prefer(r.dead, r.servers[1])
			text := strings.Repeat("fallback "+mode, 100)
			got := r.call(mode, path, chat(text))
			want(t, "status", got.status, 200)
			want(t, "server", got.server, r.servers[1])
			want(t, "told as served", got.picked, r.servers[1])
			d := r.picker.decideCall(call{path: path, header: func(string) string { return "" }, body: []byte(chat(text))})
			for _, s := range d.ranking.Servers {
				if s.Endpoint == r.dead && s.Matched > 0 {
					t.Errorf("the dead endpoint is thought to know %d bytes", s.Matched)
				}
				known := s.Endpoint == r.servers[1] && mode != "none" && mode != "streamed"
				if known && s.Matched != d.bytes {
					t.Errorf("who served is thought to know %d of %d bytes", s.Matched, d.bytes)
				}
			}
			landed(t)
		})
	}
	for _, mode := range []string{"duplex", "duplex-request", "partial", "streamed", "none"} {
		t.Run("a body of 2 MB: "+mode, func(t *testing.T) {
			r.prefer(r.servers[2])
			got := r.call(mode, path, chat(strings.Repeat("0123456789", 200_000)))
			want(t, "status", got.status, 200)
			want(t, "server", got.server, r.servers[2])
			want(t, "tokens", got.tokens, (2_000_000+15+3)/4)
			landed(t)
		})
	}
	for mode, renames := range map[string]bool{
		"duplex": true, "duplex-request": true, "closed": true, "buffered": true, "partial": true, "streamed": false,
		"none": false,
	} {
		t.Run("an alias: "+mode, func(t *testing.T) {
			r.prefer(r.servers[2])
			sizes := []int{10, 200_000}
			if mode == "buffered" {
				sizes = sizes[:1] // the other one is too large for this mode
			}
			for _, size := range sizes {
				body := strings.Replace(chat(strings.Repeat("0123456789", size)), "simulated", "alias", 1)
				got := r.call(mode, path, body)
				if !renames {
					want(t, "status, as no server knows the alias", got.status, 404)
					continue
				}
				want(t, "status", got.status, 200)
				want(t, "server", got.server, r.servers[2])
				want(t, "tokens", got.tokens, (10*size+15+3)/4)
				want(t, "model", got.model, "simulated")
			}
			landed(t)
		})
	}
	for _, mode := range []string{"duplex", "duplex-request", "partial", "none"} {
		t.Run("an answer is streamed: "+mode, func(t *testing.T) {
			r.prefer(r.servers[0])
			got, err := r.client.Get(r.urls[mode] + "/hold")
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			one := make([]byte, 3)
			if _, err := io.ReadFull(got.Body, one); err != nil || string(one) != "one" {
				t.Fatalf("%q %v", one, err)
			}
			want(t, "in flight", r.picker.flights.countsOf([]string{r.servers[0]})[0], 1)
			r.hold <- struct{}{}
			rest, err := io.ReadAll(got.Body)
			if err != nil || string(rest) != "two" {
				t.Errorf("%q %v", rest, err)
			}
			landed(t)
		})
	}
	t.Run("a conversation stays", func(t *testing.T) { r.conversation(t) })
	t.Run("refusals", func(t *testing.T) { r.refusals(t, modes) })
	t.Run("the endpoints that the gateway allows", func(t *testing.T) {
		r.prefer(r.servers[0])
		want(t, "server", r.call("only-third", path, chat("hi")).server, r.servers[2])
		got := r.call("only-another", path, chat("hi"))
		want(t, "status", got.status, 503)
		if !strings.Contains(got.text, "no endpoint that the gateway allows is ready") {
			t.Error(got.text)
		}
	})
	t.Run("the picker is restarted", func(t *testing.T) { r.restart(t) })
}

// conversation: the same beginning leads to the same server though all are equal, and the server has it cached.
func (r *rig) conversation(t *testing.T) {
	for _, e := range r.all() {
		r.load.set(e, idle())
	}
	r.load.set(r.dead, score.State{Gone: true})
	text := strings.Repeat("once upon a time ", 50)
	home := r.call("duplex", path, chat(text)).server
	for turn := range 8 {
		text += strings.Repeat("and then ", 10)
		want(t, fmt.Sprint("turn ", turn), r.call("duplex", path, chat(text)).server, home)
	}
}

func (r *rig) refusals(t *testing.T, modes []string) {
	for _, e := range r.all() {
		r.load.set(e, score.State{Known: true, Waiting: 9})
	}
	for _, mode := range modes {
		got := r.call(mode, path, chat("hi"), objectives.Header, "batch")
		want(t, mode+" shed", got.status, 429)
		if !strings.Contains(got.text, `"type":"Shed"`) {
			t.Error(got.text)
		}
		r.load.set(r.dead, score.State{Gone: true})
		want(t, mode+" not sheddable", r.call(mode, path, chat("hi")).status, 200)
	}
	pool := r.picker.pool.Load()
	defer r.picker.pool.Store(pool)
	none := *pool
	none.addresses = nil
	r.picker.pool.Store(&none)
	for _, mode := range modes {
		want(t, mode+" no endpoint", r.call(mode, path, chat("hi")).status, 503)
		want(t, mode+" no endpoint, no body", r.call(mode, "/v1/models", "").status, 503)
	}
}

// restart: without a picker, a gateway that fails open serves from the pool; a new picker is asked when it is healthy.
func (r *rig) restart(t *testing.T) {
	r.prefer(r.servers[1])
	r.stop()
	down := func() bool {
		return strings.Contains(r.admin("/clusters"), "picker::"+r.at+"::health_flags::/failed_active_hc")
	}
	eventually(t, "the picker's cluster is unhealthy", down)
	got := r.call("duplex", path, chat("hi"))
	want(t, "without a picker", got.status, 200)
	want(t, "picked", got.picked, "")
	want(t, "without a picker, failing closed", r.call("closed", path, chat("hi")).status, 500)
	r.startPicker()
	// Envoy tells its workers of health at most once a second (update_merge_window).
	eventually(t, "the new picker is asked", func() bool {
		got = r.call("duplex", path, chat("hi"))
		return got.picked != ""
	})
	want(t, "status with a new picker", got.status, 200)
	want(t, "server with a new picker", got.server, r.servers[1])
}
