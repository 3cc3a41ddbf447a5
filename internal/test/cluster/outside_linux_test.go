package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"cardea.dev/cardea/internal/test/cluster"
)

// nested tells the test binary that it is started by TestFromOutside.
const nested = "TESTCLUSTER_NESTED"

// TestFromOutside starts another cluster in a sandbox of its own, reaches it from outside, kills the program that made
// it, and looks for what is left. This test's own sandbox is the outside.
func TestFromOutside(t *testing.T) {
	if path := os.Getenv(nested); path != "" {
		stay(t, path)
	}
	cluster.Require(t)
	p := &place{t: t}
	before := outside(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	cmd := exec.Command(os.Args[0], "-test.run=^TestFromOutside$")
	cmd.Env = append(os.Environ(), nested+"="+path)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	p.eventually(func() error {
		_, err := os.Stat(path)
		return err
	})

	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Get(t.Context(), "stays", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inside := exec.Command("cat", "/proc/net/fib_trie")
	text := &strings.Builder{}
	inside.Stdout = text
	if err := cluster.Exec(inside); err != nil || !strings.Contains(text.String(), cluster.NodeAddress.String()) {
		t.Errorf("a command inside: %v %s", err, text)
	}

	family := descendants(t, cmd.Process.Pid)
	spaces := namespaces(family)
	// The test binary three times, the control plane, and a pod.
	if len(family) < 7 || len(spaces) < 2 || !ready(pod) {
		t.Fatalf("the other cluster is not there: %v %v %+v", family, spaces, pod.Status)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatal(err)
	}
	p.eventually(func() error {
		for _, pid := range family {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
				return fmt.Errorf("process %d is left", pid)
			}
		}
		for space := range namespaces(processes(t)) {
			if spaces[space] {
				return fmt.Errorf("%s is left", space)
			}
		}
		return nil
	})
	for _, thing := range outside(t) {
		if !slices.Contains(before, thing) {
			t.Errorf("left is %s", thing)
		}
	}
}

// stay is the other cluster, with a pod. It says that it is ready by writing its kubeconfig.
func stay(t *testing.T, path string) {
	c := cluster.Start(t, cluster.Options{})
	p := &place{c, t, metav1.NamespaceDefault}
	p.pod("stays", "", echo)
	p.until("stays", ready)
	if err := c.Announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := c.Expose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done()
}

// TestWithoutRoot runs a test of a cluster where there can be none.
func TestWithoutRoot(t *testing.T) {
	cluster.Require(t)
	for ci, want := range map[string]string{"": "--- SKIP", "true": "--- FAIL"} {
		cmd := exec.Command("/proc/self/exe", "-test.run=^TestKill$", "-test.v")
		cmd.Env = append(os.Environ(), "CI="+ci)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, _ := cmd.CombinedOutput() // it fails if it should
		if !strings.Contains(string(out), want) ||
			!strings.Contains(string(out), "a test cluster is not possible here: it needs root") {
			t.Errorf("CI=%q: %s", ci, out)
		}
	}
}

// outside lists what a sandbox might leave behind: interfaces, routes, mounts, files.
func outside(t *testing.T) []string {
	t.Helper()
	var found []string
	links, err := listed(netlink.LinkList)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		found = append(found, "link "+l.Attrs().Name)
	}
	routes, err := listed(func() ([]netlink.Route, error) { return netlink.RouteList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range routes {
		found = append(found, "route "+r.String())
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	found = append(found, strings.Split(string(mounts), "\n")...)
	files, err := filepath.Glob("/run/*")
	if err != nil {
		t.Fatal(err)
	}
	return append(found, files...)
}

// listed asks the kernel for a list, and again if something changed while it answered.
func listed[T any](ask func() ([]T, error)) (list []T, err error) {
	for range 100 {
		if list, err = ask(); !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	return list, err
}

// processes are the ids of all processes.
func processes(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// descendants are a process and all that it has started, directly or not.
func descendants(t *testing.T, of int) []int {
	t.Helper()
	family := []int{of}
	for _, pid := range processes(t) { // a parent is older: its number is smaller
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))
		if parent, err := strconv.Atoi(fields[1]); err == nil && slices.Contains(family, parent) {
			family = append(family, pid)
		}
	}
	return family
}

// namespaces are the network namespaces of processes, but for this one's.
func namespaces(pids []int) map[string]bool {
	found := map[string]bool{}
	own, _ := os.Readlink("/proc/self/ns/net")
	for _, pid := range pids {
		if space, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil && space != own {
			found[space] = true
		}
	}
	return found
}
