package ledgercmd

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/ledgerserver"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/rest"
)

func (o *options) serveCommand() *cobra.Command {
	s := ledgerserver.Options{Catalog: o.Catalog, Version: o.Version}
	var oidc auth.OIDC
	var oidcCA, format string
	var noWorkers bool
	var bodies int64
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a ledger over HTTP, and apply it to clusters",
		Long: `Serve a ledger over HTTP, and apply it to clusters.

The API is under /ledger/v1; /ledger/v1/openapi.json describes it. Callers send a bearer token: one of the ledger's
own ("cardea ledger token"), an ID token (--oidc-issuer), or a token of a cluster (--kubernetes-auth). What they may
do, grants say ("cardea ledger grant"), or the cluster's RBAC. A request's body may have 4 MiB; 64 MiB if its sender may
write all objects of a target.

Clusters that are registered with a kubeconfig ("cardea ledger cluster set") get what their targets want. Several
processes may do so at once.

On other addresses than loopback, TLS is required: state --tls-cert and --tls-key, or --plaintext if something in
front of it has TLS.`,
		Example: `  # On this machine, with a token of your own
  cardea ledger token create me --subject alice --ledger gateways.db > token
  cardea ledger grant set admins --subjects alice --permissions '*' --ledger gateways.db
  cardea ledger serve --ledger gateways.db
  cardea ledger history --ledger http://127.0.0.1:9910 --ledger-token-file token

  # For a team
  cardea ledger serve --ledger postgres://cardea@db/ledger --ledger-key key --listen :8443 --tls-cert tls.crt \
    --tls-key tls.key --oidc-issuer https://accounts.example.com --oidc-audience cardea`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.Bodies = bodies << 20; bodies < 1 {
				return fmt.Errorf("--body-memory %d: want a number of MiB", bodies)
			}
			s.URL, s.KeyFile = cmp.Or(o.url, os.Getenv(ledgerVariable)), o.keyFile
			switch {
			case s.URL == "":
				return fmt.Errorf("name the database with --ledger or $%s", ledgerVariable)
			case isHTTP(s.URL):
				return errors.New("--ledger: serve needs the database: a file, or postgres://USER@HOST/DATABASE")
			case oidc.Issuer != "" && oidc.Audience == "":
				return errors.New("state --oidc-audience, too: without it, tokens that were made for others would count")
			case format != "text" && format != "json":
				return fmt.Errorf("--log-format %q: want text or json", format)
			}
			s.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if format == "json" {
				s.Log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			}
			if oidc.Issuer != "" {
				var err error
				if oidc.Client, err = clientWith(oidcCA, "--oidc-ca"); err != nil {
					return err
				}
				s.OIDC = &oidc
			}
			if noWorkers {
				s.Worker = ""
			} else if s.Worker == "" {
				host, err := os.Hostname()
				if err != nil {
					return fmt.Errorf("find the host's name: %w; state --worker", err)
				}
				s.Worker = fmt.Sprintf("%s-%d", host, os.Getpid())
			}
			return ledgerserver.Run(cmd.Context(), s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.Addr, "listen", ledgerserver.DefaultAddr, "host:port of the API")
	f.StringVar(&s.TLSCert, "tls-cert", "",
		"file with the server's certificate, and those above it; read again when it changes")
	f.StringVar(&s.TLSKey, "tls-key", "", "file with the certificate's key")
	f.BoolVar(&s.Plain, "plaintext", false, "no TLS on addresses that others can reach")
	f.StringVar(&s.Probes, "probes", "", "host:port of health, readiness and metrics (default: none)")
	f.StringVar(&oidc.Issuer, "oidc-issuer", "", "URL of an issuer whose ID tokens callers may send")
	f.StringVar(&oidc.Audience, "oidc-audience", "", "audience that ID tokens must be made for")
	f.StringVar(&oidc.Subject, "oidc-subject-claim", "sub", "claim that says who the caller is")
	f.StringVar(&oidc.Groups, "oidc-groups-claim", "groups", "claim that says in which groups the caller is")
	f.StringVar(&oidc.SubjectPrefix, "oidc-subject-prefix", "oidc:", "put before the subject, in grants and in history")
	f.StringVar(&oidc.GroupsPrefix, "oidc-groups-prefix", "oidc:", "put before groups, in grants")
	f.StringVar(&oidcCA, "oidc-ca", "",
		"file with the authorities that the issuer's certificate is of (default: the machine's)")
	f.BoolVar(&s.Kubernetes, "kubernetes-auth", false,
		"callers may send tokens of a cluster, and do with objects what they may do with them in the cluster")
	f.StringSliceVar(&s.KubernetesTargets, "kubernetes-targets", []string{ledger.DefaultTarget},
		"targets with whose objects they may do so; of others, grants decide alone")
	f.BoolVar(&s.KubernetesAdmins, "kubernetes-admins", false,
		"callers who may \"admin\" changes.ledger.cardea.dev in the cluster, as its administrators, administer the ledger:\n"+
			"targets, clusters, tokens and grants; without it, only who a grant names does")
	f.Int64Var(&bodies, "body-memory", rest.BodiesBytes>>20,
		"MiB that the bodies of requests may have that are being read and answered; others are told to wait (503)")
	f.StringVar(&s.Kubeconfig, "kubeconfig", "",
		"of that cluster (default: as kubectl, or the one that the program runs in)")
	f.StringVar(&s.Context, "context", "", "of that kubeconfig")
	f.StringVar(&s.Audience, "kubernetes-audience", "",
		"audience that the cluster's tokens must be made for (default: any)")
	f.StringVar(&s.Worker, "worker", "",
		"name of this process among those that apply to clusters (default: host and pid)")
	f.BoolVar(&noWorkers, "no-workers", false, "apply nothing to clusters; only answer")
	f.StringVar(&format, "log-format", "text", "text or json")
	completeWords(cmd, "listen", ledgerserver.DefaultAddr)
	completeWords(cmd, "log-format", "text", "json")
	return cmd
}
