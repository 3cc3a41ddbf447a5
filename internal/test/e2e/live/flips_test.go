package live

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cardea.dev/cardea/internal/test/e2e"

	"cardea.dev/cardea/internal/source/files"
)

// flips is how many edits a story makes, and rate how many requests a second go on meanwhile.
const (
	flips = 200
	rate  = 500
)

// flip is a story of edits under load. Not one request may fail.
type flip struct {
	name     string
	files    string // besides the shop
	edit     func(s *stage, i int)
	answered string // by whom
}

// run plays it. What failed during the pauses does not count.
func (f flip) run(t *testing.T, excused *pauses) {
	s := prepare(t, t.TempDir(), shop()+f.files)
	s.start()
	s.Ready(t)
	l := s.load(rate, "shop.example", f.answered)
	for i := range flips {
		f.edit(s, i)
	}
	s.live("httproute/shop/web", 1)
	asked, failed := l.end()
	failed = slices.DeleteFunc(failed, func(f failure) bool { return excused.hold(f.at) })
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed, such as %q", len(failed), asked, failed[:min(len(failed), 5)])
	}
	if asked < flips {
		t.Errorf("only %d requests were made", asked)
	}
	t.Logf("%d edits, %d requests", flips, asked)
}

// numbered is the name of a Service that is there for one edit.
func numbered(i int) string { return fmt.Sprintf("blue-%d", i) }

// TestFlips makes edits, one file each.
func TestFlips(t *testing.T) {
	t.Parallel()
	route := func(rules ...string) string { return routeFile("web", "shop.example", rules...) }
	for _, story := range []flip{
		{"the backend", "", func(s *stage, i int) {
			s.write("route.yaml", route(to([]string{"green", "blue"}[i%2])))
			s.read(i)
		}, "blue green"},
		{"the order of rules", archive("route.yaml", route(to("blue"), to("green"))), func(s *stage, i int) {
			rules := []string{to("blue"), to("green")}
			s.write("route.yaml", route(rules[(i+1)%2], rules[i%2]))
			s.read(i)
		}, "blue green"},
		{"a Service renamed", archive("route.yaml", route(to("blue-0"))+"---\n"+serviceFile("blue-0", "blue")),
			func(s *stage, i int) {
				s.write("route.yaml", route(to(numbered(i+1)))+"---\n"+serviceFile(numbered(i+1), "blue"))
				s.read(i)
			}, "blue"},
		{"a route for every host", "", func(s *stage, i int) {
			if i%2 == 0 {
				s.write("every.yaml", strings.Replace(routeFile("every", "", to("green")), "  hostnames: [\"\"]\n", "", 1))
				s.says("httproute/shop/every")
				return
			}
			s.remove("every.yaml")
			e2e.Eventually(s.t, func() error {
				if s.saysNow("httproute/shop/every") == nil {
					return fmt.Errorf("the route is still there")
				}
				return nil
			})
		}, "blue"},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			story.run(t, &pauses{})
		})
	}
}

// TestFlipsOfTwoFiles writes a route and the Service that it begins to name into two files, one after the other.
func TestFlipsOfTwoFiles(t *testing.T) {
	route := func(s *stage, i int) { s.write("route.yaml", routeFile("web", "shop.example", to(numbered(i)))) }
	service := func(s *stage, i int) { s.write("service.yaml", serviceFile(numbered(i), "blue")) }
	before := archive("route.yaml", routeFile("web", "shop.example", to(numbered(0))), "service.yaml",
		serviceFile(numbered(0), "blue"))
	for _, story := range []struct {
		name          string
		first, second func(s *stage, i int)
	}{
		{"the route first", route, service},
		{"the Service first", service, route},
	} {
		t.Run(story.name, func(t *testing.T) {
			var late pauses
			flip{"", before, func(s *stage, i int) {
				began := time.Now()
				story.first(s, i+1)
				// The time between the writes is what the story is about.
				<-time.After(30 * time.Millisecond)
				story.second(s, i+1)
				took := time.Since(began)
				s.read(i)
				if took >= files.Hold {
					s.live("httproute/shop/web", int64(i+2))
					late = append(late, pause{began, time.Now()})
				}
			}, "blue"}.run(t, &late)
			if inTime := flips - len(late); inTime < 50 {
				t.Errorf("the machine was too busy: only %d edits were written in time", inTime)
			}
		})
	}
}

// pause is an edit that a busy machine wrote later than the folder waits for: what fails meanwhile is the writer's
// failure.
type pause struct{ began, ended time.Time }

type pauses []pause

func (list *pauses) hold(at time.Time) bool {
	return slices.ContainsFunc(*list, func(p pause) bool { return at.After(p.began) && at.Before(p.ended) })
}

// read waits until the route's edit after i others was taken. Nobody waits for the proxy: the next edit may overtake
// it.
func (s *stage) read(i int) {
	s.t.Helper()
	e2e.Eventually(s.t, func() error {
		_, generation, err := s.conditions("httproute/shop/web")
		if err == nil && generation < int64(i+2) {
			err = fmt.Errorf("the route's generation is %d, want %d", generation, i+2)
		}
		return err
	})
}

// load makes requests at a steady rate, whether or not earlier ones were answered.
type load struct {
	client *http.Client
	host   string
	by     []string // backends that may answer
	cancel context.CancelFunc
	done   chan struct{}
	flying sync.WaitGroup

	mu     sync.Mutex
	asked  int
	failed []failure
}

type failure struct {
	at  time.Time
	why string
}

func (f failure) String() string { return f.at.Format("05.000 ") + f.why }

func (s *stage) load(perSecond int, host, by string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{MaxIdleConnsPerHost: perSecond,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return s.dial(ctx, nil)
		}}
	l := &load{
		client: &http.Client{Transport: transport, Timeout: 10 * time.Second}, host: host, by: strings.Fields(by),
		cancel: cancel, done: make(chan struct{}),
	}
	s.t.Cleanup(func() { l.end(); transport.CloseIdleConnections() })
	go l.run(ctx, perSecond)
	return l
}

// run starts as many requests as are due. It is late where the machine is, and catches up.
func (l *load) run(ctx context.Context, perSecond int) {
	defer close(l.done)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for began, started := time.Now(), 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(began).Seconds() * float64(perSecond)); started < due; started++ {
			l.flying.Go(l.once)
		}
	}
}

// once makes a request that no client would make again by itself.
func (l *load) once() {
	err := func() error {
		response, err := l.client.Post("http://"+l.host+"/load", "text/plain", bytes.NewReader([]byte("x")))
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		var echo struct{ Name string }
		if response.StatusCode != http.StatusOK || json.Unmarshal(body, &echo) != nil || !slices.Contains(l.by, echo.Name) {
			return fmt.Errorf("%s: %s", response.Status, body)
		}
		return nil
	}()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked++
	if err != nil {
		l.failed = append(l.failed, failure{time.Now(), err.Error()})
	}
}

// end stops asking and waits for the answers.
func (l *load) end() (asked int, failed []failure) {
	l.cancel()
	<-l.done
	l.flying.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked, l.failed
}
