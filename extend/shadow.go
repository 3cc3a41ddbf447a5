package extend

import (
	"strings"
)

// ShadowPrefix begins the names of what proxies count and log of a part of a policy that refuses nothing: owner is
// Reader.Owner of that part, rule is its path in the policy, such as "authorization.deny.watched". They keep what
// is counted below it, with the labels policy and rule.
func ShadowPrefix(owner, rule string) string {
	return "shadow/" + owner[strings.LastIndex(owner, " ")+1:] + "/" + rule + "/"
}
