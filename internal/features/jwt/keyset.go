package jwt

import (
	"errors"
	"fmt"
	"time"

	"cardea.dev/cardea/extend"
)

const (
	// defaultRefresh is the time after which a key set is fetched again.
	defaultRefresh = 5 * time.Minute
	// fetchTimeout is how long proxies wait for a key set.
	fetchTimeout = 5 * time.Second
)

// read finds keys, in the words of Envoy.
func (s *KeySet) read(r extend.Reader) (keys Keys) {
	if s == nil {
		r.Refuse("state its keys in jwks")
		return keys
	}
	r = r.Field("jwks")
	switch {
	case s.Remote != nil:
		return s.Remote.read(r.Field("remote"))
	case s.SecretRef != nil:
		r = r.Field("secretRef")
		data, found := r.Secret(*s.SecretRef)
		if !found {
			return keys
		}
		content, has := data["jwks"]
		if !has {
			r.Refuse(fmt.Sprintf("Secret %s has no entry jwks", extend.SecretName(*s.SecretRef)))
			return keys
		}
		keys.Text = usable(r, string(content))
	default:
		if text, found := r.Text(extend.TextSource{Inline: s.Inline, ConfigMapRef: s.ConfigMapRef}); found {
			keys.Text = usable(r, text)
		}
	}
	return keys
}

// read finds what was fetched, or says how proxies have to fetch it.
func (s *Remote) read(r extend.Reader) (keys Keys) {
	keys.Document = extend.Document{URL: s.URL, Refresh: defaultRefresh, Member: "keys"}
	sound := extend.ReadURL(r.Field("url"), s.URL)
	if s.Refresh != nil {
		keys.Document.Refresh = wholeSeconds(r.Field("refresh"), *s.Refresh)
		sound = sound && keys.Document.Refresh >= time.Second
	}
	if s.BackendRef != nil {
		through, found := r.Field("backendRef").Backend(*s.BackendRef)
		keys.Document.Through, sound = through, sound && found
	}
	if s.FetchedBy == ByProxy {
		if s.BackendRef == nil {
			r.Field("fetchedBy").Refuse("a proxy fetches from backends only; state backendRef, or fetchedBy: Controller")
		}
		return keys
	}
	if !sound {
		return keys
	}
	content, state := r.Field("url").Fetch(keys.Document)
	switch state {
	case extend.Known:
		keys.Text = usable(r, string(content))
	case extend.Absent:
		r.Field("url").Pending("its server says that there is nothing; requests get 503 until there is")
	}
	return keys
}

// usable are the keys of a set that Envoy can use.
func usable(r extend.Reader, text string) string {
	keys, ignored, err := parseKeys(text)
	switch {
	case ignored != nil:
		r.Warn(fmt.Sprintf("keys that can't be used are ignored: %v", ignored))
	case errors.Is(err, errNoKeys):
		r.Pending(err.Error() + " yet; requests get 503 until it has some")
	case err != nil:
		r.Refuse(err.Error())
	}
	return keys
}
