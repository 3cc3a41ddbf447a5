// Package auth finds out who makes a request to the ledger, and what they may do.
//
//	Authorization: Bearer TOKEN
//	   cardea_...               a token of the ledger, looked up by its SHA-256
//	   a JWT of an issuer       an OIDC ID token of that issuer
//	   anything else            Kubernetes is asked (TokenReview), if there is one
//
// It owns the format of tokens, the verification of ID tokens, a short memory of grants, and what is asked of an API
// server (Kubernetes). It must never know databases or the API's paths: those are handed in, as interfaces.
//
// Its methods are called by the goroutines of an http.Server. Start reading at Callers.IdentifyCaller.
package auth
