package client

import (
	"context"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/wire"
)

// Targets implements ledger.Registry.
func (c *Client) Targets(ctx context.Context) ([]ledger.Target, error) {
	var answer struct {
		Targets []ledger.Target `json:"targets"`
	}
	err := c.doRequest(ctx, getRequest("targets"), &answer)
	return answer.Targets, err
}

// SetTarget implements ledger.Registry. The token says who does it, as in all methods that follow.
func (c *Client) SetTarget(ctx context.Context, t ledger.Target, _ string) error {
	return c.doRequest(ctx, putRequest(t, "targets", t.Name), nil)
}

// Clusters implements ledger.Registry.
func (c *Client) Clusters(ctx context.Context) ([]ledger.Cluster, error) {
	var answer struct {
		Clusters []ledger.Cluster `json:"clusters"`
	}
	err := c.doRequest(ctx, getRequest("clusters"), &answer)
	return answer.Clusters, err
}

// SetCluster implements ledger.Registry.
func (c *Client) SetCluster(ctx context.Context, k ledger.Cluster, _ string) error {
	return c.doRequest(ctx, putRequest(k, "clusters", k.Name), nil)
}

// DeleteCluster implements ledger.Registry.
func (c *Client) DeleteCluster(ctx context.Context, name, _ string) error {
	return c.doRequest(ctx, deleteRequest("clusters", name), nil)
}

// Tokens implements ledger.Access.
func (c *Client) Tokens(ctx context.Context) ([]ledger.Token, error) {
	var answer struct {
		Tokens []wire.Token `json:"tokens"`
	}
	err := c.doRequest(ctx, getRequest("tokens"), &answer)
	var list []ledger.Token
	for _, t := range answer.Tokens {
		list = append(list, tokenOf(t))
	}
	return list, err
}

func tokenOf(t wire.Token) ledger.Token {
	return ledger.Token{Name: t.Name, Subject: t.Subject, Groups: t.Groups, Cluster: t.Cluster, Made: t.Made,
		Expires: t.Expires}
}

// Token implements ledger.Access.
func (c *Client) Token(ctx context.Context, hash string) (ledger.Token, error) {
	if hash == "" {
		return ledger.Token{}, &ledger.Error{Code: ledger.NotFound, Message: "no such token"}
	}
	var found wire.Token
	if err := c.doRequest(ctx, getRequest("tokens", "by-hash", hash), &found); err != nil {
		return ledger.Token{}, err
	}
	t := tokenOf(found)
	t.Hash = hash
	return t, nil
}

// SetToken implements ledger.Access.
func (c *Client) SetToken(ctx context.Context, t ledger.Token, _ string) error {
	return c.doRequest(ctx, putRequest(wire.TokenBody{Subject: t.Subject, Groups: t.Groups, Cluster: t.Cluster,
		Expires: t.Expires,
		Hash:    t.Hash}, "tokens", t.Name), nil)
}

// DeleteToken implements ledger.Access.
func (c *Client) DeleteToken(ctx context.Context, name, _ string) error {
	return c.doRequest(ctx, deleteRequest("tokens", name), nil)
}

// Grants implements ledger.Access.
func (c *Client) Grants(ctx context.Context) ([]ledger.Grant, error) {
	var answer struct {
		Grants []ledger.Grant `json:"grants"`
	}
	err := c.doRequest(ctx, getRequest("grants"), &answer)
	return answer.Grants, err
}

// SetGrant implements ledger.Access.
func (c *Client) SetGrant(ctx context.Context, g ledger.Grant, _ string) error {
	return c.doRequest(ctx, putRequest(g, "grants", g.Name), nil)
}

// DeleteGrant implements ledger.Access.
func (c *Client) DeleteGrant(ctx context.Context, name, _ string) error {
	return c.doRequest(ctx, deleteRequest("grants", name), nil)
}

// Deny implements ledger.Access.
func (c *Client) Deny(ctx context.Context, d ledger.Denial) error {
	return c.doRequest(ctx, postRequest(wire.DenialBody{Subject: d.Subject, Permission: d.Permission, Object: d.Object,
		Request: d.Request, Missed: d.Missed}, "denials"), nil)
}

// Denials implements ledger.Access.
func (c *Client) Denials(ctx context.Context, q ledger.Page) ([]ledger.Denial, error) {
	var answer struct {
		Denials []ledger.Denial `json:"denials"`
	}
	err := c.doRequest(ctx, getRequest("denials").withQuery("limit", q.Limit).withQuery("after", q.After), &answer)
	return answer.Denials, err
}

// RegistryLog implements ledger.Access.
func (c *Client) RegistryLog(ctx context.Context, q ledger.Page) ([]ledger.RegistryEntry, error) {
	var answer struct {
		Entries []ledger.RegistryEntry `json:"entries"`
	}
	err := c.doRequest(ctx, getRequest("registry-log").withQuery("limit", q.Limit).withQuery("after", q.After), &answer)
	return answer.Entries, err
}

// Verify implements ledger.Access.
func (c *Client) Verify(ctx context.Context) (v ledger.Verification, err error) {
	return v, c.doRequest(ctx, getRequest("verify"), &v)
}
