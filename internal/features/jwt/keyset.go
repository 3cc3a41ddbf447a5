package jwt

import (
	"errors"
	"fmt"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"cardea.dev/cardea/extend"
)

const (
	// defaultRefresh is the time after which a key set is fetched again.
	defaultRefresh = 5 * time.Minute
	// fetchTimeout is how long proxies wait for a key set.
	fetchTimeout = 5 * time.Second
)

// readKeys finds keys, in the words of Envoy.
func (s *KeySet) readKeys(r extend.Reader) (keys Keys) {
	if s == nil {
		r.Refuse("state its keys in jwks")
		return keys
	}
	r = r.Field("jwks")
	switch {
	case s.Remote != nil:
		return s.Remote.readKeys(r.Field("remote"))
	case s.SecretRef != nil:
		of := extend.OfSecret(*s.SecretRef)
		if r = r.Field("secretRef"); of.Kind != "Secret" {
			r.Refuse(fmt.Sprintf("kind %s is not supported; use a Secret", of.Kind))
			return keys
		}
		keys.Text = keysOfEntry(r, of, "jwks")
	case s.ConfigMapRef != nil:
		keys.Text = keysOfEntry(r.Field("configMapRef"), extend.OfConfigMap(s.ConfigMapRef.Name), s.ConfigMapRef.Key)
	default:
		if text, found := r.Text(extend.TextSource{Inline: s.Inline}); found {
			keys.Text = usableKeys(r, text)
		}
	}
	return keys
}

// keysOfEntry are the keys of an entry of a ConfigMap or a Secret.
func keysOfEntry(r extend.Reader, of gatewayv1.ObjectReference, key string) string {
	content, found := r.Entry(of, key, isKeySet)
	if !found {
		return ""
	}
	return usableKeys(r, string(content))
}

// isKeySet tells why a text is no key set with a key that can be used. An empty set is no mistake: nobody's tokens
// count.
func isKeySet(text []byte) error {
	if _, _, err := parseKeys(string(text)); !errors.Is(err, errNoKeys) {
		return err
	}
	return nil
}

// readKeys finds what was fetched, or says how proxies have to fetch it.
func (s *Remote) readKeys(r extend.Reader) (keys Keys) {
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
	content, state := r.Field("url").Fetch(keys.Document, isKeySet)
	switch state {
	case extend.Known:
		keys.Text = usableKeys(r, string(content))
	case extend.Absent:
		r.Field("url").Pending("its server has no document at this URL, so requests get 503; write the provider's jwks_uri")
	}
	return keys
}

// usableKeys are the keys of a set that Envoy can use.
func usableKeys(r extend.Reader, text string) string {
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
