package cluster

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
	module, err := gatewayAPI(root)
	if err != nil {
		return nil, err
	}
	return []string{programsVariable + "=" + programs, gatewayAPIVariable + "=" + module}, nil
}

// gatewayAPI is the folder of the Gateway API's module, which is fetched if no build has needed it yet.
func gatewayAPI(root string) (string, error) {
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = root
		cmd.Env = append(cmd.Environ(), "GOTOOLCHAIN=auto")
		return output(cmd)
	}
	where := []string{"list", "-m", "-f", "{{.Dir}}", gatewayAPIModule}
	dir, err := run(where...)
	if err != nil || dir != "" {
		return dir, err
	}
	if _, err := run("mod", "download", gatewayAPIModule); err != nil {
		return "", err
	}
	return run(where...)
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
			return "",
				errors.New(
					"start the test cluster in the folder of Cardea's sources, or below: its programs are built from them",
				)
		}
		dir = parent
	}
}
