package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/epp"
	inferencepool "cardea.dev/cardea/internal/epp/cluster"
	"cardea.dev/cardea/internal/epp/members"
	"cardea.dev/cardea/internal/epp/objectives"
	"cardea.dev/cardea/internal/epp/score"
	"cardea.dev/cardea/internal/epp/servers"
)

// pickerFlags are the flags of `cardea picker` that are no numbers of its parts.
type pickerFlags struct {
	listen, admin           string
	addresses, name         string
	file, pool              string
	kubeconfig, kubeContext string
	insecure                bool
	certificate, key        string
	weights, metrics        []string
	trust                   string
	level, format           string
	picker                  epp.Config
	servers                 servers.Config
}

func pickerCommand() *cobra.Command {
	o := &pickerFlags{picker: epp.Defaults(), servers: servers.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "picker (--members FILE | --pool [NAMESPACE/]NAME)",
		Short: "Pick the model server for each request of an inference pool",
		Long: `Pick the model server for each request of an inference pool.

The command serves the endpoint picker protocol of the Gateway API Inference Extension (ext_proc), so any
gateway with InferencePools can ask it. It picks by what each server is likely to have cached, and by how busy it is.
docs/picker.md says how the scores are made, and what is served at --admin.`,
		Example: `  # For the endpoints of a file, without TLS
  cardea picker --members pool.txt --insecure

  # For the pods of an InferencePool, in a pod of its cluster: for all who reach it
  cardea picker --pool models/llama --listen :9002`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.runPicker(cmd) },
	}
	o.bindPicker(cmd)
	o.bindServers(cmd)
	return cmd
}

func (o *pickerFlags) bindPicker(cmd *cobra.Command) {
	f, p := cmd.Flags(), &o.picker
	f.StringVar(&o.listen, "listen", "localhost:9002", "address of the picker (gRPC); in a pod: :9002")
	f.StringVar(&o.admin, "admin", "localhost:9090", "address of metrics, /healthz and /explain; \"\": none")
	f.StringVar(&o.addresses, "addresses", "",
		"file that gets the addresses of --listen and --admin, a line each: ports may be 0")
	f.StringVar(&o.file, "members", "", "file with the endpoints of the pool: one ip:port a line, or JSON")
	f.StringVar(&o.pool, "pool", "", "InferencePool whose ready pods are picked from, [NAMESPACE/]NAME")
	f.StringVar(&o.name, "name", "", "name of the pool in metrics (default: the file, or the InferencePool's name)")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster with --pool")
	f.StringVar(&o.kubeContext, "context", "", "context of the kubeconfig")
	f.BoolVar(&o.insecure, "insecure", false, "serve without TLS")
	f.StringVar(&o.certificate, "tls-cert", "", "file of the certificate (default: a self-signed one is made)")
	f.StringVar(&o.key, "tls-key", "", "file of the certificate's key")
	f.StringArrayVar(&o.weights, "weight", nil,
		"weight of a score, NAME=NUMBER; names are "+strings.Join(score.Names, ", "))
	f.IntVar(&p.Score.MaxWaiting, "max-queue", p.Score.MaxWaiting, "a server with more waiting requests is overloaded")
	f.Float64Var(&p.Score.MaxKVCache, "max-kv-cache", p.Score.MaxKVCache,
		"a server that uses more of its KV cache is overloaded")
	f.IntVar(&p.Score.MaxInFlight, "max-in-flight", p.Score.MaxInFlight,
		"a server with more requests of this picker than twice the mean and this is overloaded")
	f.StringVar(&o.trust, "trust-priority", string(objectives.Any),
		"whether requests may state their priority by headers: any, lower (than 0 only) or none")
	f.IntVar(&p.Fallbacks, "fallbacks", p.Fallbacks, "endpoints after the best one, for connection failures")
	f.IntVar(&p.BodyLimit, "body-limit", p.BodyLimit, "bytes of a body that are read; the rest is passed on unread")
	f.IntVar(&p.BlockSize, "block-size", 0,
		"bytes of the first blocks of a prompt (default: what the servers tell, at least 64)")
	f.IntVar(&p.BlocksPerServer, "blocks-per-server", p.BlocksPerServer, "blocks that are remembered of a server")
	f.BoolVar(&p.ClearRouteCache, "clear-route-cache", false, "have the proxy choose the route anew after the pick")
	f.BoolVar(&p.ShowPick, "show-pick", false, "add the header x-cardea-picked to responses")
	f.StringVar(&o.level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&o.format, "log-format", "text", "text or json")
	completeFlag(cmd, "trust-priority", string(objectives.Any), string(objectives.Lower), string(objectives.None))
	completeFlag(cmd, "log-level", "debug", "info", "warn", "error")
	completeFlag(cmd, "log-format", "text", "json")
	completeFlag(cmd, "weight", score.Names...)
	completeFlagBy(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return listContexts(o.kubeconfig), cobra.ShellCompDirectiveNoFileComp
	})
}

// bindServers adds the flags of how model servers are asked.
func (o *pickerFlags) bindServers(cmd *cobra.Command) {
	f, s := cmd.Flags(), &o.servers
	f.DurationVar(&s.Interval, "scrape-interval", s.Interval, "how often a server is asked for its load")
	f.DurationVar(&s.Timeout, "scrape-timeout", s.Timeout, "how long a server may take to tell its load")
	f.DurationVar(&s.Stale, "stale-after", s.Stale, "load that is older does not count")
	f.IntVar(&s.Failures, "failures", s.Failures, "after as many failures to tell its load, a server gets no requests")
	f.IntVar(&s.Port, "metrics-port", 0, "port of the servers' metrics (default: that of the endpoint)")
	f.StringVar(&s.Path, "metrics-path", s.Path, "path of the servers' metrics")
	f.StringVar(&s.Scheme, "metrics-scheme", s.Scheme, "http, or https, for which certificates are not verified")
	f.StringVar(&s.TokenFile, "metrics-token-file", "",
		"file with a token that servers get with each question (Authorization: Bearer);\n"+
			"it is read again when a server does not take it")
	f.BoolVar(&s.TokenLater, "metrics-token-later", false,
		"the file of --metrics-token-file may come later; until then there is no token")
	f.StringArrayVar(&o.metrics, "metric", nil, `where a server tells its load, FIELD=NAME or FIELD=NAME{label="value"};`+
		"\nfields are queue, running, kv-cache, lora, block-size (default: the names of vLLM,\n"+
		"SGLang, TensorRT-LLM and llama.cpp)")
	completeFlag(cmd, "metrics-scheme", "http", "https")
	completeFlag(cmd, "metric", "queue=", "running=", "kv-cache=", "lora=", "block-size=")
}

// runPicker serves until the command's context ends.
func (o *pickerFlags) runPicker(cmd *cobra.Command) (err error) {
	if o.picker.Log, err = newLogger(cmd.ErrOrStderr(), o.level, o.format); err != nil {
		return err
	}
	if o.picker.Priorities.Trust, err = objectives.ParseTrust(o.trust); err != nil {
		return fmt.Errorf("--trust-priority: %w", err)
	}
	if err := setWeights(o.picker.Score.Weights, o.weights); err != nil {
		return err
	}
	for _, text := range o.metrics {
		if err := o.servers.Names.Set(text); err != nil {
			return fmt.Errorf("--metric %w", err)
		}
	}
	secret, err := o.tlsConfig()
	if err != nil {
		return err
	}
	if err := o.setMembers(); err != nil {
		return err
	}
	o.servers.Log = o.picker.Log
	load, err := servers.New(o.servers)
	if err != nil {
		return err
	}
	o.picker.Load = load
	p, err := epp.New(o.picker)
	if err != nil {
		return err
	}
	at := epp.Listeners{TLS: secret}
	if at.GRPC, err = net.Listen("tcp", o.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer at.GRPC.Close()
	if o.admin != "" {
		if at.Admin, err = net.Listen("tcp", o.admin); err != nil {
			return fmt.Errorf("--admin: %w", err)
		}
		defer at.Admin.Close()
	}
	if err := writeAddresses(o.addresses, at); err != nil {
		return fmt.Errorf("--addresses: %w", err)
	}
	o.picker.Log.Info("picker serves", "address", at.GRPC.Addr().String(), "tls", secret != nil)
	err = p.Run(cmd.Context(), at)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// setMembers sets where the members come from: a file, or an InferencePool of a cluster.
func (o *pickerFlags) setMembers() error {
	switch {
	case (o.file == "") == (o.pool == ""):
		return errors.New("name the endpoints with --members FILE, or an InferencePool with --pool [NAMESPACE/]NAME")
	case o.file != "":
		o.picker.Pool = cmp.Or(o.name, o.file)
		o.picker.Members = members.File{Path: o.file, Log: o.picker.Log}
		return nil
	}
	config, namespace, err := inferencepool.Connect(o.kubeconfig, o.kubeContext)
	if err != nil {
		return err
	}
	name := o.pool
	if before, after, found := strings.Cut(o.pool, "/"); found {
		namespace, name = before, after
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("--pool %q: want NAME or NAMESPACE/NAME", o.pool)
	}
	o.picker.Pool = cmp.Or(o.name, name)
	o.picker.Members = inferencepool.Source{Config: config, Namespace: namespace, Name: name, Log: o.picker.Log}
	return nil
}

func (o *pickerFlags) tlsConfig() (*tls.Config, error) {
	switch {
	case (o.certificate == "") != (o.key == ""):
		return nil, errors.New("--tls-cert and --tls-key are a pair: give both or none")
	case o.insecure && o.certificate != "":
		return nil, errors.New("--insecure means no TLS; it can't be used with --tls-cert")
	case o.insecure:
		return nil, nil
	case o.certificate != "":
		return epp.FromFiles(o.certificate, o.key)
	}
	return epp.SelfSigned()
}

// setWeights reads "NAME=NUMBER".
func setWeights(weights map[string]float64, texts []string) error {
	for _, text := range texts {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || !(n >= 0 && n <= 1e6) || !slices.Contains(score.Names, name) {
			return fmt.Errorf("--weight %q: want NAME=NUMBER, where NAME is %s, and NUMBER is 0 or more", text,
				strings.Join(score.Names, ", "))
		}
		weights[name] = n
	}
	return nil
}
