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
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "cardea", versions())
			return err
		},
	}
}

// versions are the versions of this program, of Go, and of Envoy.
func versions() string {
	return fmt.Sprintf("%s (%s %s/%s), for Envoy %s", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		process.EnvoyVersion)
}

// version is the version that the Go tool wrote into the program: a tag, or a commit.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
