package cli

import (
	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/ops/admin"
)

// bindAdmin adds the flags that say where the admin API listens, and who may ask it.
func bindAdmin(cmd *cobra.Command, addr *string, a *admin.Access) {
	f := cmd.Flags()
	f.StringVar(addr, "admin", admin.DefaultAddr,
		"host:port of the admin API; on other addresses than loopback it needs TLS, and who may ask has to be stated")
	f.StringVar(&a.TokenFile, "admin-token-file", "",
		"file with the token that callers of the admin API have to send; read again when it changes")
	f.StringVar(&a.ClientCA, "admin-client-ca", "",
		"file with the authorities of the certificates that callers of the admin API may show instead; read again when it "+
			"changes")
	f.StringVar(&a.Certificate, "admin-tls-cert", "",
		"file with the admin API's certificate, and those above it; read again when it changes")
	f.StringVar(&a.Key, "admin-tls-key", "", "file with the certificate's key")
	completeFlag(cmd, "admin", admin.DefaultAddr)
}
