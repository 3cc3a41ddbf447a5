package apply

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/rest"
)

// TestPulledWork: a worker that has nothing but the token of its cluster does over HTTP what one beside the database
// does: it applies, sees and corrects drift, retries, and deletes, at once.
func TestPulledWork(t *testing.T) {
	s := newStage(t)
	s.run(s.pulls(), func(c *Config) { c.Poll = time.Hour })
	k := s.edit(configText).Key
	s.put(configText)
	s.synced(k)
	s.put(strings.ReplaceAll(configText, "red", "blue"))
	s.synced(k)
	s.merge(k, "kubectl-edit", `{"data":{"color":"green"}}`)
	s.isThere(k, func(o *unstructured.Unstructured) bool { return field(o, "data", "color") == "blue" })
	s.synced(k)
	s.said("kubectl-edit", "did=corrected")

	s.merge(k, "slow", finalize)
	s.delete(k)
	s.waits(k)
	s.merge(k, "slow", unfinalize)
	s.forgotten(k)
	list, err := s.Denials(t.Context(), ledger.Page{})
	s.must(err)
	if len(list) != 0 {
		t.Errorf("it asked for what it may not: %+v", list)
	}
}

// pulls has a worker ask the ledger over HTTP, with the token of its cluster.
func (s *stage) pulls() func(*Config) {
	s.t.Helper()
	token, hash := auth.MintToken()
	s.must(s.SetToken(s.t.Context(), ledger.Token{Name: "east", Cluster: clusterName, Hash: hash}, "test"))
	handler, err := rest.New(rest.Config{Ledger: s.Store, Callers: auth.New(auth.Config{Access: s.Store})})
	s.must(err)
	server := httptest.NewServer(handler)
	s.t.Cleanup(server.Close)
	c, err := client.New(client.Config{URL: server.URL, Token: token})
	s.must(err)
	s.t.Cleanup(c.Close)
	worker := c.ForCluster(clusterName)
	return func(c *Config) {
		c.Work, c.Targets, c.Changes, c.News = worker, worker.Targets, nil, worker.WaitForNews
	}
}
