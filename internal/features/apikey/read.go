package apikey

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"cardea.dev/cardea/extend"
)

func readSpec(r extend.Reader, s Spec) Value {
	v := Value{
		ClientHeader: strings.ToLower(s.ClientHeader), Forward: s.Forward != nil && *s.Forward,
		Clients: slices.Sorted(slices.Values(s.Clients)), Missing: extend.AnyMethod(r),
	}
	if why := extend.CheckIdentityHeader(v.ClientHeader); v.ClientHeader != "" && why != "" {
		r.Field("clientHeader").Refuse(why)
	}
	v.From = readSources(r, s.From)
	if len(s.KeysRefs) == 0 {
		r.Refuse("name the Secrets of the keys in keysRefs")
	}
	keys := keyring{clients: map[string]bool{}, keys: map[string]string{}}
	for i, ref := range s.KeysRefs {
		at, name := r.Field(fmt.Sprintf("keysRefs[%d]", i)), extend.SecretName(ref)
		v.Secrets = append(v.Secrets, name)
		if data, found := at.Secret(ref); found {
			keys.addSecret(at, name, data)
		}
	}
	for _, c := range v.Clients {
		if !keys.clients[c] && len(keys.list) > 0 {
			r.Field(fmt.Sprintf("clients[%s]", c)).Warn("no Secret of keysRefs has an entry of that name")
		}
	}
	text, err := json.Marshal(keys.list)
	if err != nil {
		panic(err) // texts
	}
	v.Keys = text
	return v
}

// keyring collects keys, each of one client. A client may have several keys, in several Secrets, for example while a
// key is replaced.
type keyring struct {
	list    []Credential
	clients map[string]bool
	keys    map[string]string // where each was found
}

func (k *keyring) addSecret(r extend.Reader, secret string, data map[string]extend.Bytes) {
	if len(data) == 0 {
		r.Refuse(fmt.Sprintf("Secret %s has no entry; add one for each client, with the key as its content", secret))
	}
	for _, client := range slices.Sorted(maps.Keys(data)) {
		key := strings.TrimRight(string(data[client]), "\r\n")
		place := fmt.Sprintf("entry %s of Secret %s", client, secret)
		switch {
		case key == "" || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
			r.Refuse(place + " is not a key: write one line of letters, digits and signs, without spaces")
		case k.keys[key] != "":
			r.Refuse(fmt.Sprintf("%s has the same key as %s; give each client a key of its own", place, k.keys[key]))
		default:
			k.list = append(k.list, Credential{client, key})
			k.clients[client], k.keys[key] = true, place
		}
	}
}

func readSources(r extend.Reader, stated []KeySource) (list []Source) {
	if len(stated) == 0 {
		return []Source{{Header: "authorization"}}
	}
	for i, s := range stated {
		var one Source
		n := 0
		for from, to := range map[*string]*string{s.Header: &one.Header, s.Query: &one.Query, s.Cookie: &one.Cookie} {
			if from != nil {
				*to = *from
				n++
			}
		}
		at := r.Field(fmt.Sprintf("from[%d]", i))
		name := s.Header
		if name == nil {
			name = s.Cookie
		}
		switch {
		case n != 1 || one == Source{}:
			at.Refuse("state one of header, query and cookie")
			continue
		case name != nil && extend.CheckSetHeader(*name) != "":
			at.Refuse(fmt.Sprintf("%q can't contain a key: it is not a valid name, or the header controls the connection; "+
				"name another header or cookie", *name))
		}
		one.Header = strings.ToLower(one.Header)
		list = append(list, one)
	}
	return list
}

// hasParameter tells whether a path with a query has a parameter.
func hasParameter(path, name string) bool {
	_, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	return err == nil && values.Get(name) != ""
}
