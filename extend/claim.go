package extend

import (
	"errors"
	"strings"
)

// ClaimPath takes the name of a claim apart: "realm.roles" is roles in realm. A backslash before a dot or a backslash
// makes it a part of a name.
func ClaimPath(claim string) ([]string, error) {
	var names []string
	var name strings.Builder
	for i := 0; i < len(claim); i++ {
		switch c := claim[i]; {
		case c == '.':
			names = append(names, name.String())
			name.Reset()
		case c != '\\':
			name.WriteByte(c)
		case i+1 < len(claim) && strings.IndexByte(`.\`, claim[i+1]) >= 0:
			i++
			name.WriteByte(claim[i])
		default:
			return nil, errors.New(`a backslash escapes nothing; write \\ for a backslash, \. for a dot`)
		}
	}
	names = append(names, name.String())
	for _, n := range names {
		if n == "" {
			return nil, errors.New(`it has an empty name; write realm.roles for roles in realm, and \. for a dot in a name`)
		}
	}
	return names, nil
}
