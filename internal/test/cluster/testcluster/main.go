// Command testcluster starts a test cluster, a Kubernetes for trying things out, and runs commands in its network.
// docs/testcluster.md describes it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"cardea.dev/cardea/internal/test/cluster"
)

const usage = `usage:
  testcluster up [flags]          start a cluster and keep it until Ctrl-C; needs Linux and root
  testcluster exec -- COMMAND...  run a command in the network of that cluster
  testcluster run -- COMMAND...   run a command in a network of its own, where it can start a cluster (package kubetest)

flags of up:
`

func main() {
	if len(os.Args) > 1 && os.Args[1] == "exec" {
		os.Exit(join(os.Args[2:]))
	}
	if len(os.Args) > 1 && slices.ContainsFunc(os.Args[1:min(3, len(os.Args))], helps) {
		newOptions().help(os.Stdout)
		return
	}
	cluster.Enter()
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serve()
		return
	}
	if len(os.Args) > 3 && os.Args[1] == "run" {
		fmt.Fprintln(os.Stderr, "testcluster:", run(os.Args[3:]))
		os.Exit(1)
	}
	o := newOptions()
	if len(os.Args) < 2 || os.Args[1] != "up" || o.flags.Parse(os.Args[2:]) != nil || o.flags.NArg() > 0 {
		o.help(os.Stderr)
		os.Exit(2)
	}
	if err := up(o); err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		os.Exit(1)
	}
}

// helps reports whether a word asks for help.
func helps(word string) bool { return slices.Contains([]string{"-h", "-help", "--help", "help"}, word) }

type options struct {
	flags      *flag.FlagSet
	channel    string
	kubeconfig string
	manifests  []string
	verbose    bool
	images     map[string]cluster.Program
}

func newOptions() *options {
	o := &options{flags: flag.NewFlagSet("up", flag.ContinueOnError), images: map[string]cluster.Program{}}
	o.flags.Usage = func() {}
	o.flags.StringVar(&o.channel, "gateway-api", "experimental",
		"the channel of the Gateway API's CRDs to install: standard, experimental or none")
	o.flags.StringVar(&o.kubeconfig, "kubeconfig", "bin/kubeconfig",
		"the file to write the kubeconfig to; it is removed at the end")
	o.flags.BoolVar(&o.verbose, "v", false, "log what the kubelet does")
	o.flags.Func("apply", "a file of objects to install; may be given again", func(path string) error {
		o.manifests = append(o.manifests, path)
		return nil
	})
	o.flags.Func("image", "NAME=PATH: use the program at PATH for the image NAME; may be given again",
		func(text string) error {
			name, path, ok := strings.Cut(text, "=")
			if !ok {
				return errors.New("want NAME=PATH")
			}
			path, err := filepath.Abs(path)
			if err != nil {
				return err
			}
			inside := "/usr/local/bin/" + filepath.Base(path)
			o.images[name] = cluster.Program{Files: map[string]string{inside: path}, Entrypoint: []string{inside}}
			return nil
		})
	return o
}

// help prints the usage.
func (o *options) help(w io.Writer) {
	fmt.Fprint(w, usage)
	o.flags.SetOutput(w)
	o.flags.PrintDefaults()
}

// up runs a cluster until it is interrupted.
func up(o *options) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.DiscardHandler)
	if o.verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	c, err := cluster.Up(ctx, cluster.Options{Images: o.images, Log: log})
	if err != nil {
		return err
	}
	defer c.Stop()
	if err := c.Announce(ctx); err != nil {
		return err
	}
	if o.channel != "none" {
		if err := c.InstallGatewayAPI(ctx, o.channel); err != nil {
			return err
		}
	}
	if err := c.ApplyFiles(ctx, o.manifests...); err != nil {
		return err
	}
	text, err := c.Expose(ctx)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(o.kubeconfig)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return err
	}
	defer os.Remove(path)
	version, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		return err
	}
	fmt.Printf(greeting, version.GitVersion, path, os.Args[0])
	<-ctx.Done()
	return nil
}

const greeting = `The cluster is up: Kubernetes %s.

  export KUBECONFIG=%s
  kubectl get pods --all-namespaces

Pods and Services have addresses in the network of the cluster. To run a command in this network:

  %s exec -- curl http://ADDRESS

Ctrl-C stops the cluster and everything that runs in it.
`

// join runs a command in the cluster's network and returns its exit code.
func join(argv []string) int {
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	} else if len(argv) > 0 && helps(argv[0]) {
		newOptions().help(os.Stdout)
		return 0
	}
	if len(argv) == 0 {
		newOptions().help(os.Stderr)
		return 2
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cluster.Exec(cmd)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcluster:", err)
		return 1
	}
	return 0
}
