package testcluster_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"cardea.dev/cardea/internal/testcluster"
)

// nested tells the test binary that it is started by TestNothingIsLeft.
const nested = "TESTCLUSTER_NESTED"

// TestNothingIsLeft starts another cluster in a sandbox of its own, kills the program that made it, and looks for what is left.
// This test's own sandbox is the outside.
func TestNothingIsLeft(t *testing.T) {
	testcluster.Require(t)
	if os.Getenv(nested) != "" {
		wait := newPlace(t)
		wait.pod("stays", "echo here"+forever)
		wait.until("stays", ready)
		fmt.Println("\nup")
		<-context.Background().Done()
	}
	before := outside(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeft$")
	cmd.Env = append(os.Environ(), nested+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		t.Log(lines.Text())
	}
	family := descendants(t, cmd.Process.Pid)
	spaces := namespaces(family)
	// The test binary three times, the control plane, and a pod.
	if len(family) < 6 || len(spaces) < 2 {
		t.Fatalf("the other cluster is not there: %v %v", family, spaces)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatal(err)
	}
	p := &place{t: t}
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

// outside lists what a sandbox might leave behind: interfaces, routes, mounts, files.
func outside(t *testing.T) []string {
	t.Helper()
	var found []string
	links, err := netlink.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		found = append(found, "link "+l.Attrs().Name)
	}
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
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
