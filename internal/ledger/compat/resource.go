package compat

import (
	"context"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
)

// request is the body of POST and PUT.
type request struct {
	ClusterID   string         `json:"cluster_id"` // a target; "": the default one
	Kind        string         `json:"kind"`
	APIVersion  string         `json:"api_version"`
	Namespace   string         `json:"namespace"`
	Name        string         `json:"name"`
	DesiredSpec ledger.Content `json:"desired_spec"`
	Revision    int64          `json:"revision"` // PUT: go back to this one
}

// resource is the body of answers.
type resource struct {
	ID          string         `json:"id"`
	ClusterID   string         `json:"cluster_id"`
	Kind        string         `json:"kind"`
	APIVersion  string         `json:"api_version,omitempty"`
	Namespace   string         `json:"namespace"`
	Name        string         `json:"name"`
	DesiredSpec ledger.Content `json:"desired_spec,omitempty"`
	Generation  int64          `json:"generation"`
	Revision    int64          `json:"revision"`
	Status      string         `json:"status,omitempty"`
	// AppliedGeneration and CurrentGeneration are the lowest of all clusters of the target; 0: not yet in one of them.
	AppliedGeneration *int64 `json:"applied_generation,omitempty"`
	CurrentGeneration *int64 `json:"current_generation,omitempty"`
	ErrorMessage      string `json:"error_message,omitempty"`
	ClustersSynced    int    `json:"clusters_synced,omitempty"`
	ClustersTotal     int    `json:"clusters_total,omitempty"`
	Message           string `json:"message,omitempty"`
}

func resourceOf(o ledger.Object) resource {
	r := resource{ID: o.ID, ClusterID: o.Target, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		Generation: o.Generation, Revision: o.Revision}
	if object, err := o.Content.DecodeObject(); err == nil {
		r.APIVersion, _ = object["apiVersion"].(string)
	}
	if !o.IsSecret() { // values of Secrets are shown to nobody here
		r.DesiredSpec = o.Content
	}
	return r
}

// addStatus says what became of a resource.
func (r *resource) addStatus(s ledger.Status) {
	r.Status = s.SummaryState()
	r.ClustersTotal = len(s.Clusters)
	for i, c := range s.Clusters {
		applied := int64(0)
		if a := c.Applied; a != nil {
			applied = a.Generation
			if a.Code != "" && r.ErrorMessage == "" {
				r.ErrorMessage = a.Message
			}
		}
		one := ledger.Status{Generation: s.Generation, Deleted: s.Deleted, Clusters: s.Clusters[i : i+1]}
		if one.SummaryState() == "synced" {
			r.ClustersSynced++
		}
		observed := c.Observed
		if i == 0 {
			r.AppliedGeneration, r.CurrentGeneration = &applied, &observed
			continue
		}
		*r.AppliedGeneration, *r.CurrentGeneration = min(*r.AppliedGeneration, applied), min(*r.CurrentGeneration, observed)
	}
}

// byID finds the object of a resource; NotFound.
func (s *server) byID(ctx context.Context, id string) (ledger.Object, error) {
	list, err := s.Ledger.Objects(ctx, ledger.ObjectsQuery{ID: id, Limit: 1, Contents: true, Deleted: true})
	if err != nil {
		return ledger.Object{}, err
	}
	if id == "" || len(list.Objects) == 0 {
		return ledger.Object{}, notFound(id)
	}
	return list.Objects[0], nil
}

func notFound(id string) error {
	return &ledger.Error{Code: ledger.NotFound, Object: "resource " + id, Message: "not found"}
}

// buildDesired is the object that a request wants. Kontrol's clients send as desired_spec either the object, with or
// without its metadata, or its spec alone. Names that the request has apart from it count, and must agree with it.
func buildDesired(q request, now map[string]any) (map[string]any, error) {
	var object map[string]any
	if err := utiljson.Unmarshal(q.DesiredSpec, &object); err != nil || object == nil {
		return nil, invalidError("desired_spec", "is not a JSON object", "send the object, or its spec")
	}
	if !isObject(object) {
		object = map[string]any{"spec": object}
	}
	before, _ := now["metadata"].(map[string]any)
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		for name, value := range before {
			meta[name] = value
		}
		object["metadata"] = meta
	}
	for _, field := range []struct {
		in                  map[string]any
		name, asked, before string
	}{
		{object, "apiVersion", q.APIVersion, asString(now["apiVersion"])},
		{object, "kind", q.Kind, asString(now["kind"])},
		{meta, "namespace", q.Namespace, asString(before["namespace"])},
		{meta, "name", q.Name, asString(before["name"])},
	} {
		stated, asked := asString(field.in[field.name]), field.asked
		if asked == "" {
			asked = field.before
		}
		if stated != "" && asked != "" && stated != asked {
			return nil, invalidError(field.name, "is "+stated+" in desired_spec, but "+asked+" is asked for", "make them agree")
		}
		if stated == "" && asked != "" {
			field.in[field.name] = asked
		}
	}
	return object, nil
}

// isObject tells an object from a spec alone.
func isObject(o map[string]any) bool {
	for _, field := range []string{"apiVersion", "kind", "metadata", "spec"} {
		if _, ok := o[field]; ok {
			return true
		}
	}
	return false
}

func asString(v any) string {
	s, _ := v.(string)
	return s
}

func invalidError(field, message, fix string) error {
	return &ledger.Error{Code: ledger.Invalid, Field: field, Message: message, Fix: fix}
}

// editOf is the edit that makes an object as desired.
func editOf(target string, object map[string]any) (ledger.Edit, error) {
	if target == "" {
		target = ledger.DefaultTarget
	}
	key, content, err := ledger.ContentOf(target, object)
	if err != nil {
		return ledger.Edit{}, err
	}
	return ledger.Edit{Key: key, Content: content}, rest.RefuseRedacted(key, content)
}
