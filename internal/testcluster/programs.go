package testcluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The programs that hack/get-cluster.sh builds.
const (
	etcdProgram              = "etcd"
	apiServerProgram         = "kube-apiserver"
	controllerManagerProgram = "kube-controller-manager"
	echoProgram              = "echo"
)

// What is prepared where there is a network, for the program inside the sandbox.
const (
	programsVariable   = "CARDEA_TESTCLUSTER_PROGRAMS"    // the folder of the programs
	gatewayAPIVariable = "CARDEA_TESTCLUSTER_GATEWAY_API" // the folder of the Gateway API's module
)

// prepare finds or builds what a cluster needs, and returns it as environment variables.
func prepare() ([]string, error) {
	root, err := sources()
	if err != nil {
		return nil, err
	}
	programs, err := output(exec.Command(filepath.Join(root, "hack", "get-cluster.sh")))
	if err != nil {
		return nil, err
	}
	download := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", gatewayAPIModule)
	download.Dir = root
	module, err := output(download)
	if err == nil && module == "" { // a dependency that no build has needed yet
		fetch := exec.Command("go", "mod", "download", gatewayAPIModule)
		fetch.Dir = root
		if _, err = output(fetch); err == nil {
			again := exec.Command(download.Path, download.Args[1:]...)
			again.Dir = root
			module, err = output(again)
		}
	}
	if err != nil {
		return nil, err
	}
	return []string{programsVariable + "=" + programs, gatewayAPIVariable + "=" + module}, nil
}

// output runs a command that says what it does on standard error, and returns the line that it prints.
func output(cmd *exec.Cmd) (string, error) {
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return string(bytes.TrimSpace(out)), nil
}

// sources is the root of Cardea's sources, in which a test runs.
func sources() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "hack", "get-cluster.sh")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("a test cluster is started in the folder of Cardea's sources, or below: its programs are built from there")
		}
		dir = parent
	}
}
