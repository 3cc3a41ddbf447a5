package kinds

import (
	"fmt"
	"regexp"
)

// The ClusterRoles of deploy/install.yaml that an operator may bind in single namespaces, in place of all: to read
// Secrets, and to write the Secrets of proxies that read files.
const (
	SecretsRole     = "cardea-secrets"
	SecretFilesRole = "cardea-secret-files"
)

// refusedAccount finds the ServiceAccount in what an API server says when it forbids something.
var refusedAccount = regexp.MustCompile(`User "system:serviceaccount:([a-z0-9.-]+:[a-z0-9.-]+)"`)

// SuggestPermission repeats what the API server said when it forbade something, and the command that permits it in a
// namespace by one of the roles above. It has no command if somebody else than a ServiceAccount was refused.
func SuggestPermission(refusal, role, namespace string) string {
	account := refusedAccount.FindStringSubmatch(refusal)
	if account == nil {
		return refusal
	}
	return fmt.Sprintf("%s; if it may: kubectl create rolebinding %s -n %s --clusterrole=%s --serviceaccount=%s", refusal,
		role, namespace, role, account[1])
}
