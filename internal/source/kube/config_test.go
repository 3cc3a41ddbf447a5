package kube

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"cardea.dev/cardea/internal/core/kubeclient"
)

func TestLoadConfig(t *testing.T) {
	p := newPlace(t)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	config, err := kubeclient.LoadConfig(p.Kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	if config.QPS <= 5 || !strings.HasPrefix(config.UserAgent, "cardea ") {
		t.Errorf("%v requests a second, agent %s", config.QPS, config.UserAgent)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Namespaces().Get(context.Background(), p.namespace, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}

	// Another context of the same file, and the file that the environment names.
	file := filepath.Join(t.TempDir(), "kubeconfig")
	two := api.NewConfig()
	two.Clusters["a"], two.Clusters["b"] = &api.Cluster{Server: "https://a.example"},
		&api.Cluster{Server: "https://b.example"}
	two.Contexts["a"], two.Contexts["b"] = &api.Context{Cluster: "a"}, &api.Context{Cluster: "b"}
	two.CurrentContext = "a"
	if err := clientcmd.WriteToFile(*two, file); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	for context, want := range map[string]string{"": "https://a.example", "b": "https://b.example"} {
		if config, err := kubeclient.LoadConfig("", context); err != nil || config.Host != want {
			t.Errorf("context %q: %v, %v", context, config, err)
		}
	}
	for _, wrong := range [][2]string{{"", "missing"}, {filepath.Join(t.TempDir(), "missing"), ""}} {
		if _, err := kubeclient.LoadConfig(wrong[0], wrong[1]); err == nil || !strings.HasPrefix(err.Error(),
			"find the cluster: ") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if err := os.Unsetenv("KUBECONFIG"); err != nil {
		t.Fatal(err)
	}
	if _, err := kubeclient.LoadConfig("", ""); err == nil {
		t.Error("a cluster was found where there is none")
	}
}
