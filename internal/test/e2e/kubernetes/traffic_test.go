package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// traffic asks a Gateway at a steady rate, whether or not it has answered before: every other request over a fresh
// connection, the others over connections that are kept. No client would make any of them again by itself.
type traffic struct {
	*stage
	address     string
	hosts       []string // asked one after the other
	right       func(answer) bool
	kept, fresh *http.Client
	cancel      context.CancelFunc
	done        chan struct{}
	flying      sync.WaitGroup

	mu     sync.Mutex
	asked  int
	failed []failure
}

// failure is an answer that is not as it should be, or none.
type failure struct {
	at  time.Time
	why string
}

func (f failure) String() string { return f.at.Format(clock) + " " + f.why }

// clock is how times are shown, so that what failed can be told from what was done then.
const clock = "04:05.000"

// traffic begins to ask. What is asked at last is asked before the test's namespace goes.
func (s *stage) traffic(perSecond int, address string, right func(answer) bool, hosts ...string) *traffic {
	ctx, cancel := context.WithCancel(context.Background())
	kept, fresh := &http.Transport{MaxIdleConnsPerHost: perSecond}, &http.Transport{DisableKeepAlives: true}
	t := &traffic{
		stage: s, address: address, hosts: hosts, right: right, cancel: cancel, done: make(chan struct{}),
		kept:  &http.Client{Transport: kept, Timeout: 10 * time.Second},
		fresh: &http.Client{Transport: fresh, Timeout: 10 * time.Second},
	}
	s.Cleanup(func() { t.end(); kept.CloseIdleConnections() })
	go t.run(ctx, perSecond)
	return t
}

// run starts as many requests as are due. It is late where the machine is, and catches up.
func (t *traffic) run(ctx context.Context, perSecond int) {
	defer close(t.done)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for began, started := time.Now(), 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for due := int(time.Since(began).Seconds() * float64(perSecond)); started < due; started++ {
			client := []*http.Client{t.kept, t.fresh}[started%2]
			host := t.hosts[started/2%len(t.hosts)]
			t.flying.Go(func() { t.once(client, host) })
		}
	}
}

func (t *traffic) once(client *http.Client, host string) {
	asked := time.Now()
	a, err := post(client, t.address, host)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if why := fmt.Sprintf("%s, answered after %v: %+v", host, time.Since(asked).Round(time.Millisecond), a); err != nil {
		t.failed = append(t.failed, failure{asked, fmt.Sprintf("%s: %v", host, err)})
	} else if !t.right(a) {
		t.failed = append(t.failed, failure{asked, why})
	}
}

// post makes a request that no client makes again by itself.
func post(client *http.Client, address, host string) (answer, error) {
	request, err := http.NewRequest(http.MethodPost, "http://"+address+"/traffic", bytes.NewReader([]byte("x")))
	if err != nil {
		return answer{}, err
	}
	request.Host = host
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a := answer{Status: response.StatusCode}
	if a.Status != http.StatusOK {
		a.Error = string(body)
	} else if err == nil {
		err = json.Unmarshal(body, &a)
	}
	return a, err
}

// soFar is what was answered, and what of it was wrong.
func (t *traffic) soFar() (asked int, failed []failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked, slices.Clone(t.failed)
}

// moves returns when so many requests more were answered: what is wrong now has shown by then.
func (t *traffic) moves(requests int) {
	t.Helper()
	before, _ := t.soFar()
	t.until(fmt.Sprintf("%d requests more are answered", requests), func() (string, bool) {
		now, _ := t.soFar()
		return fmt.Sprint(now - before), now-before >= requests
	})
}

// end stops asking and waits for the answers.
func (t *traffic) end() (asked int, failed []failure) {
	t.cancel()
	<-t.done
	t.flying.Wait()
	return t.soFar()
}

// flawless ends the traffic; every answer was right.
func (t *traffic) flawless() { t.Helper(); t.flawlessBut(func(failure) bool { return false }) }

// flawlessBut ends the traffic; every answer was right but for those that are excused.
func (t *traffic) flawlessBut(excused func(failure) bool) {
	t.Helper()
	asked, failed := t.end()
	all := len(failed)
	failed = slices.DeleteFunc(failed, excused)
	t.Logf("%d requests, %d failed, %d of them excused", asked, all, all-len(failed))
	if asked == 0 {
		t.Error("no request was made")
	}
	if len(failed) > 0 {
		t.Errorf("%d of %d requests failed: %v", len(failed), asked, failed[:min(len(failed), 10)])
	}
}

// by says whether an answer comes from a pod of one of the Deployments.
func by(deployments ...string) func(answer) bool {
	return func(a answer) bool {
		return a.Status == http.StatusOK &&
			slices.ContainsFunc(deployments, func(d string) bool { return strings.HasPrefix(a.Pod, d+"-") })
	}
}
