package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/standalone"
	"cardea.dev/cardea/internal/deliver/workload"
)

// bindIdentities adds the flags of the identities that programs on this machine get; texts takes them as they are
// written.
func bindIdentities(cmd *cobra.Command, o *standalone.Options, texts *[]string) {
	f := cmd.Flags()
	f.StringArrayVar(texts, "identity", nil,
		"NAMESPACE/NAME=SOCKET: programs that open this Unix socket get certificates of this ServiceAccount over SPIFFE's "+
			"Workload\n"+
			"API (docs/identity.md); only this user can open it. The flag may be repeated")
	f.StringVar(&o.IdentityBundle, "identity-bundle", "",
		"file, such as one of the folder, that gets the ClusterTrustBundle of --identity for Gateways to name")
	completeFlag(cmd, "identity")
}

// parseIdentities reads the flags of bindIdentities.
func parseIdentities(o *standalone.Options, texts []string) error {
	for _, text := range texts {
		i, err := workload.ParseIdentity(text)
		if err != nil {
			return fmt.Errorf("--identity %q: %w", text, err)
		}
		o.Identities = append(o.Identities, i)
	}
	if o.IdentityBundle != "" && len(texts) == 0 {
		return fmt.Errorf("--identity-bundle %q: nobody gets certificates; state --identity, too", o.IdentityBundle)
	}
	return nil
}
