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
// it waits for Withdraw at most.

// Withdraw is how long a ReferenceGrant that no file declares is kept at most, if a file that can't be read may have
// it.
const Withdraw = Refill

// manyWithdrawn is how many ReferenceGrants that are gone are remembered.
const manyWithdrawn = 100

// missing is a ReferenceGrant that is live and that no text declares.
type missing struct {
	since time.Time // when that was seen; again, when the folder came back
	until string    // what may still have it; "" if it fades as other objects do
}

// miss takes that no text declares a ReferenceGrant any more.
func (m *merge) miss(ref model.ObjectRef) {
	if _, already := m.missed[ref]; !already {
		m.missed[ref] = missing{since: m.now}
	}
	until := m.now.Add(Hold)
	if live, _ := m.life.Known(ref); m.files[live.edit.Where] != nil && !m.refill.moved && m.awaited(ref) == nil {
		until = m.now
	}
	m.life.Fade(ref, until)
}

// wait says whether an object is a ReferenceGrant that has to be waited for. The folder was listed in this look.
func (m *merge) wait(ref model.ObjectRef) bool {
	grant, is := m.missed[ref]
	end := grant.since.Add(Withdraw)
	if !is || !m.now.Before(end) {
		return false
	}
	if grant.until = m.hides(); grant.until == "" {
		return false
	}
	m.missed[ref] = grant
	m.life.Fade(ref, end)
	return true
}

// reconsider ends the wait for ReferenceGrants that can't be anywhere any more, and for those that waited for long
// enough: the folder is listed once more before they go.
func (m *merge) reconsider() {
	if len(m.missed) == 0 || m.unread != nil {
		return
	}
	whole := m.hides() == ""
	for ref, grant := range m.missed {
		if whole && grant.until != "" || !m.now.Before(grant.since.Add(Withdraw)) {
			m.life.Fade(ref, m.now)
		}
	}
}

// hides says until when a ReferenceGrant that no file declares may yet be somewhere: what can't be read may have it, or
// a document with a mistake that may be about any object. It is "" if there is no such thing.
func (m *merge) hides() string {
	var all []string
	for path := range m.listing.broken {
		all = append(all, shown(path)+" can be read")
	}
	for path, fl := range m.files {
		if fl.problem != "" {
			all = append(all, shown(path)+" can be read")
		}
	}
	for path := range m.unsettled {
		all = append(all, shown(path)+" is written")
	}
	for fl := range m.unclear {
		all = append(all, shown(fl.path)+" is mended")
	}
	switch {
	case len(all) > 0:
		return slices.Min(all)
	case m.refill.coming || m.refill.moved:
		return "the files of the folder, which was made anew, are back"
	}
	return ""
}

// missAnew takes that the folder is back: what it does not have yet may come.
func (f *Folder) missAnew(now time.Time) {
	for ref := range f.missed {
		f.missed[ref] = missing{since: now}
	}
}

// waiting adds the problems of ReferenceGrants that wait.
func (f *Folder) waiting(add func(Problem)) {
	for ref, grant := range f.missed {
		if live, _ := f.life.Known(ref); grant.until != "" {
			add(Problem{
				File: live.edit.Where, Object: ref.String(), Ref: ref, Severity: model.Warning, Message: grant.String(),
			})
		}
	}
}

// String says what it waits for.
func (m missing) String() string {
	return fmt.Sprintf("is in no file any more; it permits what it did until %s, for %v at most", m.until, Withdraw)
}

// withdraw notes which ReferenceGrants were there until now, and which are back.
func (f *Folder) withdraw(b *flow.Batch, edits []edit) {
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
		f.sources.Withdrawn.Set(b, e.ref, input.Withdrawn{
			Spec: e.last.Spec.(*gatewayv1.ReferenceGrantSpec), Where: shown(e.last.edit.Where),
		})
		if len(f.withdrawn) > manyWithdrawn {
			f.sources.Withdrawn.Delete(b, f.withdrawn[0])
			f.withdrawn = f.withdrawn[1:]
		}
	}
}

// manyTold is how many lines of one kind a look at the folder logs at most.
const manyTold = 20

// tellWithdrawn logs which ReferenceGrants are gone.
func (f *Folder) tellWithdrawn(edits []edit) {
	told := 0
	for _, e := range edits {
		if e.ref.Kind() != model.KindReferenceGrant || e.object != nil {
			continue
		}
		if told++; told <= manyTold {
			f.log.Warn("reference grant withdrawn", "object", e.ref.String(), "file", shown(e.last.edit.Where))
		}
	}
	if told > manyTold {
		f.log.Warn("more reference grants withdrawn", "more", told-manyTold)
	}
}
