package basicauth

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// parseUsers reads a file of users, and writes it as Envoy takes it. Errors name the line, and never what stands in it
// but for the name of the user.
func parseUsers(text string) (string, error) {
	var users strings.Builder
	seen := map[string]bool{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		user, err := checkLine(line)
		switch {
		case err != nil:
			return "", fmt.Errorf("line %d: %w", n, err)
		case seen[user]:
			return "", fmt.Errorf("line %d: user %s is there twice; keep one", n, user)
		}
		seen[user] = true
		users.WriteString(line + "\n")
	}
	if len(seen) == 0 {
		return "", errors.New("it has no user; make one with: htpasswd -s -c FILE USER")
	}
	return users.String(), nil
}

func checkLine(line string) (user string, err error) {
	user, hash, found := strings.Cut(line, ":")
	if !found || user == "" {
		return "", errors.New("it is not user:{SHA}hash; make it with: htpasswd -s FILE USER")
	}
	if !utf8.ValidString(user) {
		return "", fmt.Errorf("the user %q is not UTF-8; write the file in that encoding", user)
	}
	sum, is := strings.CutPrefix(hash, "{SHA}")
	if !is {
		return "", fmt.Errorf("the password of user %s is not a {SHA} hash, and no other one is read; "+
			"make it with: htpasswd -s FILE %s", user, user)
	}
	if b, err := base64.StdEncoding.DecodeString(sum); err != nil || len(b) != sha1.Size {
		return "", fmt.Errorf("the {SHA} hash of user %s is incomplete; make it with: htpasswd -s FILE %s", user, user)
	}
	return user, nil
}
