package cluster

import (
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig is the text of a kubeconfig for config, which holds its authority as data.
func kubeconfig(config *rest.Config) ([]byte, error) {
	const name = "testcluster"
	c := api.NewConfig()
	c.Clusters[name] = &api.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	c.AuthInfos[name] = &api.AuthInfo{Token: config.BearerToken}
	c.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	return clientcmd.Write(*c)
}
