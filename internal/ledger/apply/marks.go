package apply

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cardea.dev/cardea/internal/core/ledger"
)

// isMark tells whether an annotation is one of the ledger's.
func isMark(annotation string) bool { return strings.HasPrefix(annotation, ledger.AnnotationPrefix) }

// marksOf are the annotations of an object in a generation, in an epoch of its ledger; "": it is not known.
func marksOf(o ledger.Object, epoch string) map[string]any {
	marks := map[string]any{
		ledger.ObjectAnnotation:     o.ID,
		ledger.GenerationAnnotation: strconv.FormatInt(o.Generation, 10),
		ledger.RevisionAnnotation:   strconv.FormatInt(o.Revision, 10),
		ledger.ChangeAnnotation:     strconv.FormatInt(o.Change, 10),
	}
	for mark, text := range map[string]string{ledger.AuthorAnnotation: o.Author, ledger.MessageAnnotation: o.Message,
		ledger.EpochAnnotation: epoch} {
		if text != "" {
			marks[mark] = strings.ToValidUTF8(text[:min(len(text), longestMark)], "")
		}
	}
	return marks
}

// longestMark is how many bytes of a message are annotated.
const longestMark = 1024

// generationOf is the generation that an object's annotation names; 0: none.
func generationOf(object metav1.Object) int64 { return numberOf(object, ledger.GenerationAnnotation) }

func numberOf(object metav1.Object, annotation string) int64 {
	n, _ := strconv.ParseInt(object.GetAnnotations()[annotation], 10, 64)
	return n
}

// isAhead tells whether an object was written in a later generation than a claim's, by the same ledger: it was
// restored from an older backup since. In another epoch numbers mean other changes.
func isAhead(live metav1.Object, c ledger.Claim) bool {
	epoch := live.GetAnnotations()[ledger.EpochAnnotation]
	return ledger.IsLater(epoch, c.Head.Epoch) || epoch == c.Head.Epoch &&
		(generationOf(live) > c.Generation || numberOf(live, ledger.ChangeAnnotation) > c.Change)
}

// keepEpoch is what is stated, with the epoch in which the object was written: a new epoch alone is no reason to write
// all objects.
func keepEpoch(stated map[string]any, live metav1.Object) map[string]any {
	epoch := live.GetAnnotations()[ledger.EpochAnnotation]
	if epoch == "" {
		return stated
	}
	stated = copyMap(stated)
	meta, _ := stated["metadata"].(map[string]any)
	meta = copyMap(meta)
	notes, _ := meta["annotations"].(map[string]any)
	notes = copyMap(notes)
	notes[ledger.EpochAnnotation] = epoch
	meta["annotations"], stated["metadata"] = notes, meta
	return stated
}

// annotateContent is a content with the marks of its generation, as it is sent.
func annotateContent(o ledger.Object, epoch string) (map[string]any, error) {
	object, err := o.Content.DecodeObject()
	if err != nil {
		return nil, err
	}
	meta, _ := object["metadata"].(map[string]any)
	if meta == nil {
		meta = map[string]any{}
		object["metadata"] = meta
	}
	notes, _ := meta["annotations"].(map[string]any)
	if notes == nil {
		notes = map[string]any{}
		meta["annotations"] = notes
	}
	for name, value := range marksOf(o, epoch) {
		notes[name] = value
	}
	return object, nil
}

// ownerOf names who else manages an object, by the marks that Argo CD, Flux, Helm, the ledger and owner references
// leave; "" if nobody does.
func ownerOf(object metav1.Object) string {
	notes, labels := object.GetAnnotations(), object.GetLabels()
	if id := notes[ledger.ObjectAnnotation]; id != "" {
		return "a ledger, as its object " + id
	}
	for _, note := range []struct{ name, who string }{
		{"argocd.argoproj.io/tracking-id", "Argo CD"},
		{"meta.helm.sh/release-name", "Helm release"},
		{"kustomize.toolkit.fluxcd.io/name", "Flux Kustomization"},
		{"helm.toolkit.fluxcd.io/name", "Flux HelmRelease"},
		{"config.k8s.io/owning-inventory", "the inventory"},
		{"argocd.argoproj.io/instance", "Argo CD application"},
		{"app.kubernetes.io/managed-by", "the manager"},
	} {
		for _, marks := range []map[string]string{notes, labels} {
			if value := marks[note.name]; value != "" {
				return note.who + " " + value
			}
		}
	}
	for _, o := range object.GetOwnerReferences() {
		if o.Controller != nil && *o.Controller {
			return o.Kind + " " + o.Name
		}
	}
	return ""
}

// managersOf lists the field managers that wrote an object, without the ledger and status writers.
func managersOf(object metav1.Object) (names []string) {
	for _, m := range object.GetManagedFields() {
		if m.Manager != Manager && m.Subresource != "status" && !slices.Contains(names, m.Manager) {
			names = append(names, m.Manager)
		}
	}
	return names
}
