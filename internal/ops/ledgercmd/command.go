package ledgercmd

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/core/model"
	"cardea.dev/cardea/internal/ops/admin"
)

// Program is what the commands need of the program that they are part of.
type Program struct {
	Catalog *kind.Catalog // of the kinds that it reads
	Version string
	// WithFolder calls do with the folder that an argument names; "-" stands for a file with the text of stdin.
	WithFolder func(cmd *cobra.Command, arg string, do func(dir string) error) error
	// Exit makes an error that ends the program with a code; with no error, the command has printed everything.
	Exit func(err error, code int) error
}

// ledgerVariable is the environment variable that names the ledger, if no flag does.
const ledgerVariable = "CARDEA_LEDGER"

// tokenVariable is the environment variable with the token for a server, if no flag names a file.
const tokenVariable = "CARDEA_LEDGER_TOKEN"

// options are the flags of all commands.
type options struct {
	Program
	url                        string
	keyFile, tokenFile, caFile string

	author string
	target string
	server string // of the admin API
	output string
}

// NewCommand is `cardea ledger`.
func NewCommand(p Program) *cobra.Command {
	o := &options{Program: p}
	cmd := &cobra.Command{
		Use:   "ledger",
		Short: "Change a ledger of objects, see who changed what and what became of it, and go back",
		Long: `Change a ledger of objects, see who changed what and what became of it, and go back.

A ledger keeps what is wanted as a numbered list of changes. A change is one person's edit of any number of objects:
all of it is made, or nothing. "cardea standalone --ledger FILE" serves it, and writes into it what the proxies
acknowledged or refused.

The ledger is named by --ledger or $CARDEA_LEDGER: a file, or a PostgreSQL database (postgres://USER@HOST/DATABASE), or
the URL of a "cardea ledger serve". Commands that put something into the ledger make a file that is not there. Who can
open the file or the database may do everything; who asks the server may do what grants say.`,
		Example: `  export CARDEA_LEDGER=gateways.db

  # Put a folder into it, and look what that would change first
  cardea ledger diff examples/quickstart
  cardea ledger apply examples/quickstart -m "the quickstart" --wait

  # Who changed what, and what became of it
  cardea ledger history
  cardea ledger show 1
  cardea ledger status

  # Back
  cardea ledger undo 3
  cardea ledger rollback gateway quickstart/quickstart --to 1`,
		Args: cobra.NoArgs,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&o.url, "ledger", "",
		"the ledger: a file, postgres://USER@HOST/DATABASE, or https://HOST:PORT (default: $"+ledgerVariable+")")
	f.StringVar(&o.tokenFile, "ledger-token-file", "",
		"file with the token for a server (default: $"+tokenVariable+" is it)")
	f.StringVar(&o.caFile, "ledger-ca", "", "file with the authorities of a server's certificate (default: the machine's)")
	f.StringVar(&o.keyFile, "ledger-key", "",
		"file with the key that Secrets are sealed with (default: the ledger's file with .key)")
	f.StringVar(&o.target, "target", ledger.DefaultTarget, "target of the objects")
	cmd.AddCommand(markMakesLedger(o.applyCommand()), o.deleteCommand(), o.diffCommand(),
		markMakesLedger(o.importCommand()),
		o.exportCommand(), o.historyCommand(), o.showCommand(), o.statusCommand(), o.waitCommand(),
		o.undoCommand(), o.rollbackCommand(), o.holdCommand(), o.releaseCommand(), o.retryCommand(),
		markMakesLedger(o.proposeCommand()), o.proposalsCommand(), o.approveCommand(), o.rejectCommand(), o.withdrawCommand(),
		o.commitCommand(), o.targetCommand(), o.clusterCommand(), o.tokenCommand(), o.grantCommand(),
		o.registryLogCommand(), o.verifyCommand(), o.migrateCommand(), o.backupCommand(), o.restoredCommand(),
		o.serveCommand())
	refuseUnknownWords(cmd)
	o.completeFlag(cmd, "target", o.listTargets)
	o.completeArgs(cmd)
	return cmd
}

// refuseUnknownWords has a command, and all below it, refuse words that are no subcommands of theirs.
func refuseUnknownWords(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		refuseUnknownWords(c)
	}
	if cmd.HasSubCommands() && !cmd.Runnable() {
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%s has no command %q: see `%[1]s --help`", cmd.CommandPath(), args[0])
			}
			return cmd.Help()
		}
	}
}

// isRead tells whether Cardea reads objects of a kind.
func (o *options) isRead(k ledger.Key) bool {
	return o.Catalog.FindKind(model.KindOf(k.Group, k.Kind)) != nil
}

// bindServer adds the flag that says which Cardea is asked for previews.
func (o *options) bindServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.server, "server", "", "address of the admin API of the Cardea that is asked what "+
		"would change, if the target has no registered ones\n(default: $CARDEA_SERVER, or "+admin.DefaultAddr+")")
	completeWords(cmd, "server", admin.DefaultAddr)
}

// bindAuthor adds the flags that say who makes a change, and why.
func (o *options) bindAuthor(cmd *cobra.Command, d *ledger.Draft) {
	f := cmd.Flags()
	f.StringVar(&o.author, "author", "", "who makes the change (default: the user who runs the command)")
	f.StringVarP(&d.Message, "message", "m", "", "why")
	f.BoolVar(&d.DryRun, "dry-run", false, "show the change, and make none")
	f.BoolVar(&d.Release, "release", false, "change objects that are held, too, and end their holds")
	f.IntVar(&d.Deletions, "deletions", 0,
		fmt.Sprintf("confirm how many objects are deleted, if they are more than %d", ledger.FewDeletions))
	f.StringVar(&d.Request, "request", "",
		"a name of your own for this change: however often it is sent, it is made once")
}

// bindOutput adds the flag for the form of what is printed.
func (o *options) bindOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.output, "output", "o", "text", "text or json")
	completeWords(cmd, "output", "text", "json")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if o.output != "text" && o.output != "json" {
			return fmt.Errorf("-o %q: want text or json", o.output)
		}
		return nil
	}
}

// completeWords offers words for a flag, and no files.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	list := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, list); err != nil {
		panic(err) // there is no such flag, or it has a completer already
	}
}

// authorName is who makes changes.
func (o *options) authorName() string {
	if o.author != "" {
		return o.author
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "unknown")
}

// keyOf reads how a user names an object: a kind ("httproutes", "HTTPRoute.gateway.networking.k8s.io") and
// NAMESPACE/NAME, or NAME of a kind without namespaces or in the namespace "default".
func (o *options) keyOf(kindWord, name string) (ledger.Key, error) {
	k := ledger.Key{Target: o.target}
	word, group, grouped := strings.Cut(kindWord, ".")
	declared, known := o.Catalog.FindByName(kindWord)
	switch {
	case known:
		k.Group, k.Kind = declared.Group(), declared.Kind.String()
	case grouped:
		k.Group, k.Kind = group, word
	default:
		return k, fmt.Errorf("unknown kind %q: `cardea get` lists those that Cardea reads; "+
			"write others with their group, as Deployment.apps", kindWord)
	}
	namespace, object, namespaced := strings.Cut(name, "/")
	switch {
	case namespaced:
		k.Namespace, k.Name = namespace, object
	case known && declared.Cluster:
		k.Name = name
	default:
		k.Namespace, k.Name = "default", name
	}
	if k.Name == "" {
		return k, fmt.Errorf("%q names no object: want NAMESPACE/NAME", name)
	}
	return k, nil
}
