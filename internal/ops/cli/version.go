package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func versionCommand(p Program) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  cardea version",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "cardea", describeVersions(p))
			return err
		},
	}
}

// describeVersions are those of this program, its compiler and the proxies that it configures.
func describeVersions(p Program) string {
	text := fmt.Sprintf("%s (%s %s/%s)", programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	var proxies []string
	for _, d := range p.Dialects {
		proxies = append(proxies, d.Proxy+" "+d.Version)
	}
	if len(proxies) == 0 {
		return text
	}
	return text + ", for " + strings.Join(slices.Compact(proxies), " and ")
}

// stamp is the version that the linker wrote into the program of a release (-X): hack/image.sh, hack/release.sh.
var stamp string

// programVersion is the version of the release, or what the Go tool wrote into the program: a tag, or a commit.
func programVersion() string {
	if stamp != "" {
		return stamp
	}
	if info, ok := debug.ReadBuildInfo(); ok && cardeaModule(info).Version != "" {
		return cardeaModule(info).Version
	}
	return "(devel)"
}
