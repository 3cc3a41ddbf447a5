package store

import (
	"context"
	"database/sql"
)

// dropOldProposals removes proposals that ended long ago, with what is kept of their contents. So the ledger knows who
// approved a change as long as it has the change. The newest one stays: its number is where the next one goes on.
func (c *compaction) dropOldProposals(ctx context.Context) error {
	after, last := int64(0), int64(0)
	for more := true; more; {
		err := c.withHeadLocked(ctx, func(t tx, _ headRow) error {
			var old rowTable
			n := 0
			err := t.queryRows(func(rows *sql.Rows) error {
				p, _, err := scanProposal(rows)
				n++
				if last = p.Number; err == nil && p.Ended != nil && toMicros(p.Ended.At) < c.cutoff {
					old = append(old, []any{p.Number})
				}
				return err
			}, `SELECT `+proposalColumns+` FROM proposals p WHERE p.number > $1 AND p.at < $2 AND p.state <> ''
				AND p.number < (SELECT max(number) FROM proposals)
				AND NOT EXISTS (SELECT 1 FROM changes c WHERE c.number = p.change) ORDER BY p.number LIMIT $3`,
				after, c.cutoff, proposalsPage)
			if more = n == proposalsPage; err != nil || len(old) == 0 {
				return err
			}
			for _, statement := range []string{`DELETE FROM proposal_contents WHERE proposal IN (`,
				`DELETE FROM proposals WHERE number IN (`} {
				if _, err := t.exec(statement+`SELECT CAST(r.value->>0 AS bigint) FROM {rows $1})`, old.toJSON()); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		after = last
	}
	return nil
}

// proposalsPage is how many proposals a transaction looks at: a draft may be long.
const proposalsPage = 100
