package ledgerpreview

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/diff"
)

// previewTimeout is how long one Cardea may take for a preview.
const previewTimeout = 2 * time.Minute

// FindCardeas finds whom a Previewer asks by what a ledger has registered: the clusters that serve a target, through
// their admin APIs. If nobody is registered for a target, here is asked: the address of an admin API; "": nobody. They
// are shown what the environment names (admin.Credentials).
func FindCardeas(l ledger.Registry, here string) func(ctx context.Context, target string) ([]CardeaAdmin, error) {
	return func(ctx context.Context, name string) (list []CardeaAdmin, err error) {
		targets, err := l.Targets(ctx)
		if err != nil {
			return nil, err
		}
		clusters, err := l.Clusters(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range targets {
			for _, c := range clusters {
				if t.Name == name && answersFor(t, c) {
					list = append(list, newCardeaAdmin(c.Name, c.Admin))
				}
			}
		}
		switch {
		case len(list) > 0:
		case here != "":
			list = append(list, newCardeaAdmin("standalone", here))
		default:
			list = append(list, CardeaAdmin{Cluster: "target " + name,
				Why: "no Cardea is registered for previews; register one with `cardea ledger cluster set NAME --admin URL`"})
		}
		return list, nil
	}
}

// answersFor tells whether a target's objects are asked about at a cluster's Cardea. A target that Cardeas read by
// themselves has those that were registered only for being asked: with an admin API, and no kubeconfig.
func answersFor(t ledger.Target, c ledger.Cluster) bool {
	if t.Server == ledger.Clusters {
		return t.ServedBy(c)
	}
	t.Server = ledger.Clusters // the labels choose, as they do there
	return c.Admin != "" && c.Kubeconfig == "" && t.ServedBy(c)
}

func newCardeaAdmin(cluster, address string) CardeaAdmin {
	if address == "" {
		return CardeaAdmin{Cluster: cluster, Why: "the address of its Cardea's admin API is not registered"}
	}
	return CardeaAdmin{Cluster: cluster, Diff: func(ctx context.Context, e diff.Edit) (diff.Report, error) {
		return postDiff(ctx, address, e)
	}}
}

// notAskedError says why a Cardea was not asked. Its words go to everybody who sees a preview; where it is, and what
// went wrong there, is for the log.
type notAskedError struct {
	words  string
	detail error
}

func (u notAskedError) Error() string { return u.words }
func (u notAskedError) Unwrap() error { return u.detail }

// postDiff asks an admin API what an edit would change.
func postDiff(ctx context.Context, address string, e diff.Edit) (report diff.Report, err error) {
	if e.Objects == nil {
		e.Objects = []map[string]any{}
	}
	body, err := json.Marshal(e)
	if err != nil {
		return report, err
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	isSecret := func(o map[string]any) bool { return o["kind"] == "Secret" }
	if !isPrivate(address) && slices.ContainsFunc(e.Objects, isSecret) {
		return report, notAskedError{"the draft has a Secret, which is not sent without TLS", fmt.Errorf("to %s", address)}
	}
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(address, "/")+"/diff",
		bytes.NewReader(body))
	if err != nil {
		return report, notAskedError{"its admin API's address is not a URL", err}
	}
	request.Header.Set("Content-Type", "application/json")
	asks, err := admin.Credentials{}.OrEnvironment().NewClient(0)
	if err != nil {
		return report, notAskedError{"the credentials for its admin API can't be read", err}
	}
	response, err := asks.Do(request)
	_, connecting := errors.AsType[*net.OpError](err)
	_, unsent := errors.AsType[admin.CredentialsError](err)
	switch {
	case unsent:
		return report, notAskedError{"the token for its admin API can't be sent", err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return report, notAskedError{"no Cardea runs at its admin API's address", err}
	case connecting:
		return report, notAskedError{"its admin API can't be reached", err}
	case err != nil:
		return report, notAskedError{"its admin API does not answer", err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return report, notAskedError{"its admin API's answer broke off", err}
	case response.Header.Get(admin.Header) == "":
		return report, notAskedError{"a program other than Cardea's admin API answers", fmt.Errorf("at %s", address)}
	case response.StatusCode != http.StatusOK:
		var status admin.Status
		if json.Unmarshal(text, &status) != nil {
			status.Message = strings.TrimSpace(string(text))
		}
		why := errors.New(status.Message)
		switch response.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return report, notAskedError{"its admin API does not accept this program's credentials", why}
		case http.StatusInternalServerError:
			return report, notAskedError{"its admin API failed", why}
		}
		return report, why
	}
	return report, json.Unmarshal(text, &report)
}

// isPrivate tells whether nobody on the network can read what is sent to an address: it has TLS, or is this machine.
func isPrivate(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "https" {
		return err == nil
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
