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

// answers is how long one Cardea may take for a preview.
const answers = 2 * time.Minute

// Of finds whom a Previewer asks by what a ledger has registered: the clusters that serve a target, through their admin
// APIs. If nobody is registered for a target, here is asked: the address of an admin API; "": nobody. They are shown
// what the environment names (admin.Credentials).
func Of(l ledger.Registry, here string) func(ctx context.Context, target string) ([]Asked, error) {
	return func(ctx context.Context, name string) (list []Asked, err error) {
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
					list = append(list, asked(c.Name, c.Admin))
				}
			}
		}
		switch {
		case len(list) > 0:
		case here != "":
			list = append(list, asked("standalone", here))
		default:
			list = append(list, Asked{Cluster: "target " + name,
				Why: "nobody is registered that could be asked: `cardea ledger cluster set NAME --admin URL` does"})
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

func asked(cluster, address string) Asked {
	if address == "" {
		return Asked{Cluster: cluster, Why: "the address of its Cardea's admin API is not registered"}
	}
	return Asked{Cluster: cluster, Diff: func(ctx context.Context, e diff.Edit) (diff.Report, error) {
		return post(ctx, address, e)
	}}
}

// unanswered says why a Cardea was not asked. Its words go to everybody who sees a preview; where it is, and what went
// wrong there, is for the log.
type unanswered struct {
	words  string
	detail error
}

func (u unanswered) Error() string { return u.words }
func (u unanswered) Unwrap() error { return u.detail }

// post asks an admin API what an edit would change.
func post(ctx context.Context, address string, e diff.Edit) (report diff.Report, err error) {
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
		return report, unanswered{"the draft has a Secret, which is not sent without TLS", fmt.Errorf("to %s", address)}
	}
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(address, "/")+"/diff",
		bytes.NewReader(body))
	if err != nil {
		return report, unanswered{"its admin API's address is no URL", err}
	}
	request.Header.Set("Content-Type", "application/json")
	asks, err := admin.Credentials{}.OrEnvironment().Client(0)
	if err != nil {
		return report, unanswered{"what its admin API is shown can't be read", err}
	}
	response, err := asks.Do(request)
	_, connecting := errors.AsType[*net.OpError](err)
	_, unsent := errors.AsType[admin.CredentialsError](err)
	switch {
	case unsent:
		return report, unanswered{"the token for its admin API can't be sent", err}
	case errors.Is(err, syscall.ECONNREFUSED):
		return report, unanswered{"no Cardea runs at its admin API's address", err}
	case connecting:
		return report, unanswered{"its admin API can't be reached", err}
	case err != nil:
		return report, unanswered{"its admin API does not answer", err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return report, unanswered{"its admin API's answer broke off", err}
	case response.Header.Get(admin.Header) == "":
		return report, unanswered{"what answers is not Cardea's admin API", fmt.Errorf("at %s", address)}
	case response.StatusCode != http.StatusOK:
		var status admin.Status
		if json.Unmarshal(text, &status) != nil {
			status.Message = strings.TrimSpace(string(text))
		}
		why := errors.New(status.Message)
		switch response.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return report, unanswered{"its admin API does not let this program ask", why}
		case http.StatusInternalServerError:
			return report, unanswered{"its admin API failed", why}
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
