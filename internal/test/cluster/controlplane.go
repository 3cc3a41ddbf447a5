package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/client-go/rest"
)

// controlPlane is etcd, the API server and the controllers, with their files in one folder.
type controlPlane struct {
	config                             *rest.Config // set before start
	etcd, apiServer, controllerManager daemon
}

// controllers are those controllers of the controller manager that simulated pods need, and those that a test of a
// controller may rely on.
var controllers = []string{
	"deployment-controller", "replicaset-controller", "daemonset-controller", "job-controller", "disruption-controller",
	"endpointslice-controller", "endpointslice-mirroring-controller", "endpoints-controller",
	"namespace-controller", "garbage-collector-controller", "pod-garbage-collector-controller",
	"ttl-after-finished-controller",
	"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
	"clusterrole-aggregation-controller", "podcertificaterequest-cleaner-controller",
}

// podCertificateGates are the gates of what pods get certificates by.
const podCertificateGates = "--feature-gates=" +
	"PodCertificateRequest=true,ClusterTrustBundle=true,ClusterTrustBundleProjection=true"

// newControlPlane writes the files of the control plane to dir: certificates, keys, the admin's token, the kubeconfig.
// podCertificates turns PodCertificateRequests and ClusterTrustBundles on.
func newControlPlane(dir, programs, token string, podCertificates bool) (*controlPlane, error) {
	ca, err := newAuthority(dir)
	if err != nil {
		return nil, err
	}
	node, loopback := net.IP(NodeAddress.AsSlice()), net.IPv4(127, 0, 0, 1)
	first := net.IP(ServiceRange.Addr().Next().AsSlice())
	for _, make := range []func() error{
		func() error {
			return ca.server("apiserver", []net.IP{node, first, loopback}, "localhost",
				"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
		},
		func() error { return ca.server("kubelet", []net.IP{node}) },
		func() error { return ca.client("kubelet-client") },
		func() error { return ca.writeSigningKey("serviceaccounts") },
		func() error {
			return os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(token+",admin,admin,system:masters\n"), 0o600)
		},
	} {
		if err := make(); err != nil {
			return nil, err
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	p := &controlPlane{}
	client := "http://" + netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), etcdPort).String()
	peer := "http://" + netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), etcdPort+1).String()
	p.etcd = daemon{
		argv: []string{
			filepath.Join(programs, etcdProgram), "--name=testcluster", "--data-dir=" + at("etcd"), "--unsafe-no-fsync",
			"--log-level=warn",
			"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=testcluster=" + peer,
		},
		log: at("etcd.log"),
	}
	p.apiServer = daemon{
		argv: []string{
			filepath.Join(programs, apiServerProgram), "--etcd-servers=" + client,
			"--bind-address=" + NodeAddress.String(), "--advertise-address=" + NodeAddress.String(),
			"--secure-port=" + strconv.Itoa(apiServerPort),
			"--tls-cert-file=" + at("apiserver.crt"), "--tls-private-key-file=" + at("apiserver.key"),
			"--token-auth-file=" + at("tokens.csv"), "--authorization-mode=RBAC", "--allow-privileged",
			"--service-cluster-ip-range=" + ServiceRange.String(),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + at("serviceaccounts.key"),
			"--service-account-signing-key-file=" + at("serviceaccounts.key"),
			"--kubelet-client-certificate=" + at("kubelet-client.crt"), "--kubelet-client-key=" + at("kubelet-client.key"),
			"--kubelet-certificate-authority=" + at("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
			"--profiling=false",
		},
		log: at("apiserver.log"),
	}
	p.controllerManager = daemon{
		argv: []string{
			filepath.Join(programs, controllerManagerProgram), "--kubeconfig=" + at("kubeconfig"),
			"--bind-address=127.0.0.1", "--leader-elect=false", "--controllers=" + strings.Join(controllers, ","),
			"--service-account-private-key-file=" + at("serviceaccounts.key"), "--root-ca-file=" + at("ca.crt"),
			// The defaults protect a shared API server: 20 requests a second.
			"--kube-api-qps=1000", "--kube-api-burst=1000", "--profiling=false",
		},
		log: at("controller-manager.log"),
	}
	if podCertificates {
		p.apiServer.argv = append(p.apiServer.argv, podCertificateGates, "--runtime-config=certificates.k8s.io/v1beta1=true")
		p.controllerManager.argv = append(p.controllerManager.argv, podCertificateGates)
	}
	return p, nil
}

// start starts the three, and returns when the API server is ready.
func (p *controlPlane) start(ctx context.Context) error {
	if err := p.etcd.start(); err != nil {
		return err
	}
	if err := p.startAPIServer(ctx); err != nil {
		return err
	}
	return p.controllerManager.start()
}

// startAPIServer returns when the API server is ready. It waits for etcd by itself.
func (p *controlPlane) startAPIServer(ctx context.Context) error {
	if err := p.apiServer.start(); err != nil {
		return err
	}
	return p.ready(ctx)
}

// ready returns when the API server says that it is ready.
func (p *controlPlane) ready(ctx context.Context) error {
	client, err := rest.HTTPClientFor(p.config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	return wait(ctx, func() error {
		for _, d := range []*daemon{&p.etcd, &p.apiServer} {
			select {
			case <-d.done:
				return final{fmt.Errorf("it has ended: %s", d.lastOutput())}
			default:
			}
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.config.Host+"/readyz", nil)
		if err != nil {
			return final{err}
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz: %s", response.Status)
		}
		return nil
	})
}

// kill ends the three programs, those that depend on others first.
func (p *controlPlane) kill() {
	p.controllerManager.kill()
	p.apiServer.kill()
	p.etcd.kill()
}
