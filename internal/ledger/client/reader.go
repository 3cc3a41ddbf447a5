package client

import (
	"context"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Head implements ledger.Reader.
func (c *Client) Head(ctx context.Context) (h ledger.Head, err error) {
	return h, c.doRequest(ctx, getRequest("head"), &h)
}

// Change implements ledger.Reader.
func (c *Client) Change(ctx context.Context, number int64) (ledger.Change, error) {
	var seen ledger.Change
	err := c.doRequest(ctx, getRequest("changes", fmt.Sprint(number)), &seen)
	return seen, err
}

// Changes implements ledger.Reader.
func (c *Client) Changes(ctx context.Context, q ledger.ChangesQuery) (ledger.Changes, error) {
	r := getRequest("changes").withQuery("author", q.Author).withQuery("limit", q.Limit).withQuery("after",
		q.After).withQuery("oldest", q.Oldest)
	if k := q.Object; k != nil {
		r = r.withQuery("target", k.Target).withQuery("kind", kindOf(*k)).withQuery("namespace",
			k.Namespace).withQuery("name", k.Name)
	}
	var page wire.ChangePage
	err := c.doRequest(ctx, r, &page)
	for err == nil && page.More && len(page.Changes) == 0 { // the server looked at many, and the caller may see none
		next := page.Next
		page = wire.ChangePage{}
		r.query.Set("after", fmt.Sprint(next))
		err = c.doRequest(ctx, r, &page)
	}
	return ledger.Changes{Changes: page.Changes, More: page.More}, err
}

// kindOf is how paths name a kind.
func kindOf(k ledger.Key) string {
	if k.Group == "" {
		return k.Kind
	}
	return k.Kind + "." + k.Group
}

func pathOf(k ledger.Key, more ...string) []string {
	namespace := k.Namespace
	if namespace == "" {
		namespace = "-"
	}
	return append([]string{"targets", k.Target, "objects", kindOf(k), namespace, k.Name}, more...)
}

// Object implements ledger.Reader.
func (c *Client) Object(ctx context.Context, key ledger.Key, at int64) (o ledger.Object, err error) {
	if key.Target == "" || key.Kind == "" || key.Name == "" {
		return o, &ledger.Error{Code: ledger.NotFound, Object: key.String(), Message: "is not in the ledger"}
	}
	return o, c.doRequest(ctx, getRequest(pathOf(key)...).withQuery("at", at).withQuery("deleted", true), &o)
}

// Objects implements ledger.Reader.
func (c *Client) Objects(ctx context.Context, q ledger.ObjectsQuery) (list ledger.Objects, err error) {
	r := postRequest(wire.ObjectsQuery{Target: q.Target, Group: q.Group, Kind: q.Kind, Namespace: q.Namespace, ID: q.ID,
		Keys: q.Keys, At: q.At, Limit: q.Limit, After: q.After, Contents: q.Contents, Deleted: q.Deleted}, "objects", "query")
	r.repeatable = true
	var page wire.ObjectList
	err = c.doRequest(ctx, r, &page)
	return page.Objects, err
}

// History implements ledger.Reader.
func (c *Client) History(ctx context.Context, key ledger.Key, q ledger.Page) ([]ledger.Object, error) {
	var h wire.History
	err := c.doRequest(ctx, getRequest(pathOf(key, "history")...).withQuery("limit", q.Limit).withQuery("after", q.After),
		&h)
	return h.Generations, err
}
