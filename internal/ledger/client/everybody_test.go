package client_test

import (
	"context"
	"iter"

	"cardea.dev/cardea/internal/core/ledger"
)

func (e everybody) Head(ctx context.Context) (ledger.Head, error) {
	return e.reader().Head(ctx)
}

func (e everybody) Change(ctx context.Context, n int64) (ledger.Change, error) {
	return e.reader().Change(ctx, n)
}

func (e everybody) Changes(ctx context.Context, q ledger.ChangesQuery) (ledger.Changes, error) {
	return e.reader().Changes(ctx, q)
}

func (e everybody) Object(ctx context.Context, k ledger.Key, at int64) (ledger.Object, error) {
	return e.reader().Object(ctx, k, at)
}

func (e everybody) Objects(ctx context.Context, q ledger.ObjectsQuery) (ledger.Objects, error) {
	return e.reader().Objects(ctx, q)
}

func (e everybody) History(ctx context.Context, k ledger.Key, q ledger.Page) ([]ledger.Object, error) {
	return e.reader().History(ctx, k, q)
}

func (e everybody) Watch(ctx context.Context, from int64) iter.Seq2[ledger.Change, error] {
	return e.reader().Watch(ctx, from)
}

func (e everybody) Commit(ctx context.Context, d ledger.Draft) (ledger.Change, error) {
	if d.Proposal != nil {
		return e.by(d.Proposal.By).Commit(ctx, d)
	}
	return e.by(d.Author).Commit(ctx, d)
}

func (e everybody) Propose(ctx context.Context, d ledger.Draft, p ledger.Preview) (ledger.Proposal, error) {
	return e.by(d.Author).Propose(ctx, d, p)
}

func (e everybody) Proposal(ctx context.Context, n int64) (ledger.Proposal, error) {
	return e.reader().Proposal(ctx, n)
}

func (e everybody) Proposals(ctx context.Context, q ledger.ProposalsQuery) (ledger.ProposalsPage, error) {
	return e.reader().Proposals(ctx, q)
}

func (e everybody) Answer(ctx context.Context, n int64, a ledger.Answer) (ledger.Proposal, error) {
	if a.Approve && a.Preview == "" { // over HTTP it has to be said what is approved
		p, err := e.reader().Proposal(ctx, n)
		if err != nil {
			return p, err
		}
		a.Preview = p.Preview.Digest
	}
	return e.by(a.By).Answer(ctx, n, a)
}

func (e everybody) Withdraw(ctx context.Context, n int64, by, why string) (ledger.Proposal, error) {
	return e.by(by).Withdraw(ctx, n, by, why)
}

func (e everybody) Repreview(ctx context.Context, n int64, p ledger.Preview) (ledger.Proposal, error) {
	return e.by("alice").Repreview(ctx, n, p)
}

func (e everybody) Claim(ctx context.Context, q ledger.ClaimQuery) ([]ledger.Claim, error) {
	return e.worker(q.Cluster).Claim(ctx, q)
}

func (e everybody) Record(ctx context.Context, r ledger.Result) (bool, error) {
	return e.worker(r.Cluster).Record(ctx, r)
}

func (e everybody) Fail(ctx context.Context, f ledger.Failure) (bool, error) {
	return e.worker(f.Cluster).Fail(ctx, f)
}

func (e everybody) Retry(ctx context.Context, cluster string, keys []ledger.Key) (int, error) {
	return e.by("alice").Retry(ctx, cluster, keys)
}

func (e everybody) Observe(ctx context.Context, cluster string, list []ledger.Observation) error {
	return e.worker(cluster).Observe(ctx, cluster, list)
}

func (e everybody) Status(ctx context.Context, q ledger.StatusQuery) ([]ledger.Status, error) {
	return e.reader().Status(ctx, q)
}

func (e everybody) Targets(ctx context.Context) ([]ledger.Target, error) {
	return e.reader().Targets(ctx)
}

func (e everybody) SetTarget(ctx context.Context, x ledger.Target, by string) error {
	return e.by(by).SetTarget(ctx, x, by)
}

func (e everybody) Clusters(ctx context.Context) ([]ledger.Cluster, error) {
	return e.reader().Clusters(ctx)
}

func (e everybody) SetCluster(ctx context.Context, c ledger.Cluster, by string) error {
	return e.by(by).SetCluster(ctx, c, by)
}

func (e everybody) DeleteCluster(ctx context.Context, name, by string) error {
	return e.by(by).DeleteCluster(ctx, name, by)
}

func (e everybody) Tokens(ctx context.Context) ([]ledger.Token, error) {
	return e.reader().Tokens(ctx)
}

func (e everybody) Token(ctx context.Context, hash string) (ledger.Token, error) {
	return e.reader().Token(ctx, hash)
}

func (e everybody) SetToken(ctx context.Context, x ledger.Token, by string) error {
	return e.by(by).SetToken(ctx, x, by)
}

func (e everybody) DeleteToken(ctx context.Context, name, by string) error {
	return e.by(by).DeleteToken(ctx, name, by)
}

func (e everybody) Grants(ctx context.Context) ([]ledger.Grant, error) {
	return e.reader().Grants(ctx)
}

func (e everybody) SetGrant(ctx context.Context, g ledger.Grant, by string) error {
	return e.by(by).SetGrant(ctx, g, by)
}

func (e everybody) DeleteGrant(ctx context.Context, name, by string) error {
	return e.by(by).DeleteGrant(ctx, name, by)
}

func (e everybody) Deny(ctx context.Context, d ledger.Denial) error {
	return e.reader().Deny(ctx, d)
}

func (e everybody) Denials(ctx context.Context, q ledger.Page) ([]ledger.Denial, error) {
	return e.reader().Denials(ctx, q)
}

func (e everybody) RegistryLog(ctx context.Context, q ledger.Page) ([]ledger.RegistryEntry, error) {
	return e.reader().RegistryLog(ctx, q)
}

func (e everybody) Verify(ctx context.Context) (ledger.Verification, error) {
	return e.reader().Verify(ctx)
}

func (e everybody) ReportAnswers(ctx context.Context, list []ledger.Live) error {
	byCluster := map[string][]ledger.Live{}
	for _, l := range list {
		byCluster[l.Cluster] = append(byCluster[l.Cluster], l)
	}
	for cluster, list := range byCluster {
		if err := e.worker(cluster).ReportAnswers(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

func (e everybody) RecordReader(ctx context.Context, r ledger.Reading) (ledger.Reading, error) {
	return e.worker(r.Name).RecordReader(ctx, r)
}

func (e everybody) RemoveReader(ctx context.Context, r ledger.Reading) error {
	return e.worker(r.Name).RemoveReader(ctx, r)
}
