package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	validation "k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/kubeclient"
	"cardea.dev/cardea/internal/ops/admin"
)

// clusterClient asks a Kubernetes API server.
type clusterClient struct {
	catalog   *kind.Catalog
	base      *url.URL
	http      *http.Client
	namespace string // of the kubeconfig's context
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// newClusterClient finds the cluster that kubectl would ask with these flags.
func newClusterClient(catalog *kind.Catalog, kubeconfig, context string) (*clusterClient, error) {
	config, namespace, err := kubeclient.LoadKubeconfig(kubeconfig, context)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.Timeout = time.Minute
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return &clusterClient{catalog, base, client, namespace}, nil
}

// listContexts are the contexts of a kubeconfig, for shell completion.
func listContexts(kubeconfig string) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// missingKindError is the error for a kind that the API server does not have.
type missingKindError struct{ names *kind.Kind }

func (e missingKindError) Error() string {
	return fmt.Sprintf("the cluster has no %s: its CRD is not installed", e.names.ResourceName())
}

// getPath asks for a path. For an object that does not exist the error is a serverError, for a kind it is missing.
func (c *clusterClient) getPath(
	ctx context.Context, n *kind.Kind, accept string, query url.Values, words ...string,
) ([]byte, error) {
	root := "/apis"
	if !strings.Contains(n.APIVersion(), "/") {
		root = "/api"
	}
	for _, word := range words {
		if wrong := validation.IsValidPathSegmentName(word); len(wrong) > 0 {
			return nil, fmt.Errorf("%q is not a valid name: it %s", word, strings.Join(wrong, " and "))
		}
	}
	target := strings.TrimSuffix(c.base.String(), "/") + root + "/" + n.APIVersion() + joinPath(words)
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the cluster does not answer: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	switch {
	case response.StatusCode == http.StatusOK:
		return text, nil
	case response.StatusCode == http.StatusNotFound && !namesObject(text):
		return nil, missingKindError{n}
	}
	return nil, parseFailure(response.StatusCode, text)
}

// namesObject reports whether an error that the server answered is about an object. If not, it is about the kind.
func namesObject(text []byte) bool {
	var status struct{ Details struct{ Name string } }
	return json.Unmarshal(text, &status) == nil && status.Details.Name != ""
}

// kindPath is the path of a kind in a namespace, or in all namespaces if it is "".
func kindPath(n *kind.Kind, namespace string, more ...string) []string {
	words := append([]string{n.Plural}, more...)
	if !n.Cluster && namespace != "" {
		words = append([]string{"namespaces", namespace}, words...)
	}
	return words
}

// listPage is a list as the API server answers.
type listPage struct {
	Metadata struct {
		Continue  string
		Remaining int `json:"remainingItemCount"`
	}
	Items []object
}

func (c *clusterClient) getPage(
	ctx context.Context, n *kind.Kind, accept, namespace string, limit int, token string,
) (p listPage, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if token != "" {
		query.Set("continue", token)
	}
	text, err := c.getPath(ctx, n, accept, query, kindPath(n, namespace)...)
	if err != nil {
		return p, err
	}
	return p, decodeJSON(text, &p)
}

// decodeJSON decodes JSON and keeps numbers as they are written.
func decodeJSON(text []byte, value any) error {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(value); err != nil {
		return fmt.Errorf("can't read the cluster's answer: %w", err)
	}
	return nil
}

const (
	asJSON  = "application/json"
	asNames = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// listKinds counts the kinds that are installed. If a kind may not be listed, it says so.
func (c *clusterClient) listKinds(ctx context.Context) (json.RawMessage, error) {
	counts := []admin.KindCount{}
	for _, n := range c.catalog.All() {
		p, err := c.getPage(ctx, n, asNames, "", 1, "")
		_, absent := errors.AsType[missingKindError](err)
		refusal, refused := errors.AsType[serverError](err)
		count := admin.KindCount{
			Kind: n.String(), APIVersion: n.APIVersion(), Name: c.catalog.ShortestName(n), Namespaced: !n.Cluster,
			Count: len(p.Items) + p.Metadata.Remaining,
		}
		switch {
		case absent:
			continue
		case refused && refusal.reason == "Forbidden":
			count.Unread = refusal.message
		case err != nil:
			return nil, err
		}
		counts = append(counts, count)
	}
	return encodeDocument(counts)
}

func (c *clusterClient) listObjects(ctx context.Context, n *kind.Kind, namespace string) (json.RawMessage, error) {
	items, token := []object{}, ""
	for {
		p, err := c.getPage(ctx, n, asJSON, namespace, pageSize, token)
		if err != nil {
			return nil, err
		}
		for _, o := range p.Items {
			items = append(items, redactObject(n, o))
		}
		if token = p.Metadata.Continue; token == "" {
			break
		}
	}
	return encodeDocument(object{"apiVersion": "v1", "kind": "List", "items": items})
}

func (c *clusterClient) getObject(ctx context.Context, n *kind.Kind, namespace, name string) (json.RawMessage, error) {
	text, err := c.getPath(ctx, n, asJSON, nil, kindPath(n, namespace, name)...)
	if err != nil {
		return nil, err
	}
	var o object
	if err := decodeJSON(text, &o); err != nil {
		return nil, err
	}
	return encodeDocument(redactObject(n, o))
}

// encodeDocument is JSON as the admin API writes it.
func encodeDocument(value any) (json.RawMessage, error) {
	text, err := json.MarshalIndent(value, "", "  ")
	return append(text, '\n'), err
}

// redactObject replaces each value of a Secret, as in the admin API.
func redactObject(n *kind.Kind, o object) object {
	o["apiVersion"], o["kind"] = n.APIVersion(), n.String()
	if m, ok := o["metadata"].(map[string]any); ok {
		delete(m, "managedFields")
	}
	if n.Hidden == nil {
		return o
	}
	o.RedactFields(n.Hidden...)
	if notes, ok := o.ValueAt("metadata", "annotations").(map[string]any); ok {
		delete(notes, "kubectl.kubernetes.io/last-applied-configuration") // it may hold all of it once more
	}
	return o
}
