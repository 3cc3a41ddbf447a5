package testcluster_test

import (
	"testing"

	"cardea.dev/cardea/internal/testcluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// TestUp starts a cluster and asks who answers.
func TestUp(t *testing.T) {
	c := testcluster.Start(t, testcluster.Options{})
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil || version.GitVersion == "" {
		t.Fatal(version, err)
	}
}
