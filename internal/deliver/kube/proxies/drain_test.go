package proxies_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/plan"
)

// traffic is clients that send requests to an address until it is stopped.
type traffic struct {
	answers atomic.Int64
	failure atomic.Pointer[error] // the first
	stop    func()
}

// newTraffic starts clients that keep their connections, and one that opens a new one for each request.
func newTraffic(t *testing.T, address string) *traffic {
	ctx, cancel := context.WithCancel(t.Context())
	x := &traffic{}
	var running sync.WaitGroup
	x.stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(x.stop)
	for i := range 6 {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: i == 0, MaxIdleConnsPerHost: 1}}
		t.Cleanup(client.CloseIdleConnections)
		running.Go(func() {
			for ctx.Err() == nil {
				if err := x.ask(ctx, client, address); err != nil && ctx.Err() == nil {
					x.failure.CompareAndSwap(nil, &err)
				}
				time.Sleep(5 * time.Millisecond) // a steady rate, not a wait
			}
		})
	}
	return x
}

func (x *traffic) ask(ctx context.Context, client *http.Client, address string) error {
	// a POST is never tried again by the client
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	x.answers.Add(1)
	return nil
}

// check fails the test if a request has failed so far.
func (x *traffic) check(t *testing.T, when string) {
	t.Helper()
	if failure := x.failure.Load(); failure != nil {
		t.Fatalf("%s, a request failed: %v", when, *failure)
	}
	t.Logf("%s: %d answers", when, x.answers.Load())
}

// TestNoRequestIsLost while pods are replaced, while they become fewer, and while the last one is evicted.
func TestNoRequestIsLost(t *testing.T) {
	p := newPlace(t)
	p.plan(func(x *plan.ProxySpec) { x.Parameters = parameters(t, `{replicas: 2, pod: {drainSeconds: 6}}`) })
	address := p.frontIs(func(f model.Front) bool { return len(f.Addresses) == 1 }).Addresses[0].Value
	first := p.pods(2)
	p.eventually(func() error {
		_, err := get(address)
		return err
	})
	x := newTraffic(t, address)
	p.plan(func(x *plan.ProxySpec) {
		x.Parameters = parameters(t, `{replicas: 2, logLevel: info, pod: {drainSeconds: 6}}`)
	})
	p.eventually(func() error {
		for _, pod := range p.pods(2) {
			if pod.Name == first[0].Name || pod.Name == first[1].Name {
				return fmt.Errorf("%s is there still", pod.Name)
			}
		}
		return nil
	})
	x.check(t, "after the rollout")
	p.plan(func(x *plan.ProxySpec) {
		x.Parameters = parameters(t, `{replicas: 1, logLevel: info, pod: {drainSeconds: 6}}`)
	})
	last := p.pods(1)[0]
	x.check(t, "after the scale-in")
	// The only pod goes; it serves until there is another one, and longer.
	if err := p.Client.CoreV1().Pods(p.namespace).Delete(t.Context(), last.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.eventually(func() error {
		if p.pods(1)[0].Name == last.Name {
			return errors.New("it is there still")
		}
		return nil
	})
	x.check(t, "after the eviction")
	x.stop()
	x.check(t, "at the end")
}
