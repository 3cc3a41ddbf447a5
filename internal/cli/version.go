package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/process"
)

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  cardea version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "cardea %s (%s %s/%s), for Envoy %s\n",
				version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, process.EnvoyVersion)
			return err
		},
	}
}

// version is what the Go tool wrote into the program: a tag, or the commit it was built from.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
