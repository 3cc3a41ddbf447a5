package cli

import (
	"errors"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/app/pluginbuild"
)

func buildCommand() *cobra.Command {
	var with []string
	var from, output string
	cmd := &cobra.Command{
		Use:   "build --with MODULE@VERSION [--with MODULE=FOLDER]...",
		Short: "Build a Cardea that has the features of other modules",
		Long: `Build a program that is Cardea with the features and kinds of policies of other modules. This needs the Go
command.

MODULE is the import path of a package with the function "func Plugins() []extend.Plugin". It is fetched in a version
(v1.2.0, latest), or stands in a folder that has its go.mod. docs/extending.md says how such a module is written.

The Go command's environment counts: CGO_ENABLED=0 makes a program for any container, GOOS and GOARCH one for another
machine. In a cluster, apply what "cardea crds --rbac" of the new program prints, and run it in Cardea's place.`,
		Example: `  # A Cardea with the feature of a module, of the same version as this one
  cardea build --with example.com/signing@v1.2.0

  # With a module that is being written, and with the Cardea of a checkout
  cardea build --with example.com/signing=. --cardea =../cardea --output bin/cardea`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := pluginbuild.Options{Output: output, Log: cmd.ErrOrStderr()}
			if len(with) == 0 {
				return errors.New("name a module with --with MODULE@VERSION or --with MODULE=FOLDER")
			}
			for _, text := range with {
				m, err := pluginbuild.ParseModule(text)
				if err != nil {
					return err
				}
				o.With = append(o.With, m)
			}
			if from == "" {
				from = releasedVersion()
			}
			if from == "" {
				return errors.New("this cardea is not of a release; say which one to build with: --cardea VERSION, or " +
					"--cardea =FOLDER for a checkout")
			}
			var err error
			if o.Cardea, err = pluginbuild.ParseCardea(from); err != nil {
				return err
			}
			if err := pluginbuild.Run(cmd.Context(), o); err != nil {
				return err
			}
			_, err = io.WriteString(cmd.OutOrStdout(), output+"\n")
			return err
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&with, "with", nil, "a module with features: MODULE@VERSION or MODULE=FOLDER; may be repeated")
	f.StringVar(&from, "cardea", "", "the version of Cardea, or =FOLDER of a checkout (default: that of this program)")
	f.StringVarP(&output, "output", "o", "cardea", "the file of the program")
	return cmd
}

// releasedVersion is the version of Cardea that this program is, as the Go command can fetch it; "": it has none.
func releasedVersion() string {
	v := programVersion()
	if strings.Contains(v, "+dirty") || !strings.HasPrefix(v, "v") {
		return ""
	}
	return v
}

// cardeaModule is what the Go tool wrote into the program about Cardea's own module: the main module, or a dependency.
func cardeaModule(info *debug.BuildInfo) debug.Module {
	for _, m := range info.Deps {
		if m.Path == pluginbuild.Cardea {
			if m.Replace != nil {
				return debug.Module{Version: "(devel)"}
			}
			return *m
		}
	}
	return info.Main
}
