package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inferencev1 "cardea.dev/cardea/api/inference/v1"
)

// prompt is what all requests ask for.
const prompt = `{"model": "conformance-fake-model", "prompt": "Write as if you were a critic: San Francisco"}`

// inferenceCall is a POST of a prompt, or a GET.
type inferenceCall struct {
	gateway, host, path string
	get                 bool
	early               bool   // the picker answers before it has the body
	only                string // what the picker may name; "": all
}

// inferenceAnswer is what came of it.
type inferenceAnswer struct {
	answer
	served, picker string // what the picker says; "": none was asked
}

func (s *inference) ask(c inferenceCall) (a inferenceAnswer, err error) {
	method, body := http.MethodPost, prompt
	if c.get {
		method, body = http.MethodGet, ""
	}
	request, err := http.NewRequest(method, "http://"+s.addresses[c.gateway]+c.path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Host = c.host
	request.Header.Set("Content-Type", "application/json")
	if c.only != "" {
		request.Header.Set(selection, c.only)
	}
	if c.early {
		request.Header.Set(pickWhen, "early")
	}
	response, err := client.Do(request)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		err = json.NewDecoder(response.Body).Decode(&a)
	}
	a.Status = response.StatusCode
	a.served, a.picker = response.Header.Get(servedHeader), response.Header.Get(pickerHeader)
	return a, err
}

// follows says what is wrong with an answer of one of the pools: the pool's own picker was asked, the proxy told it of
// an endpoint that the request allows, and a pod of the pool answered there.
func (s *inference) follows(c inferenceCall, a inferenceAnswer, pools ...string) error {
	i := poolNamed(a.picker)
	if a.Status != http.StatusOK || !slices.Contains(pools, a.picker) || !selects(c.only, a.served) {
		return fmt.Errorf("%+v, want 200 by %v, and of the endpoints %q", a, pools, c.only)
	}
	for _, pod := range s.pods[testedPools[i].app] {
		for _, port := range testedPools[i].ports {
			if a.served != net.JoinHostPort(pod.Status.PodIP, fmt.Sprint(port)) || a.Pod != pod.Name {
				continue
			}
			h2c := a.Proto == "HTTP/2.0"
			if h2c == (testedPools[i].name == "h2c") && (h2c || a.HTTPPort == fmt.Sprint(port)) {
				return nil
			}
		}
	}
	return fmt.Errorf("%+v was not answered by that endpoint of pool %s, by its protocol", a, a.picker)
}

// comesTo waits until a request is answered by a pool as its picker says.
func (s *inference) comesTo(pool string, c inferenceCall) {
	s.Helper()
	s.becomes(c, func(a inferenceAnswer) bool { return s.follows(c, a, pool) == nil })
}

// becomes waits until a request is answered as it should be.
func (s *inference) becomes(c inferenceCall, right func(inferenceAnswer) bool) {
	s.Helper()
	s.until(fmt.Sprintf("%+v", c), func() (string, bool) {
		a, err := s.ask(c)
		return fmt.Sprintf("%+v, %v", a, err), err == nil && right(a)
	})
}

// unpicked returns whether an answer comes from a pod of a Deployment, and no picker has named the pod.
func unpicked(deployment string) func(inferenceAnswer) bool {
	return func(a inferenceAnswer) bool { return by(deployment)(a.answer) && a.picker == "" && a.served == "" }
}

// isStatus is an answer of that status.
func isStatus(status int) func(inferenceAnswer) bool {
	return func(a inferenceAnswer) bool { return a.Status == status }
}

// many makes a request often, some at a time. All answers are right, after a first few that wait until they are: all
// threads of the proxy know by then what one of them knew. It counts the answers by a word of each.
func (s *inference) many(n, atOnce int, c inferenceCall, wrong func(inferenceAnswer) error,
	word func(inferenceAnswer) string,
) (counts map[string]int) {
	s.Helper()
	s.until(fmt.Sprintf("%+v, %d at a time", c, atOnce), func() (string, bool) {
		_, failed := s.batch(2*atOnce, atOnce, c, wrong, word)
		return fmt.Sprint(failed), len(failed) == 0
	})
	counts, failed := s.batch(n, atOnce, c, wrong, word)
	if len(failed) > 0 {
		s.Errorf("%d of %d requests to %s%s failed: %v", len(failed), n, c.host, c.path, failed[0])
	}
	return counts
}

// batch makes a request often, some at a time, every other one to be answered by the picker before it has the body.
func (s *inference) batch(n, atOnce int, c inferenceCall, wrong func(inferenceAnswer) error,
	word func(inferenceAnswer) string,
) (counts map[string]int, failed []error) {
	counts = map[string]int{}
	var mu sync.Mutex
	var running sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i := range n {
		c := c
		c.early = i%2 == 0
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			a, err := s.ask(c)
			if err == nil {
				err = wrong(a)
			}
			mu.Lock()
			defer mu.Unlock()
			counts[word(a)]++
			if err != nil {
				failed = append(failed, err)
			}
		})
	}
	running.Wait()
	return counts, failed
}

// only100 makes 100 requests that go to what they allow, and reach all of that.
func (s *inference) only100(pool string, c inferenceCall, endpoints int) {
	s.Helper()
	counts := s.many(100, 10, c, func(a inferenceAnswer) error { return s.follows(c, a, pool) },
		func(a inferenceAnswer) string { return a.served })
	if len(counts) != endpoints {
		s.Errorf("%d endpoints of %q were reached, want %d: %v", len(counts), c.only, endpoints, counts)
	}
}

// poolIs waits until a pool's entry for a Gateway has conditions, for the pool as it is now.
func (s *inference) poolIs(name, gateway string, conditions ...string) {
	s.Helper()
	s.until(fmt.Sprintf("InferencePool %s at %s is %v", name, gateway, conditions), func() (string, bool) {
		var p inferencev1.InferencePool
		text, err := s.Client.RESTClient().Get().AbsPath("/apis/" + poolResource.Group + "/" + poolResource.Version +
			"/namespaces/" + s.namespace + "/" + poolResource.Resource + "/" + name).Do(context.Background()).Raw()
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil {
			return err.Error(), false
		}
		for _, parent := range p.Status.Parents {
			if ref := parent.ParentRef; ref.Kind == "Gateway" && ref.Namespace == infraNamespace && ref.Name == gateway {
				return statusText(p.Status), has(parent.Conditions, p.Generation, conditions...)
			}
		}
		return statusText(p.Status), false
	})
}

// serves waits until a route and its pools are accepted at a Gateway, and the proxies have the route.
func (s *inference) serves(route, gateway string, pools ...string) {
	s.Helper()
	s.live(route)
	for _, name := range pools {
		s.poolIs(name, gateway, "Accepted=True Accepted", "ResolvedRefs=True ResolvedRefs")
	}
}

// deleteRoute deletes a route.
func (s *inference) deleteRoute(name string) {
	s.Helper()
	if err := s.api.GatewayV1().HTTPRoutes(s.namespace).Delete(context.Background(), name,
		metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
}
