package compat

import (
	"net/http"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/rest"
)

// maxTries is how often an update is made again because somebody else wrote meanwhile: the last writer wins.
const maxTries = 10

func (s *server) createResource(w http.ResponseWriter, r *http.Request, who ledger.Caller) (int, any, error) {
	if err := s.newGuard().MayAny(r.Context(), attemptOf(r, who), ledger.MayWrite); err != nil {
		return 0, nil, err
	}
	var q request
	done, err := s.readBody(w, r, who, &q)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	if q.Revision != 0 {
		return 0, nil, invalidError("revision", "can't be chosen: the first one is 1", "leave it out")
	}
	object, err := buildDesired(q, nil)
	if err != nil {
		return 0, nil, err
	}
	e, err := editOf(q.ClusterID, object)
	if err != nil {
		return 0, nil, err
	}
	if _, err := s.newGuard().MayWrite(r.Context(), attemptOf(r, who), e.Key); err != nil {
		return 0, nil, err
	}
	e.Expect = new(int64)
	o, err := s.commitEdit(r, who, ledger.MayWrite, ledger.Draft{Edits: []ledger.Edit{e}})
	return http.StatusCreated, pendingResource(o), err
}

// pendingResource answers a write: without the content, which its writer may not be let read.
func pendingResource(o ledger.Object) resource {
	out := resourceOf(o)
	if o.IsSecret() { // which revision has these values is for who may read it
		out.Revision = out.Generation
	}
	out.DesiredSpec, out.Status = nil, "pending"
	return out
}

// commitEdit makes a change of one edit if the caller has a permission, and answers the object as it is then.
func (s *server) commitEdit(
	r *http.Request, who ledger.Caller, p ledger.Permission, d ledger.Draft,
) (ledger.Object, error) {
	d.Author, d.Via, d.Direct = who.Subject, "kontrol API", true
	var err error
	if d.Blind, err = s.newGuard().IsBlind(r.Context(), who, d.Edits); err != nil {
		return ledger.Object{}, err
	}
	if s.Admit != nil {
		admitted, err := s.Admit.Admit(r.Context(), d)
		if err != nil {
			return ledger.Object{}, err
		}
		for _, e := range rest.KeepMovedEdits(d, admitted).Edits { // what is meant is another object than was stated
			if err := s.checkPermission(r, who, p, e.Key); err != nil {
				return ledger.Object{}, err
			}
		}
		d = admitted
	}
	c, err := s.Ledger.Commit(r.Context(), d)
	if err != nil {
		return ledger.Object{}, s.newGuard().NoteDenial(r.Context(), attemptOf(r, who), p, err)
	}
	return s.Ledger.Object(r.Context(), d.Edits[0].Key, c.Number)
}

func (s *server) getResource(_ http.ResponseWriter, r *http.Request, who ledger.Caller) (int, any, error) {
	o, err := s.byID(r.Context(), r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	if err := s.checkPermission(r, who, ledger.MayRead, o.Key); err != nil {
		return 0, nil, err
	}
	list, err := s.Ledger.Status(r.Context(), ledger.StatusQuery{Keys: []ledger.Key{o.Key}})
	if err != nil {
		return 0, nil, err
	}
	out, there := resourceOf(o), !o.IsDeleted()
	for _, status := range list {
		out.addStatus(status)
		for _, c := range status.Clusters {
			there = there || c.Applied != nil || !c.Due.IsZero()
		}
	}
	if !there {
		return 0, nil, notFound(o.ID) // its history is kept
	}
	return http.StatusOK, out, nil
}

func (s *server) listResources(_ http.ResponseWriter, r *http.Request, who ledger.Caller) (int, any, error) {
	q := ledger.ObjectsQuery{Target: r.URL.Query().Get("cluster_id"), Limit: 1000, Contents: true}
	out := struct {
		Resources []resource `json:"resources"`
		Total     int        `json:"total"`
	}{Resources: []resource{}}
	for {
		page, err := s.Ledger.Objects(r.Context(), q)
		if err != nil {
			return 0, nil, err
		}
		for _, o := range page.Objects {
			ok, err := s.newGuard().IsAllowed(r.Context(), who, ledger.MayRead, o.Key)
			if err != nil {
				return 0, nil, err
			}
			if ok {
				one := resourceOf(o)
				one.DesiredSpec = nil
				out.Resources = append(out.Resources, one)
			}
		}
		if !page.More || len(page.Objects) == 0 {
			out.Total = len(out.Resources)
			return http.StatusOK, out, nil
		}
		q.At, q.After = page.At, &page.Objects[len(page.Objects)-1].Key
	}
}

func (s *server) updateResource(w http.ResponseWriter, r *http.Request, who ledger.Caller) (int, any, error) {
	if _, err := s.mayEdit(r, who, ledger.MayWrite); err != nil {
		return 0, nil, err
	}
	var q request
	done, err := s.readBody(w, r, who, &q)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	if (len(q.DesiredSpec) == 0) == (q.Revision == 0) {
		return 0, nil, invalidError("revision", "state either desired_spec or the revision to go back to",
			"leave the other out: the ledger chooses the revision of a new spec")
	}
	if q.Revision < 0 {
		return 0, nil, invalidError("revision", "is no revision", "name one that the resource had: they begin with 1")
	}
	return s.editWithRetry(r, who, ledger.MayWrite, func(now ledger.Object) (ledger.Edit, error) {
		if q.Revision != 0 {
			return ledger.Edit{Key: now.Key, Revision: q.Revision}, nil
		}
		object, err := now.Content.DecodeObject()
		if err != nil {
			return ledger.Edit{}, err
		}
		if object, err = buildDesired(q, object); err != nil {
			return ledger.Edit{}, err
		}
		e, err := editOf(now.Target, object)
		if err == nil && e.Key != now.Key {
			return e, invalidError("desired_spec", "is another object: "+e.Key.String(), "create that one with POST")
		}
		return e, err
	})
}

func (s *server) deleteResource(_ http.ResponseWriter, r *http.Request, who ledger.Caller) (int, any, error) {
	_, body, err := s.editWithRetry(r, who, ledger.MayDelete, func(now ledger.Object) (ledger.Edit, error) {
		return ledger.Edit{Key: now.Key, Delete: true}, nil
	})
	if err != nil {
		return 0, nil, err
	}
	out := body.(resource)
	out.Status, out.Message = "deleting", "Resource marked for deletion"
	return http.StatusAccepted, out, nil
}

// mayEdit is the object of the path, if the caller may write or delete it.
func (s *server) mayEdit(r *http.Request, who ledger.Caller, p ledger.Permission) (ledger.Object, error) {
	now, err := s.byID(r.Context(), r.PathValue("id"))
	if err != nil {
		return now, err
	}
	if p == ledger.MayWrite {
		_, err = s.newGuard().MayWrite(r.Context(), attemptOf(r, who), now.Key)
	} else {
		err = s.checkPermission(r, who, p, now.Key)
	}
	return now, err
}

// editWithRetry edits a resource that is there, and does so anew if somebody else wrote meanwhile.
func (s *server) editWithRetry(r *http.Request, who ledger.Caller, p ledger.Permission,
	edit func(now ledger.Object) (ledger.Edit, error)) (int, any, error) {
	for try := 1; ; try++ {
		now, err := s.mayEdit(r, who, p)
		if err != nil {
			return 0, nil, err
		}
		if now.IsDeleted() {
			return 0, nil, notFound(now.ID)
		}
		e, err := edit(now)
		if err != nil {
			return 0, nil, err
		}
		e.Expect = &now.Generation
		verb := ledger.Apply
		switch {
		case e.Delete:
			verb = ledger.Delete
		case e.Revision != 0:
			verb = ledger.Rollback
		}
		o, err := s.commitEdit(r, who, p, ledger.Draft{Edits: []ledger.Edit{e}, Verb: verb})
		if ledger.CodeOf(err) == ledger.Stale && try < maxTries {
			continue
		}
		return http.StatusOK, pendingResource(o), err
	}
}
