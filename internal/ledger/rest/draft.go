package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

const wholeObject = "send the whole object: apiVersion, kind, metadata with its name, and the rest"

// contentIn is the object that a body has: the body itself, or the member content of what a GET answered.
func contentIn(body ledger.Content) ledger.Content {
	var is struct {
		APIVersion json.RawMessage `json:"apiVersion"`
		Target     json.RawMessage `json:"target"`
		Content    ledger.Content  `json:"content"`
	}
	if json.Unmarshal(body, &is) == nil && is.APIVersion == nil && is.Target != nil && is.Content != nil {
		return is.Content
	}
	return body
}

// editFromContent makes an edit of an object as a client sent it. Its content must be of the object that is named, as
// far as one is.
func editFromContent(named ledger.Key, sent ledger.Content) (ledger.Edit, error) {
	invalid := func(field, message, fix string) (ledger.Edit, error) {
		return ledger.Edit{}, &ledger.Error{Code: ledger.Invalid, Object: named.String(), Field: field, Message: message,
			Fix: fix}
	}
	if len(sent) > BodyBytes {
		return ledger.Edit{}, &ledger.Error{Code: ledger.TooLarge, Object: named.String(), Field: "content",
			Message: "an object may have 4 MiB", Fix: "no API server takes more; make several objects of it"}
	}
	var object map[string]any
	if err := utiljson.Unmarshal(sent, &object); err != nil || object == nil {
		return invalid("content", "is not a JSON object", wholeObject)
	}
	if _, ok := object["metadata"].(map[string]any); !ok {
		return invalid("metadata", "is missing, or not an object", wholeObject)
	}
	if named.Target == "" {
		named.Target = ledger.DefaultTarget
	}
	key, content, err := ledger.ContentOf(named.Target, object)
	if err != nil {
		return ledger.Edit{}, err
	}
	for _, part := range []struct{ field, named, is string }{
		{"apiVersion", named.Group, key.Group}, {"kind", named.Kind, key.Kind},
		{"metadata.namespace", named.Namespace, key.Namespace}, {"metadata.name", named.Name, key.Name},
	} {
		if named.Kind != "" && part.named != part.is {
			return invalid(part.field, "is of "+key.String()+" (group \""+key.Group+"\"), but the request names another object",
				"make them agree")
		}
	}
	return ledger.Edit{Key: key, Content: content}, RefuseRedacted(key, content)
}

// draftFromBody is the draft that a body states, with the groups that its kinds have.
func (s *server) draftFromBody(ctx context.Context, body wire.Draft, request string) (ledger.Draft, error) {
	a := requestInfoOf(ctx)
	if body.Back != nil {
		back := *body.Back
		back.Objects = slices.Clone(back.Objects)
		for i, o := range back.Objects {
			back.Objects[i] = wire.ObjectName(s.withGroup(ledger.Key(o)))
		}
		body.Back = &back
	}
	body.Edits = slices.Clone(body.Edits)
	for i := range body.Edits {
		e := &body.Edits[i]
		k := s.withGroup(ledger.Key{Group: e.Group, Kind: e.Kind})
		e.Group, e.Kind = k.Group, k.Kind
	}
	return draftOf(body, a.caller.Subject, a.agent, request)
}

// draftOf is the draft that a body states. The author is the sender, whatever the body says. It is a pure function.
func draftOf(body wire.Draft, author, agent, request string) (ledger.Draft, error) {
	d := ledger.Draft{Author: author, Via: body.Via, Message: body.Message, Verb: body.Verb, Of: body.Of,
		Request: request, Head: body.Head, Release: body.Release, Hold: holdOf(body.Hold, author), DryRun: body.DryRun,
		Deletions: body.Deletions}
	if d.Via == "" {
		d.Via = agent
	}
	if body.Back != nil {
		d.Back = &ledger.Back{Shared: body.Back.Shared}
		for _, o := range body.Back.Objects {
			d.Back.Objects = append(d.Back.Objects, withTarget(ledger.Key(o)))
		}
	}
	if body.Edits == nil && body.Back == nil {
		return d, &ledger.Error{Code: ledger.Invalid, Field: "edits", Message: "are not stated",
			Fix: "state them, or back for an undo or a rollback"}
	}
	if len(body.Edits) > ledger.MaxEdits {
		return d, &ledger.Error{Code: ledger.TooLarge, Field: "edits", Message: "are more than 20,000",
			Fix: "make several changes of them"}
	}
	for _, e := range body.Edits {
		key := withTarget(ledger.Key{Target: e.Target, Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name})
		stated := 0
		for _, is := range []bool{len(e.Content) > 0, e.Revision != 0, e.Delete} {
			if is {
				stated++
			}
		}
		switch {
		case stated != 1:
			return d, &ledger.Error{Code: ledger.Invalid, Object: key.String(), Field: "content",
				Message: "an edit states one of content, revision and delete", Fix: "state one of them"}
		case len(e.Content) == 0 && (key.Kind == "" || key.Name == ""):
			return d, &ledger.Error{Code: ledger.Invalid, Field: "kind", Message: "an edit without content must name its object",
				Fix: "state group, kind, namespace and name"}
		}
		made := ledger.Edit{Key: key, Revision: e.Revision, Delete: e.Delete}
		if len(e.Content) > 0 {
			var err error
			if made, err = editFromContent(key, e.Content); err != nil {
				return d, err
			}
		}
		made.Expect = e.Expect
		d.Edits = append(d.Edits, made)
	}
	return d, nil
}

// withTarget is a key with the target that is meant.
func withTarget(k ledger.Key) ledger.Key {
	k.Target = cmp.Or(k.Target, ledger.DefaultTarget)
	return k
}

func holdOf(h *wire.HoldBody, by string) *ledger.Hold {
	if h == nil {
		return nil
	}
	return &ledger.Hold{By: by, Why: h.Why, Until: h.Until}
}

// mergePatch patches a content (RFC 7396): null removes, objects are merged, all else is replaced.
func mergePatch(content, patch ledger.Content) (ledger.Content, error) {
	var now, change map[string]any
	if err := utiljson.Unmarshal(content, &now); err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(patch, &change); err != nil || change == nil {
		return nil, &ledger.Error{Code: ledger.Invalid, Message: "a merge patch is a JSON object",
			Fix: "send the fields that change; null removes one"}
	}
	return json.Marshal(mergeValues(now, change))
}

func mergeValues(now, patch map[string]any) map[string]any {
	if now == nil {
		now = map[string]any{}
	}
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(now, name)
		case map[string]any:
			inner, _ := now[name].(map[string]any)
			now[name] = mergeValues(inner, value)
		default:
			now[name] = value
		}
	}
	return now
}
