package kubeclient

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Limits of requests a second, for who writes: an API server on two cores takes about 300 a second in all.
const (
	requestsPerSecond = 100
	requestsAtOnce    = 200
)

// LoadConfig finds the cluster: that of a kubeconfig file and one of its contexts or, where these are "", the one that
// this process runs in, or else what kubectl would use. Built-in kinds are read and written as protobuf; who makes a
// typed client of other kinds must set ContentType and AcceptContentTypes to JSON.
func LoadConfig(kubeconfig, context string) (*rest.Config, error) {
	config, err := findConfig(kubeconfig, context)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.UserAgent = fmt.Sprintf("cardea (%s/%s)", runtime.GOOS, runtime.GOARCH)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.ContentType, config.AcceptContentTypes = asProtobuf, asProtobuf+","+asJSON
	return config, nil
}

func findConfig(kubeconfig, context string) (*rest.Config, error) {
	if kubeconfig == "" && context == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	config, _, err := LoadKubeconfig(kubeconfig, context)
	return config, err
}

// LoadKubeconfig reads what kubectl would use, and the namespace that is meant where none is named: of a file and one
// of its contexts or, where these are "", of $KUBECONFIG or the file at home. The error names the files where nothing
// was found.
func LoadKubeconfig(file, context string) (config *rest.Config, namespace string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = file, false
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context})
	if config, err = loader.ClientConfig(); err != nil {
		return nil, "", explainMissing(rules, err)
	}
	if namespace, _, err = loader.Namespace(); err != nil {
		return nil, "", err
	}
	return config, namespace, nil
}

// explainMissing says where no kubeconfig is, if that is why there is no configuration.
func explainMissing(rules *clientcmd.ClientConfigLoadingRules, err error) error {
	there := slices.ContainsFunc(rules.Precedence, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	files := strings.Join(rules.Precedence, " and ")
	const remedy = "name one with --kubeconfig or $KUBECONFIG"
	switch variable := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); {
	case rules.ExplicitPath != "" || there && !clientcmd.IsEmptyConfig(err):
		return err
	case there:
		return fmt.Errorf("the kubeconfig %s names no cluster: %s", files, remedy)
	case variable != "":
		return fmt.Errorf("there is no kubeconfig at %s, the path in $KUBECONFIG: %s", files, remedy)
	}
	return fmt.Errorf("there is no kubeconfig at %s: %s", files, remedy)
}
