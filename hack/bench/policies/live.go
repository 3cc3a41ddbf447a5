package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"cardea.dev/cardea/hack/bench/child"
	"cardea.dev/cardea/hack/bench/scene"
	"cardea.dev/cardea/hack/bench/table"
)

const liveTimes = 20

// liveEdits measures the whole of Cardea while policies of a Gateway are edited in a folder that an Envoy serves.
func (b *bench) liveEdits(t table.Table) error {
	folder, port, err := b.folder(t.N)
	if err != nil {
		return err
	}
	all := editedPolicies()
	for _, p := range all {
		if err := scene.Replace(policyFile(folder, p), p.text()); err != nil {
			return err
		}
	}
	if err := scene.Replace(filepath.Join(folder, "keys.yaml"), keysText(b.login.Keys)); err != nil {
		return err
	}
	c, err := b.standalone(folder)
	if err != nil {
		return err
	}
	defer c.Stop()
	for _, e := range edits {
		if e.live == nil {
			continue
		}
		for _, p := range all {
			if p.kind != e.kind {
				continue
			}
			if err := e.liveRow(t, c, p, policyFile(folder, p), func() (*http.Response, error) {
				return ask(port, b.login.Token)
			}); err != nil {
				return fmt.Errorf("%s: %w", e.what, err)
			}
		}
	}
	return c.Stop()
}

// liveRow edits the policy's file again and again. The first edit, after which Cardea has compiled the kind's rules of
// validation, is not measured.
func (e edit) liveRow(
	t table.Table, c *child.Child, p policy, file string, ask func() (*http.Response, error),
) error {
	once := func(i int) error {
		if err := scene.Replace(file, e.of(p, i).text()); err != nil {
			return err
		}
		return until(func() (bool, error) {
			response, err := ask()
			if err != nil {
				return false, err
			}
			return e.live(response, i), nil
		})
	}
	if err := once(1); err != nil {
		return err
	}
	c.Rest()
	before := c.CPU()
	for i := range liveTimes {
		if err := once(2 + i); err != nil {
			return err
		}
	}
	t.Row("a Gateway's policy edited in its file: "+e.what, fmt.Sprintf("%.1f CPU-ms (mean of %d), all of Cardea",
		(c.CPU()-before)*1000/liveTimes, liveTimes), "", "")
	return nil
}

// until asks again and again until done.
func until(done func() (bool, error)) error {
	var last error
	for end := time.Now().Add(child.WaitTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		is, err := done()
		if is {
			return nil
		}
		last = err
	}
	return errors.Join(errors.New("the edit does not become live"), last)
}

// ask asks the redirect of the first route.
func ask(port int, token string) (*http.Response, error) {
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/moved", port), nil)
	if err != nil {
		return nil, err
	}
	request.Host = scene.Name(0) + ".example.com"
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		response.Body.Close()
	}
	return response, err
}

// folder makes a folder of n routes on one Gateway, in the place of any that was made before.
func (b *bench) folder(n int) (dir string, port int, err error) {
	dir = filepath.Join(b.dir, "folder")
	ports, err := child.FreePorts(1)
	if err := errors.Join(err, os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return "", 0, err
	}
	return dir, ports[0], scene.Write(dir, n, ports[0])
}

func policyFile(folder string, p policy) string { return filepath.Join(folder, p.kind+".yaml") }
