package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/controller"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/deliver/kube/identity"
	"cardea.dev/cardea/internal/deliver/kube/proxies"
	"cardea.dev/cardea/internal/deliver/xds"
)

func controllerCommand(p Program) *cobra.Command {
	o := controller.Options{Dialects: p.Dialects, Extensions: p.Extensions}
	var level, format string
	var except, fetchExcept []string
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the gateways of a Kubernetes cluster",
		Long: `Run the gateways of a Kubernetes cluster.

Each Gateway whose GatewayClass has the controller "cardea.dev/gateway-controller" gets its own proxies: a Deployment
and a Service, in the Gateway's namespace. The proxies get their configuration from this program over xDS.
The result for each object is written to its status.

In a cluster, the program uses its pod's ServiceAccount. Elsewhere, it uses the kubeconfig that kubectl would use;
the proxies must then be able to reach --xds under the name of --service.`,
		Example: `  # In a cluster: this installs a Deployment that runs the command
  kubectl apply -f deploy/install.yaml

  # On this machine, if the cluster can reach it under the Service's name
  cardea controller --kubeconfig ~/.kube/config --namespace cardea-system`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkController(o); err != nil {
				return err
			}
			var err error
			if o.EgressExcept, err = proxies.ParsePrefixes(except); err != nil {
				return fmt.Errorf("--egress-except: %w; want networks such as 10.0.0.0/24", err)
			}
			if o.FetchExcept, err = proxies.ParsePrefixes(fetchExcept); err != nil {
				return fmt.Errorf("--fetch-except: %w; want networks such as 10.0.0.0/24", err)
			}
			if o.Log, err = newLogger(cmd.ErrOrStderr(), level, format); err != nil {
				return err
			}
			return p.Controller(cmd.Context(), o)
		},
	}
	bindController(cmd, &o)
	f := cmd.Flags()
	f.StringSliceVar(&except, "egress-except", proxies.DefaultEgressExcept(),
		"networks that no proxy may connect to, by a NetworkPolicy of each Gateway's proxies; add those of\n"+
			"the nodes and of the API server; \"\": no NetworkPolicy is made")
	f.StringSliceVar(&fetchExcept, "fetch-except", nil,
		"networks that this program fetches no key sets from that policies name, besides its own machine, the API\n"+
			"server and clouds' metadata services; such as those of nodes, pods and Services")
	f.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	f.StringVar(&format, "log-format", "text", "text or json")
	completeFlag(cmd, "log-level", "debug", "info", "warn", "error")
	completeFlag(cmd, "log-format", "text", "json")
	return cmd
}

// checkController returns an error for options that mean nothing.
func checkController(o controller.Options) error {
	for flag, address := range map[string]string{"--xds": o.XDS, "--probes": o.Probes} {
		if _, _, err := net.SplitHostPort(address); err != nil && (flag != "--probes" || address != "") {
			return fmt.Errorf("%s %q: want host:port", flag, address)
		}
	}
	if err := o.AdminAccess.Check(o.Admin); err != nil {
		return err
	}
	if o.XDSPort < 1 || o.XDSPort > 65535 {
		return fmt.Errorf("--service-port %d: want a port, 1 to 65535", o.XDSPort)
	}
	if o.XDSLimits.Streams < 1 || o.XDSLimits.Names < 1 {
		return fmt.Errorf("--xds-streams %d, --xds-names %d: want 1 or more", o.XDSLimits.Streams, o.XDSLimits.Names)
	}
	if o.ConfigMapSync < 0 {
		return fmt.Errorf("--configmap-sync %v: want a duration that is not negative, such as 90s", o.ConfigMapSync)
	}
	if (o.Ledger.URL == "") != (o.Ledger.Cluster == "") {
		return errors.New("state --ledger and --cluster together: where work is asked for, and by which name")
	}
	if err := checkTrustDomain(o.TrustDomain); err != nil {
		return err
	}
	return checkBudgets(o.Budgets)
}

// bindController adds the flags that are options as they are.
func bindController(cmd *cobra.Command, o *controller.Options) {
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", "",
		"kubeconfig to use (default: the pod's ServiceAccount, else the one that kubectl would use)")
	f.StringVar(&o.Context, "context", "", "context of the kubeconfig to use")
	f.StringVar(&o.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "cardea-system"),
		"Cardea's own namespace ($POD_NAMESPACE)")
	f.StringVar(&o.Service, "service", "cardea", "the Service in that namespace by which proxies reach xDS")
	f.Int32Var(&o.XDSPort, "service-port", 18000, "that Service's port")
	f.StringVar(&o.XDS, "xds", ":18000", "host:port where xDS is served")
	f.IntVar(&o.XDSLimits.Streams, "xds-streams", xds.DefaultStreams,
		"how many streams the proxies of one Gateway may have; a proxy has one")
	f.IntVar(&o.XDSLimits.Names, "xds-names", xds.DefaultNames,
		"how many resources of one type a proxy may name, such as clusters; it has one for each backend")
	f.StringVar(&o.Image, "proxy-image", "",
		"the proxies' image, where no DataPlane states one (default: that of the data plane)")
	f.StringVar(&o.PickerImage, "picker-image", os.Getenv("CARDEA_IMAGE"),
		"this program's own image, of which a picker is run for each InferencePool that names none ($CARDEA_IMAGE);\n"+
			`"": none is run, and the proxies choose`)
	f.StringVar(&o.ClusterDomain, "cluster-domain", model.DefaultClusterDomain,
		"the cluster's DNS domain; XBackends can't name what is below it")
	bindTrustDomain(cmd, &o.TrustDomain)
	f.StringVar(&o.IdentitySigner, "identity-signer", identity.SignerName,
		"the signerName by which pods ask for certificates with the SPIFFE IDs of their ServiceAccounts, where the\n"+
			`cluster has PodCertificateRequests (docs/identity.md); "": none are signed`)
	f.DurationVar(&o.ConfigMapSync, "configmap-sync", 90*time.Second,
		"how long the cluster takes to bring a changed ConfigMap to the pods; an edit of proxies that read files\n"+
			"is written in steps that are this far apart")
	f.StringVar(&o.Ledger.URL, "ledger", "",
		"URL of a \"cardea ledger serve\" that is asked what to apply to this cluster (docs/ledger.md)")
	f.StringVar(&o.Ledger.Cluster, "cluster", "", "this cluster's name in the ledger")
	f.StringVar(&o.Ledger.TokenFile, "ledger-token-file", "", "file with the token of the cluster's worker")
	f.StringVar(&o.Ledger.CAFile, "ledger-ca", "",
		"file with the authorities of the ledger's certificate (default: the machine's)")
	f.StringVar(&o.Probes, "probes", ":9901",
		`host:port of /healthz, /readyz and /metrics; "" turns them off`)
	bindAdmin(cmd, &o.Admin, &o.AdminAccess)
	bindBudgets(cmd, &o.Budgets)
}
