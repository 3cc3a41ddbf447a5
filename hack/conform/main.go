// Command conform runs the Gateway API's conformance suite against Cardea in the test cluster, and keeps the report.
//
// It owns the scene: the cluster, what is installed in it, and the suite's flags. It must never leave out a test, nor
// know what a test does: the suite is built from hack/conformance, unchanged. `make conformance` runs it. Start reading
// at run.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"cardea.dev/cardea/internal/dataplane/envoy/bootstrap"
	"cardea.dev/cardea/internal/deliver/process"
	"cardea.dev/cardea/internal/test/kubetest"
)

type options struct {
	suite, cardea, dataplane, report, only, version string
	verbose, quiet                                  bool
}

func main() {
	kubetest.Enter()
	o := options{}
	flag.StringVar(&o.suite, "suite", "bin/conformance.test", "the suite's test binary")
	flag.StringVar(&o.cardea, "cardea", "bin/cardea", "the program under test")
	flag.StringVar(&o.dataplane, "dataplane", "",
		"the data plane of the class's Gateways (DataPlane.spec.proxy); the default one if it is empty")
	flag.StringVar(&o.report, "report", "", "the file to write the report to; none if it is empty")
	flag.StringVar(&o.only, "run", "", "run only the test of this name; there is no report then")
	flag.StringVar(&o.version, "version", "(devel)", "the version of Cardea in the report")
	flag.BoolVar(&o.quiet, "quiet", false, "show the output of the suite only if it fails")
	flag.BoolVar(&o.verbose, "v", false, "log what the cluster does")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "conform:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	images, err := images(o.cardea)
	if err != nil {
		return err
	}
	cluster, err := kubetest.Up(ctx, kubetest.Options{Images: images, Verbose: o.verbose})
	if err != nil {
		return err
	}
	defer cluster.Stop()
	if err := cluster.InstallGatewayAPI(ctx, "experimental"); err != nil {
		return err
	}
	if err := installs(ctx, cluster, o.dataplane); err != nil {
		return err
	}
	if err := classReady(ctx, cluster); err != nil {
		return err
	}
	return suite(ctx, o, cluster.Kubeconfig)
}

// images are the programs for the images in deploy/install.yaml, and for the images that Cardea deploys.
func images(cardea string) (map[string]kubetest.Program, error) {
	binary, err := process.FindPath(bootstrap.Program())
	if err != nil {
		return nil, err
	}
	all := map[string]kubetest.Program{}
	for image, path := range map[string]string{"cardea": cardea, "envoyproxy/envoy": binary} {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		inside := "/usr/local/bin/" + filepath.Base(path)
		all[image] = kubetest.Program{Files: map[string]string{inside: path}, Entrypoint: []string{inside}}
	}
	return all, nil
}

// suite runs the suite in the cluster's network. The suite reads from the GatewayClass which features to test.
func suite(ctx context.Context, o options, kubeconfig string) error {
	args := []string{
		"-test.v", "-test.run=TestConformance", "-test.timeout=80m", "-test.parallel=2", "-gateway-class=cardea",
		"-conformance-profiles=GATEWAY-HTTP,GATEWAY-GRPC,GATEWAY-TLS,GATEWAY-TCP,GATEWAY-UDP",
		"-organization=cardea", "-project=cardea",
		"-url=https://cardea.dev", "-version=" + o.version,
		"-contact=https://cardea.dev/contact",
		// One address of the test cluster's load balancers, and one that it does not have.
		"-usable-address=10.97.200.1", "-unusable-address=192.0.2.1",
	}
	switch {
	case o.only != "":
		args = append(args, "-run-test="+o.only)
	case o.report != "":
		path, err := filepath.Abs(o.report)
		if err != nil {
			return err
		}
		args = append(args, "-report-output="+path)
	}
	path, err := filepath.Abs(o.suite)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HTTPS_PROXY=", "HTTP_PROXY=", "https_proxy=", "http_proxy=")
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if o.quiet {
		cmd.Stdout, cmd.Stderr = &words, &words
	}
	err = cmd.Run()
	if o.quiet {
		if err != nil {
			_, _ = os.Stdout.Write(words.Bytes())
		} else {
			fmt.Printf("conformance: %d tests of the suite passed, none failed\n",
				bytes.Count(words.Bytes(), []byte("\n    --- PASS: TestConformance/")))
		}
	}
	if err != nil {
		if _, failed := errors.AsType[*exec.ExitError](err); failed {
			return errors.New("the suite failed")
		}
		return fmt.Errorf("run the suite: %w", err)
	}
	return nil
}
