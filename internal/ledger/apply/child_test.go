package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/ledger/store"
)

// childVariable has the test's program run a worker in place of tests, as this text of JSON says.
const childVariable = "CARDEA_TEST_APPLY_CHILD"

// childConfig is what a worker in a process of its own does.
type childConfig struct {
	Ledger, Kubeconfig, Worker string
	Lease                      time.Duration
}

// child runs a worker until it is killed.
func child() int {
	var c childConfig
	err := json.Unmarshal([]byte(os.Getenv(childVariable)), &c)
	if err == nil {
		err = c.run()
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

func (c childConfig) run() error {
	ctx := context.Background()
	s, err := store.Open(ctx, store.Config{URL: c.Ledger})
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	// It asks for work seldom, so that it is hardly ever in the middle of a transaction when it stops: that would stop
	// all. It asks again after a lease: a worker that was killed just before may hold the lease of an object.
	w, err := New(Config{Work: s, Targets: s.Targets, REST: kubeclient.NoRetryConfig(config), Cluster: clusterName,
		Worker: c.Worker, Lease: c.Lease, Poll: c.Lease, Recheck: 200 * time.Millisecond,
		Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// process starts a worker in a process of its own, that ends or stops itself at a step.
func (s *stage) process(name, failpoint string, lease time.Duration) *exec.Cmd {
	s.t.Helper()
	text, err := json.Marshal(childConfig{Ledger: s.path, Kubeconfig: s.cluster.Kubeconfig, Worker: name, Lease: lease})
	s.must(err)
	self, err := os.Executable()
	s.must(err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text), failpointVariable+"="+failpoint)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	s.must(cmd.Start())
	s.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}
