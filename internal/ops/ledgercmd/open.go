package ledgercmd

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/core/ledger"
	"cardea.dev/cardea/internal/ledger/admission"
	"cardea.dev/cardea/internal/ledger/client"
	"cardea.dev/cardea/internal/ledger/scope"
	"cardea.dev/cardea/internal/ledger/store"
	"cardea.dev/cardea/internal/ops/admin"
	"cardea.dev/cardea/internal/ops/ledgerpreview"
)

// makesLedger is the annotation of commands that make the ledger's file if it is not there. Others would make one of a
// name that is mistyped.
const makesLedger = "makes-ledger"

// markMakesLedger marks a command that makes the ledger's file.
func markMakesLedger(cmd *cobra.Command) *cobra.Command {
	cmd.Annotations = map[string]string{makesLedger: "yes"}
	return cmd
}

// ledgerHandle is a ledger that was opened.
type ledgerHandle struct {
	ledger.Ledger
	changer
	close func() error
}

// changer does what a server does by itself, and what is done here for a ledger that is opened without one.
type changer interface {
	// Admit drafts what goes back, and checks a draft; see packages closure and admit.
	Admit(ctx context.Context, d ledger.Draft) (ledger.Draft, error)
	// Preview tells what a draft would change.
	Preview(ctx context.Context, d ledger.Draft) (ledger.Preview, error)
	// CommitIf makes a draft a change if it does what a preview said.
	CommitIf(ctx context.Context, d ledger.Draft, digest string) (ledger.Change, error)
	// ProposeDraft keeps a draft as a proposal, with its preview.
	ProposeDraft(ctx context.Context, d ledger.Draft) (ledger.Proposal, error)
	// CommitProposal makes a proposal a change, if it does what was approved. bound, if not "", is the digest of the
	// preview that it must have.
	CommitProposal(ctx context.Context, number int64, by, bound string) (ledger.Change, error)
}

func isHTTP(url string) bool {
	return strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
}

// withLedger calls do with the ledger, and closes it.
func (o *options) withLedger(cmd *cobra.Command, do func(ctx context.Context, l *ledgerHandle) error) error {
	url := cmp.Or(o.url, os.Getenv(ledgerVariable))
	var l *ledgerHandle
	var err error
	switch {
	case url == "":
		return fmt.Errorf("name the ledger with --ledger or $%s: a file, postgres://USER@HOST/DATABASE, or https://HOST:PORT",
			ledgerVariable)
	case isHTTP(url):
		l, err = o.openServer(cmd, url)
	default:
		l, err = o.openDatabase(cmd, url)
	}
	if err != nil {
		return err
	}
	if err = o.checkTarget(cmd, l); err == nil {
		err = do(cmd.Context(), l)
	}
	if closed := l.close(); err == nil {
		err = closed
	}
	return err
}

// checkTarget refuses a target that is stated and is not there. A caller who may not list targets is told so later.
func (o *options) checkTarget(cmd *cobra.Command, l *ledgerHandle) error {
	if !cmd.Flags().Changed("target") {
		return nil
	}
	targets, err := l.Targets(cmd.Context())
	if ledger.CodeOf(err) == ledger.Denied {
		return nil
	}
	if err != nil || slices.ContainsFunc(targets, func(t ledger.Target) bool { return t.Name == o.target }) {
		return err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return &ledger.Error{Code: ledger.NotFound, Object: "target " + o.target,
		Message: "there is no such target; there are: " + strings.Join(names, ", "),
		Fix:     "name one of them, or make it: `cardea ledger target set`"}
}

// openDatabase opens a database.
func (o *options) openDatabase(cmd *cobra.Command, url string) (*ledgerHandle, error) {
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	db, err := store.Open(cmd.Context(), store.Config{URL: url, KeyFile: o.keyFile, Log: log,
		Existing: cmd.Annotations[makesLedger] == ""})
	if err != nil {
		return nil, err
	}
	here := cmp.Or(o.server, os.Getenv("CARDEA_SERVER"), admin.DefaultAddr)
	return &ledgerHandle{db, &databaseChanger{
		Admission: admission.New(admission.Config{Ledger: db, Catalog: o.Catalog}),
		Previewer: &ledgerpreview.Previewer{Ledger: db, CardeasOf: ledgerpreview.FindCardeas(db, here), IsRead: o.isRead},
	}, db.Close}, nil
}

// databaseChanger is the changer of a database.
type databaseChanger struct {
	*admission.Admission
	*ledgerpreview.Previewer
}

// Admit implements changer: what goes back is drafted, and objects are checked.
func (d *databaseChanger) Admit(ctx context.Context, draft ledger.Draft) (ledger.Draft, error) {
	draft, err := scope.ExpandDraft(ctx, d.Previewer.Ledger, draft)
	if err != nil {
		return draft, err
	}
	return d.Admission.Admit(ctx, draft)
}

// CommitIf implements changer.
func (d *databaseChanger) CommitIf(ctx context.Context, draft ledger.Draft, digest string) (ledger.Change, error) {
	change, _, err := d.CommitPreviewed(ctx, draft, digest)
	return change, err
}

// ProposeDraft implements changer.
func (d *databaseChanger) ProposeDraft(ctx context.Context, draft ledger.Draft) (ledger.Proposal, error) {
	return d.Propose(ctx, draft)
}

// openServer asks a server. It checks objects itself.
func (o *options) openServer(cmd *cobra.Command, url string) (*ledgerHandle, error) {
	if o.author != "" {
		return nil, fmt.Errorf("--author %s: a server takes the author from the token: leave --author out, or use "+
			"%[1]s's token", o.author)
	}
	c, err := client.New(client.Config{
		URL: url, Token: os.Getenv(tokenVariable), TokenFile: o.tokenFile, CAFile: o.caFile, Via: cmd.CommandPath(),
		TokenFlag: "--ledger-token-file", CAFlag: "--ledger-ca",
	})
	if err != nil {
		return nil, err
	}
	return &ledgerHandle{c, serverChanger{c}, func() error { c.Close(); return nil }}, nil
}

// serverChanger is the changer of a server.
type serverChanger struct{ *client.Client }

// ProposeDraft implements changer.
func (r serverChanger) ProposeDraft(ctx context.Context, d ledger.Draft) (ledger.Proposal, error) {
	return r.Propose(ctx, d, ledger.Preview{})
}

// CommitProposal implements changer.
func (r serverChanger) CommitProposal(ctx context.Context, number int64, _, bound string) (ledger.Change, error) {
	return r.Client.CommitProposal(ctx, number, bound)
}

// Admit implements changer: the server does it.
func (r serverChanger) Admit(_ context.Context, d ledger.Draft) (ledger.Draft, error) { return d, nil }
