package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/auth"
	"cardea.dev/cardea/internal/ledger/wire"
)

// registerAccess are the endpoints of administrators. The operations that change who may do what make Callers forget
// what they remember, if they do (a method Forget).
func registerAccess(s *server, api huma.API) {
	admins := map[string]any{checkKey: bodyCheck(checkAdmin)}
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/tokens", Summary: "List tokens"}, s.listTokens)
	addOperation(s, api, huma.Operation{Method: http.MethodPut, Path: "/tokens/{name}", Summary: "Put token",
		Description: "Answers the token, once, unless its hash was sent.", Metadata: admins}, s.putToken)
	addOperation(s, api, huma.Operation{Method: http.MethodDelete, Path: "/tokens/{name}", Summary: "Delete token"},
		s.deleteToken)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/tokens/by-hash/{hash}", Summary: "Find token"},
		s.findToken)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/grants", Summary: "List grants"}, s.listGrants)
	addOperation(s, api, huma.Operation{Method: http.MethodPut, Path: "/grants/{name}", Summary: "Put grant",
		Metadata: admins},
		s.putGrant)
	addOperation(s, api, huma.Operation{Method: http.MethodDelete, Path: "/grants/{name}", Summary: "Delete grant"},
		s.deleteGrant)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/denials", Summary: "List denials"}, s.listDenials)
	addOperation(s, api, huma.Operation{Method: http.MethodPost, Path: "/denials", Summary: "Note denial",
		Description: "For a program that decides by this ledger who may do what.", Metadata: admins}, s.postDenial)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/registry-log", Summary: "List edits of registry",
		Description: "Who set or deleted targets, clusters, tokens and grants."}, s.listRegistryLog)
	addOperation(s, api, huma.Operation{Method: http.MethodGet, Path: "/verify", Summary: "Verify",
		Description: "Computes all digests anew."}, s.verifyLedger)
}

// mayAdmin refuses who may not administer.
func (s *server) mayAdmin(ctx context.Context) error {
	return s.checkPermission(ctx, ledger.MayAdmin, ledger.Key{})
}

func (s *server) forgetGrants() {
	if f, ok := s.Callers.(interface{ ForgetGrants() }); ok {
		f.ForgetGrants()
	}
}

type tokenList struct {
	Body struct {
		Tokens []wire.Token `json:"tokens"`
	}
}

func tokenOf(t ledger.Token) wire.Token {
	return wire.Token{Name: t.Name, Subject: t.Subject, Groups: t.Groups, Cluster: t.Cluster, Made: t.Made,
		Expires: t.Expires}
}

func (s *server) listTokens(ctx context.Context, _ *struct{}) (*tokenList, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	list, err := s.Ledger.Tokens(ctx)
	out := &tokenList{}
	out.Body.Tokens = []wire.Token{}
	for _, t := range list {
		out.Body.Tokens = append(out.Body.Tokens, tokenOf(t))
	}
	return out, err
}

type minted struct {
	CacheControl string `header:"Cache-Control"`
	Body         struct {
		Token string `json:"token,omitempty" doc:"The bearer token. It is not kept, and never shown again"`
	}
}

func (s *server) putToken(ctx context.Context, in *struct {
	Name string `path:"name" maxLength:"253"`
	Body wire.TokenBody
}) (*minted, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	b, out := in.Body, &minted{CacheControl: "no-store"}
	if (b.Subject == "") == (b.Cluster == "") {
		return nil, &ledger.Error{Code: ledger.Invalid, Object: "token " + in.Name, Field: "subject",
			Message: "a token has either a subject or a cluster", Fix: "state one of them"}
	}
	if b.Hash == "" {
		out.Body.Token, b.Hash = auth.MintToken()
	}
	err := s.Ledger.SetToken(ctx, ledger.Token{Name: in.Name, Subject: b.Subject, Groups: b.Groups, Cluster: b.Cluster,
		Hash: b.Hash, Expires: b.Expires}, requestInfoOf(ctx).caller.Subject)
	if err != nil {
		return nil, err
	}
	s.forgetGrants()
	return out, nil
}

func (s *server) deleteToken(ctx context.Context, in *struct {
	Name string `path:"name"`
}) (*noBody, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	defer s.forgetGrants()
	return nil, s.Ledger.DeleteToken(ctx, in.Name, requestInfoOf(ctx).caller.Subject)
}

type oneToken struct{ Body wire.Token }

func (s *server) findToken(ctx context.Context, in *struct {
	Hash string `path:"hash"`
}) (*oneToken, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	t, err := s.Ledger.Token(ctx, in.Hash)
	return &oneToken{tokenOf(t)}, err
}

type grantList struct {
	Body struct {
		Grants []ledger.Grant `json:"grants"`
	}
}

func (s *server) listGrants(ctx context.Context, _ *struct{}) (*grantList, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	list, err := s.Ledger.Grants(ctx)
	out := &grantList{}
	out.Body.Grants = list
	return out, err
}

func (s *server) putGrant(ctx context.Context, in *struct {
	Name string `path:"name" maxLength:"253"`
	Body ledger.Grant
}) (*noBody, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	if in.Body.Name != in.Name {
		return nil, otherName("grant")
	}
	if err := auth.CheckGrant(in.Body, s.Groups); err != nil {
		return nil, err
	}
	defer s.forgetGrants()
	return nil, s.Ledger.SetGrant(ctx, in.Body, requestInfoOf(ctx).caller.Subject)
}

func (s *server) deleteGrant(ctx context.Context, in *struct {
	Name string `path:"name"`
}) (*noBody, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	defer s.forgetGrants()
	return nil, s.Ledger.DeleteGrant(ctx, in.Name, requestInfoOf(ctx).caller.Subject)
}

type denialList struct {
	Body struct {
		Denials []ledger.Denial `json:"denials"`
	}
}

func (s *server) listDenials(ctx context.Context, in *struct {
	Limit int   `query:"limit" minimum:"0" maximum:"1000"`
	After int64 `query:"after" minimum:"0" doc:"The last number of the page before"`
}) (*denialList, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	list, err := s.Ledger.Denials(ctx, ledger.Page{Limit: in.Limit, After: in.After})
	out := &denialList{}
	out.Body.Denials = list
	return out, err
}

func (s *server) postDenial(ctx context.Context, in *struct{ Body wire.DenialBody }) (*noBody, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	b := in.Body
	return nil, s.Ledger.Deny(ctx, ledger.Denial{Subject: b.Subject, Permission: b.Permission, Object: b.Object,
		Request: b.Request, Missed: b.Missed})
}

type registryLog struct {
	Body struct {
		Entries []ledger.RegistryEntry `json:"entries"`
	}
}

func (s *server) listRegistryLog(ctx context.Context, in *struct {
	Limit int   `query:"limit" minimum:"0" maximum:"1000"`
	After int64 `query:"after" minimum:"0" doc:"The last number of the page before"`
}) (*registryLog, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	list, err := s.Ledger.RegistryLog(ctx, ledger.Page{Limit: in.Limit, After: in.After})
	out := &registryLog{}
	out.Body.Entries = list
	return out, err
}

type verification struct{ Body ledger.Verification }

func (s *server) verifyLedger(ctx context.Context, _ *struct{}) (*verification, error) {
	if err := s.mayAdmin(ctx); err != nil {
		return nil, err
	}
	v, err := s.Ledger.Verify(ctx)
	return &verification{v}, err
}
