package files

import (
	"fmt"
	"slices"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/internal/core/flow"
	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// A ReferenceGrant is a permission: when it is taken back it must end, and when it is not, what needs it must not be
// broken. So it ends at once only if its document was taken out of a file while every file of the folder can be read.
// If its file was deleted or emptied it fades as all objects of that file do, since the folder may be about to go with
// it, or the file about to be written. While the folder is made anew, or a file has a mistake that may hide the grant,
// it waits for WithdrawTimeout at most.

// WithdrawTimeout is how long a ReferenceGrant that no file declares is kept at most, if a file that can't be read may
// have it.
const WithdrawTimeout = RefillTimeout

// maxWithdrawn is how many ReferenceGrants that are gone are remembered.
const maxWithdrawn = 100

// missingGrant is a ReferenceGrant that is live and that no text declares.
type missingGrant struct {
	since    time.Time // when that was seen; again, when the folder came back
	waitsFor string    // what may still have it; "" if it fades as other objects do
}

// noteMissingGrant takes that no text declares a ReferenceGrant any more.
func (m *merge) noteMissingGrant(ref model.ObjectRef) {
	if _, already := m.missingGrants[ref]; !already {
		m.missingGrants[ref] = missingGrant{since: m.now}
	}
	until := m.now.Add(Hold)
	if live, _ := m.objects.PublishedVersion(ref); m.files[live.edit.Where] != nil && !m.refill.rootMoved &&
		m.findEmptied(ref) == nil {
		until = m.now
	}
	m.objects.Fade(ref, until)
}

// awaitGrant says whether an object is a ReferenceGrant that has to be waited for. The folder was listed in this look.
func (m *merge) awaitGrant(ref model.ObjectRef) bool {
	grant, is := m.missingGrants[ref]
	end := grant.since.Add(WithdrawTimeout)
	if !is || !m.now.Before(end) {
		return false
	}
	if grant.waitsFor = m.grantHiddenUntil(); grant.waitsFor == "" {
		return false
	}
	m.missingGrants[ref] = grant
	m.objects.Fade(ref, end)
	return true
}

// recheckGrants ends the wait for ReferenceGrants that can't be anywhere any more, and for those that waited for long
// enough: the folder is listed once more before they go.
func (m *merge) recheckGrants() {
	if len(m.missingGrants) == 0 || m.readErr != nil {
		return
	}
	whole := m.grantHiddenUntil() == ""
	for ref, grant := range m.missingGrants {
		if whole && grant.waitsFor != "" || !m.now.Before(grant.since.Add(WithdrawTimeout)) {
			m.objects.Fade(ref, m.now)
		}
	}
}

// grantHiddenUntil says until when a ReferenceGrant that no file declares may yet be somewhere: what can't be read may
// have it, or a document with a mistake that may be about any object. It is "" if there is no such thing.
func (m *merge) grantHiddenUntil() string {
	var all []string
	for path := range m.listing.broken {
		all = append(all, quoteName(path)+" can be read")
	}
	for path, fl := range m.files {
		if fl.problem != "" {
			all = append(all, quoteName(path)+" can be read")
		}
	}
	for path := range m.unsettled {
		all = append(all, quoteName(path)+" is written")
	}
	for fl := range m.unclearFiles {
		all = append(all, quoteName(fl.relPath)+" is fixed")
	}
	switch {
	case len(all) > 0:
		return slices.Min(all)
	case m.refill.refilling || m.refill.rootMoved:
		return "the folder, which was created again, has its files again"
	}
	return ""
}

// resetMissingGrants takes that the folder is back: what it does not have yet may come.
func (f *Folder) resetMissingGrants(now time.Time) {
	for ref := range f.missingGrants {
		f.missingGrants[ref] = missingGrant{since: now}
	}
}

// addWaitingGrants adds the problems of ReferenceGrants that wait.
func (f *Folder) addWaitingGrants(add func(Problem)) {
	for ref, grant := range f.missingGrants {
		if live, _ := f.objects.PublishedVersion(ref); grant.waitsFor != "" {
			add(Problem{
				File: live.edit.Where, Object: ref.String(), Ref: ref, Severity: model.Warning, Message: grant.String(),
			})
		}
	}
}

// String says what it waits for.
func (m missingGrant) String() string {
	return fmt.Sprintf("is in no file any more; it stays in use until %s, for %v at most", m.waitsFor,
		WithdrawTimeout)
}

// noteWithdrawn notes which ReferenceGrants were there until now, and which are back.
func (f *Folder) noteWithdrawn(b *flow.Batch, edits []objectEdit) {
	for _, e := range edits {
		if e.ref.Kind() != model.KindReferenceGrant {
			continue
		}
		f.withdrawn = slices.DeleteFunc(f.withdrawn, func(ref model.ObjectRef) bool { return ref == e.ref })
		if e.object != nil {
			f.sources.Withdrawn.Delete(b, e.ref)
			continue
		}
		f.withdrawn = append(f.withdrawn, e.ref)
		f.sources.Withdrawn.Set(b, e.ref, input.WithdrawnGrant{
			Spec: e.deleted.Spec.(*gatewayv1.ReferenceGrantSpec), Where: quoteName(e.deleted.edit.Where),
		})
		if len(f.withdrawn) > maxWithdrawn {
			f.sources.Withdrawn.Delete(b, f.withdrawn[0])
			f.withdrawn = f.withdrawn[1:]
		}
	}
}

// maxLogLines is how many lines of one kind a look at the folder logs at most.
const maxLogLines = 20

// logWithdrawn logs which ReferenceGrants are gone.
func (f *Folder) logWithdrawn(edits []objectEdit) {
	told := 0
	for _, e := range edits {
		if e.ref.Kind() != model.KindReferenceGrant || e.object != nil {
			continue
		}
		if told++; told <= maxLogLines {
			f.log.Warn("reference grant withdrawn", "object", e.ref.String(), "file", quoteName(e.deleted.edit.Where))
		}
	}
	if told > maxLogLines {
		f.log.Warn("more reference grants withdrawn", "more", told-maxLogLines)
	}
}
