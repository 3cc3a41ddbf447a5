package cli

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
)

func standaloneCommand(p Program) *cobra.Command {
	o := standalone.Options{Dialects: p.Dialects, Extensions: p.Extensions}
	var level, format, memory string
	var identities []string
	cmd := &cobra.Command{
		Use:   "standalone DIR | --ledger FILE",
		Short: "Run all gateways of a folder, or of a ledger, on this machine",
		Long: `Run all gateways of a folder on this machine, without Kubernetes.

Every .yaml, .yml and .json file in DIR and its subfolders is read, and read again when it changes. DIR can also be
one file. Each Gateway of class "cardea" gets its own Envoy, as a child process that ends with this program. The
Envoy is found at --envoy, at $CARDEA_ENVOY, in the PATH, or in the cache folder, in this order.

On most systems, binding a port below 1024 needs a privilege. With --port-offset 8000, port 80 is served at 8080 and
port 443 at 8443.

With --ledger, the objects are read from a ledger in the place of DIR: a file, or a PostgreSQL database
(postgres://...). "cardea ledger" changes what is in it, shows its history, and goes back. What the proxies
acknowledged or refused of each change is written to the ledger.`,
		Example: `  cardea standalone examples/quickstart

  # Without the privilege to bind port 80; reachable from other machines; with your own Envoy
  cardea standalone my-gateways --port-offset 8000 --bind 0.0.0.0 --envoy ~/bin/envoy

  # From a ledger, which "cardea ledger" edits
  cardea standalone --ledger gateways.db

  # A second Cardea on the same machine
  cardea standalone other-gateways --port-offset 1000 --admin 127.0.0.1:9901`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.Ledger.URL != "" && len(args) == 0 {
				return nil
			}
			return oneFolderArg(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.Dir = args[0]
			}
			if o.Strict && o.Ledger.URL != "" {
				return errors.New("--strict reads a folder; a ledger takes only objects that are valid")
			}
			if err := checkBinding(o); err != nil {
				return err
			}
			if o.ConfigMapSync < 0 {
				return fmt.Errorf("--configmap-sync %v: want a duration that is not negative, such as 1s", o.ConfigMapSync)
			}
			if err := o.AdminAccess.Check(o.Admin); err != nil {
				return err
			}
			if _, _, err := net.SplitHostPort(o.Probes); err != nil && o.Probes != "" {
				return fmt.Errorf("--probes %q: want host:port, such as :9901", o.Probes)
			}
			var err error
			if o.Memory, err = bytesOf(memory); err != nil {
				return fmt.Errorf("--proxy-memory %q: %w", memory, err)
			}
			if o.Log, err = newLogger(cmd.ErrOrStderr(), level, format); err != nil {
				return err
			}
			if err := parseIdentities(&o, identities); err != nil {
				return err
			}
			return p.Standalone(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.ProxyProgram, "envoy", "",
		"path of the Envoy to run (default: $CARDEA_ENVOY, the PATH, the cache folder)")
	bindFlags(cmd, &o)
	bindIdentities(cmd, &o, &identities)
	bindAdmin(cmd, &o.Admin, &o.AdminAccess)
	f.StringVar(&o.Probes, "probes", "", "host:port of /healthz, /readyz and /metrics, for all (default: none)")
	f.StringVar(&o.WorkDir, "work-dir", "",
		"folder for the proxies' sockets and bootstrap files (default: a temporary folder)")
	f.StringVar(&memory, "proxy-memory", "",
		"memory that each proxy may take, such as 1Gi: when it is full, requests are refused rather than the proxy killed\n"+
			"(default: no bound)")
	f.DurationVar(&o.ConfigMapSync, "configmap-sync", time.Second,
		"time between the steps of an edit of files, which some proxies read by themselves")
	f.StringVar(&o.AccessLog, "access-log", "",
		"file that the proxies log requests to, as lines of JSON (default: no such file)")
	f.BoolVar(&o.Strict, "strict", false,
		"do not start if an object of the folder has a mistake because of which it is left out, such as a mistyped field")
	f.StringVar(&o.Ledger.URL, "ledger", "", "read the objects from this ledger: a file, or postgres://USER@HOST/DATABASE")
	f.StringVar(&o.Ledger.KeyFile, "ledger-key", "",
		"file with the key that Secrets of the ledger are sealed with (default: the ledger's file with .key)")
	f.StringVar(&o.Ledger.Target, "ledger-target", ledger.DefaultTarget, "target of the ledger whose objects are served")
	f.StringVar(&o.Ledger.Name, "ledger-name", "",
		"name by which the ledger is told what is live here (default: the host's name)")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&format, "log-format", "text", "text or json")
	completeFlag(cmd, "log-level", "debug", "info", "warn", "error")
	completeFlag(cmd, "log-format", "text", "json")
	return cmd
}

// bindFlags adds the flags that say where listeners are bound, and how much may be rendered.
func bindFlags(cmd *cobra.Command, o *standalone.Options) {
	f := cmd.Flags()
	f.IntVar(&o.PortOffset, "port-offset", 0,
		"added to each listener's port to get the port to bind; redirects keep the listener's port")
	f.StringSliceVar(&o.Bind, "bind", []string{"127.0.0.1"},
		"IP addresses to bind for Gateways that have none in spec.addresses")
	f.BoolVar(&o.Pickers, "pickers", true,
		"run a picker for each InferencePool that names none; if false, the endpoint with the fewest requests gets each")
	bindTrustDomain(cmd, &o.TrustDomain)
	bindBudgets(cmd, &o.Budgets)
	completeFlag(cmd, "port-offset")
	completeFlag(cmd, "bind", "127.0.0.1", "0.0.0.0", "::1", "::")
}

// bindTrustDomain adds the flag that says what ServiceAccounts are called in certificates.
func bindTrustDomain(cmd *cobra.Command, domain *string) {
	cmd.Flags().StringVar(domain, "trust-domain", model.DefaultTrustDomain,
		"trust domain of ServiceAccounts that access policies name: spiffe://TRUST-DOMAIN/ns/NAMESPACE/sa/NAME")
	completeFlag(cmd, "trust-domain", model.DefaultTrustDomain)
}

// checkTrustDomain returns an error for a domain that no SPIFFE ID can have.
func checkTrustDomain(domain string) error {
	if len(domain) > 255 || strings.Trim(domain, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return fmt.Errorf("--trust-domain %q: want small letters, digits, dots, dashes and underscores, such as example.org",
			domain)
	}
	return nil
}

// checkBinding returns an error for flags of bindFlags that can't be used.
func checkBinding(o standalone.Options) error {
	if o.PortOffset < -65535 || o.PortOffset > 65535 {
		return fmt.Errorf("--port-offset %d: want a number from -65535 to 65535", o.PortOffset)
	}
	if len(o.Bind) == 0 {
		return fmt.Errorf("--bind: want at least one IP address")
	}
	for _, address := range o.Bind {
		if _, err := netip.ParseAddr(address); err != nil {
			return fmt.Errorf("--bind %q: want an IP address", address)
		}
	}
	if err := checkTrustDomain(o.TrustDomain); err != nil {
		return err
	}
	return checkBudgets(o.Budgets)
}

func newLogger(w io.Writer, level, format string) (*slog.Logger, error) {
	var options slog.HandlerOptions
	switch level {
	case "debug":
		options.Level = slog.LevelDebug
	case "info":
		options.Level = slog.LevelInfo
	case "warn":
		options.Level = slog.LevelWarn
	case "error":
		options.Level = slog.LevelError
	default:
		return nil, fmt.Errorf("--log-level %q: want debug, info, warn or error", level)
	}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, &options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, &options)), nil
	}
	return nil, fmt.Errorf("--log-format %q: want text or json", format)
}

// leastMemory is what a proxy needs that serves anything.
const leastMemory = 64 << 20

// bytesOf reads an amount of memory as Kubernetes writes it; "" is 0.
func bytesOf(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := resource.ParseQuantity(text)
	if err != nil || q.Value() < leastMemory {
		return 0, errors.New("want an amount of at least 64Mi, such as 1Gi")
	}
	return q.Value(), nil
}
