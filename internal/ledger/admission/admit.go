// Package admission decides whether a draft may become a change, by what its objects say: it does for a ledger what an
// API server does on admission.
//
// Objects of kinds that Cardea reads are checked by their schemas, rules over the old object included. Other kinds can
// be in targets with clusters only: the API servers of these are asked (Foreign). A certificate that has expired can't
// come back by an undo or a rollback.
//
// It owns no rule of a kind; package schema has those. It must never know databases or HTTP. An Admission may be used
// by many goroutines. Start reading at Admission.Admit.
package admission

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/core/schema"
)

// Reads is what an Admission asks a ledger.
type Reads interface {
	Object(ctx context.Context, key ledger.Key, at int64) (ledger.Object, error)
	History(ctx context.Context, key ledger.Key, q ledger.Page) ([]ledger.Object, error)
	Targets(ctx context.Context) ([]ledger.Target, error)
}

// Config of an Admission.
type Config struct {
	Ledger  Reads
	Catalog *kind.Catalog
	// Foreign checks an object of a kind that is not in the catalog, by a dry run in a cluster of the target. It is called
	// for targets with clusters. nil: no such object can be checked here.
	Foreign func(ctx context.Context, target ledger.Target, object map[string]any) error
	Now     func() time.Time // nil: time.Now
}

// Admission checks drafts.
type Admission struct {
	Config
	schema *schema.Schema
}

// New makes an Admission.
func New(c Config) *Admission {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Admission{Config: c, schema: schema.New(c.Catalog)}
}

// Admit returns the draft with its keys completed: objects that state no namespace are in "default" if their kind has
// namespaces. The error is a *ledger.Error about the first object that is not valid.
func (a *Admission) Admit(ctx context.Context, d ledger.Draft) (ledger.Draft, error) {
	targets, err := a.Ledger.Targets(ctx)
	if err != nil {
		return d, err
	}
	byName := map[string]ledger.Target{}
	for _, t := range targets {
		byName[t.Name] = t
	}
	d.Edits = slices.Clone(d.Edits)
	for i := range d.Edits {
		e := &d.Edits[i]
		if e.Target == "" {
			e.Target = ledger.DefaultTarget
		}
		CompleteKey(a.Catalog, &e.Key)
		target, known := byName[e.Target]
		if !known {
			return d, &ledger.Error{Code: ledger.NotFound, Object: e.Key.String(), Field: "target",
				Message: "there is no target " + e.Target, Fix: "make it with `cardea ledger target`"}
		}
		if err := a.admitEdit(ctx, target, e); err != nil {
			return d, err
		}
	}
	return d, nil
}

// CompleteKey gives a key the namespace that is meant: of kinds of the catalog, "default", or none.
func CompleteKey(catalog *kind.Catalog, k *ledger.Key) {
	declared := catalog.FindKind(model.KindOf(k.Group, k.Kind))
	switch {
	case declared == nil:
	case declared.Cluster:
		k.Namespace = ""
	case k.Namespace == "":
		k.Namespace = schema.DefaultNamespace
	}
}

func (a *Admission) admitEdit(ctx context.Context, target ledger.Target, e *ledger.Edit) error {
	switch {
	case e.Delete:
		return nil
	case e.Revision != 0:
		return a.refuseExpired(ctx, e)
	}
	object, err := e.Content.DecodeObject()
	if err != nil {
		return invalidError(e.Key, "", "is not JSON: "+err.Error())
	}
	stated, content, err := ledger.ContentOf(e.Target, object)
	if err != nil {
		return err
	}
	CompleteKey(a.Catalog, &stated)
	if stated != e.Key {
		return invalidError(e.Key, "metadata", fmt.Sprintf("the content is of another object, %s", stated))
	}
	if meta, _ := object["metadata"].(map[string]any); e.Namespace != "" && meta["namespace"] == nil {
		meta["namespace"] = e.Namespace
		if _, content, err = ledger.ContentOf(e.Target, object); err != nil {
			return err
		}
	}
	e.Content = content
	if a.Catalog.FindKind(model.KindOf(e.Group, e.Kind)) == nil {
		return a.checkForeign(ctx, target, *e, object)
	}
	return a.checkObject(ctx, *e)
}

// checkObject checks an object of a kind of the catalog.
func (a *Admission) checkObject(ctx context.Context, e ledger.Edit) error {
	object, err := e.Content.DecodeObject() // a check may change it
	if err != nil {
		return invalidError(e.Key, "", err.Error())
	}
	read, found := a.schema.Check(object, schema.Options{})
	if len(found) == 0 && read != nil && read.Old != nil {
		if old := a.oldObject(ctx, e.Key); old != nil {
			if object, err = e.Content.DecodeObject(); err != nil {
				return invalidError(e.Key, "", err.Error())
			}
			_, found = a.schema.Check(object, schema.Options{Old: old})
		}
	}
	if len(found) == 0 {
		return nil
	}
	err = invalidError(e.Key, found[0].Field, found[0].Message)
	if more := len(found) - 1; more > 0 {
		var fields []string
		for _, p := range found[1:min(len(found), 4)] {
			fields = append(fields, p.Field)
		}
		err = invalidError(e.Key, found[0].Field,
			fmt.Sprintf("%s (and %d more: %s)", found[0].Message, more, strings.Join(fields, ", ")))
	}
	return err
}

// oldObject is what rules over the old object compare with; nil: there is none.
func (a *Admission) oldObject(ctx context.Context, k ledger.Key) map[string]any {
	before, err := a.Ledger.Object(ctx, k, 0)
	if err != nil || before.IsDeleted() {
		return nil
	}
	object, err := before.Content.DecodeObject()
	if err != nil {
		return nil
	}
	if read, _ := a.schema.Check(object, schema.Options{KnownValid: true}); read != nil {
		return read.Old
	}
	return nil
}

func (a *Admission) checkForeign(
	ctx context.Context, target ledger.Target, e ledger.Edit, object map[string]any,
) error {
	switch {
	case target.Server != ledger.Clusters:
		err := invalidError(e.Key, "kind", "Cardea does not read this kind, and target "+target.Name+
			" has no cluster that could check it")
		err.Fix = "use a target with clusters; `cardea get` lists the kinds that Cardea reads"
		return err
	case a.Foreign == nil:
		err := invalidError(e.Key, "kind", "only an API server can check objects of this kind, and none is asked here")
		err.Fix = "send the change to `cardea ledger serve`"
		return err
	}
	return a.Foreign(ctx, target, object)
}

func invalidError(k ledger.Key, field, message string) *ledger.Error {
	return &ledger.Error{Code: ledger.Invalid, Object: k.String(), Field: field, Message: message}
}

// refuseExpired refuses that a certificate comes back that has expired.
func (a *Admission) refuseExpired(ctx context.Context, e *ledger.Edit) error {
	if !e.IsSecret() {
		return nil
	}
	now, err := a.Ledger.Object(ctx, e.Key, 0)
	if err != nil || now.Revision == e.Revision {
		return err // it stays as it is
	}
	was, err := a.contentAtRevision(ctx, e.Key, e.Revision)
	if err != nil || was == nil {
		return err
	}
	block, _ := pem.Decode(secretEntry(was, "tls.crt"))
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || a.Now().Before(certificate.NotAfter) {
		return nil
	}
	refused := invalidError(e.Key, "data[tls.crt]", fmt.Sprintf("the certificate of revision %d expired at %s", e.Revision,
		certificate.NotAfter.UTC().Format(time.RFC3339)))
	refused.Fix = "leave the Secret as it is, or put in a certificate that is valid"
	return refused
}

// secretEntry is an entry of a Secret; nil if there is none.
func secretEntry(secret map[string]any, name string) []byte {
	plain, _ := secret["stringData"].(map[string]any)
	if text, is := plain[name].(string); is {
		return []byte(text)
	}
	data, _ := secret["data"].(map[string]any)
	text, _ := data[name].(string)
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return decoded
}

// contentAtRevision is the content of an object's revision; nil if it is not kept.
func (a *Admission) contentAtRevision(ctx context.Context, k ledger.Key, revision int64) (map[string]any, error) {
	history, err := a.Ledger.History(ctx, k, ledger.Page{Limit: 1000})
	if err != nil {
		return nil, err
	}
	for _, o := range history {
		if o.Revision == revision && !o.Forgotten {
			was, err := a.Ledger.Object(ctx, k, o.Change)
			if err != nil {
				return nil, err
			}
			return was.DecodeContent()
		}
	}
	return nil, nil
}
