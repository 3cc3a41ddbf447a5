package kube

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Limits of requests a second, for who writes: an API server on two cores takes about 300 a second in all.
const (
	requestsPerSecond = 100
	requestsAtOnce    = 200
)

// LoadConfig finds the cluster: that of a kubeconfig file and one of its contexts or, where these are "", the one that this process runs
// in, or else what kubectl would use. Built-in kinds are read and written as protobuf; who makes a typed client of other kinds must set
// ContentType and AcceptContentTypes to JSON.
func LoadConfig(kubeconfig, context string) (*rest.Config, error) {
	config, err := load(kubeconfig, context)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.UserAgent = fmt.Sprintf("cardea (%s/%s)", runtime.GOOS, runtime.GOARCH)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.ContentType, config.AcceptContentTypes = asProtobuf, asProtobuf+","+asJSON
	return config, nil
}

func load(kubeconfig, context string) (*rest.Config, error) {
	if kubeconfig == "" && context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
}
