package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	sigsyaml "sigs.k8s.io/yaml"
)

// applier is the field manager of Apply.
const applier = "testcluster"

// Apply writes the objects of a YAML text to the cluster, as `kubectl apply --server-side --force-conflicts` does. When
// it returns, the kinds that the text defines can be used.
func (c *Cluster) Apply(ctx context.Context, text []byte) error {
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		object := &unstructured.Unstructured{}
		if err := sigsyaml.Unmarshal(document, &object.Object); err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue // comments only
		}
		if err := applyOne(ctx, client, mapper, object); err != nil {
			return fmt.Errorf("apply %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// ApplyFiles is Apply for files.
func (c *Cluster) ApplyFiles(ctx context.Context, paths ...string) error {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func applyOne(
	ctx context.Context, client dynamic.Interface, mapper *restmapper.DeferredDiscoveryRESTMapper,
	object *unstructured.Unstructured,
) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	var resource dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == "namespace" {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		resource = client.Resource(mapping.Resource).Namespace(namespace)
	}
	if _, err := resource.Apply(ctx, object.GetName(), object,
		metav1.ApplyOptions{FieldManager: applier, Force: true}); err != nil {
		return err
	}
	if kind.Kind != "CustomResourceDefinition" {
		return nil
	}
	if err := wait(ctx, func() error {
		definition, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		conditions, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
				return nil
			}
		}
		return errors.Join(errors.New("the CRD is not established"), err)
	}); err != nil {
		return err
	}
	return wait(ctx, func() error { // discovery lists a kind some time after it is established
		defer mapper.Reset()
		_, err := mapper.RESTMapping(defined(object))
		return err
	})
}

// defined is the kind that a CRD defines.
func defined(definition *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}
