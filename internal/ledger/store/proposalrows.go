package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"cardea.dev/cardea/internal/core/ledger"
)

// A proposal is a row of proposals, with its draft but for the contents. Those are rows of proposal_contents, sealed as
// contents are. When a proposal was committed, its contents go: the ledger has them. When it ended in another way,
// those of Secrets go.

const proposalColumns = `p.number, p.at, p.by_whom, p.wants, p.draft, p.digest, p.base, p.round, p.needed, p.answers,
	p.ended, p.change`

// scanProposal reads a row, with only the digest of the preview.
func scanProposal(rows *sql.Rows) (p ledger.Proposal, wants string, err error) {
	var at int64
	var draft, answers string
	var ended sql.NullString
	err = rows.Scan(&p.Number, &at, &p.By, &wants, &draft, &p.Preview.Digest, &p.Base, &p.Round, &p.Needed, &answers,
		&ended, &p.Change)
	if err != nil {
		return p, "", err
	}
	p.At, p.Preview.Head, p.Preview.Clusters = fromMicros(at), p.Base, []ledger.ClusterPreview{}
	err = errors.Join(json.Unmarshal([]byte(draft), &p.Draft), json.Unmarshal([]byte(answers), &p.Answers))
	if ended.Valid {
		err = errors.Join(err, json.Unmarshal([]byte(ended.String), &p.Ended))
	}
	if err != nil {
		return p, "", fmt.Errorf("read proposal %d: %w", p.Number, err)
	}
	p.Message = p.Draft.Message
	return p, wants, nil
}

// loadDetails reads preview and contents of a proposal.
func (s *Store) loadDetails(t tx, p *ledger.Proposal) error {
	var preview string
	if err := t.queryRow("SELECT preview FROM proposals WHERE number = $1", p.Number).Scan(&preview); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(preview), &p.Preview); err != nil {
		return fmt.Errorf("read proposal %d: %w", p.Number, err)
	}
	return t.queryRows(func(rows *sql.Rows) error {
		var i int
		var hash, keyID string
		var body []byte
		if err := rows.Scan(&i, &hash, &keyID, &body); err != nil {
			return err
		}
		content, err := s.openContent(keyID, hash, body)
		if err == nil && i < len(p.Draft.Edits) {
			p.Draft.Edits[i].Content = content
		}
		return explainUnopened(*p, err)
	}, "SELECT edit, hash, key_id, body FROM proposal_contents WHERE proposal = $1", p.Number)
}

// explainUnopened says what can be done if the key for a Secret of a proposal is missing.
func explainUnopened(p ledger.Proposal, err error) error {
	e, is := errors.AsType[*ledger.Error](err)
	if !is || e.Code != ledger.Unprotected {
		return err
	}
	return p.NewError(ledger.Unprotected, "has a Secret that can't be opened: "+e.Object+": "+e.Message,
		"put the key file back; or reject or withdraw the proposal, and propose it anew when there is a key")
}

// insertProposal writes a new proposal.
func (s *Store) insertProposal(t tx, p ledger.Proposal, d preparedDraft, request string) error {
	_, err := t.exec(`INSERT INTO proposals (number, at, by_whom, request, wants, draft, preview, digest, base, round,
		needed, answers, ended, state, change) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, '[]', NULL, '', 0)`,
		p.Number, toMicros(p.At), p.By, request, d.proposalHash(), encodeJSON(withoutContents(p.Draft)),
		encodeJSON(p.Preview), p.Preview.Digest,
		p.Base, p.Round, p.Needed)
	if err != nil {
		return err
	}
	for i, e := range d.edits {
		if len(e.Content) == 0 {
			continue
		}
		keyID, body, err := s.sealContent(e.Key, e.Hash, e.Content)
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO proposal_contents (proposal, edit, hash, key_id, body) VALUES ($1, $2, $3, $4, $5)`,
			p.Number, i, e.Hash, keyID, body)
		if err != nil {
			return err
		}
	}
	return nil
}

// updateProposal writes what changed of a proposal, and forgets contents that nobody is to read any more.
func updateProposal(t tx, was, is ledger.Proposal) error {
	if is.Preview.Digest != was.Preview.Digest || len(is.Preview.Clusters) > 0 {
		_, err := t.exec(`UPDATE proposals SET preview = $2, digest = $3, base = $4, round = $5 WHERE number = $1`,
			is.Number, encodeJSON(is.Preview), is.Preview.Digest, is.Base, is.Round)
		if err != nil {
			return err
		}
	}
	answers := is.Answers
	if answers == nil {
		answers = []ledger.Answer{}
	}
	_, err := t.exec(`UPDATE proposals SET needed = $2, answers = $3 WHERE number = $1`, is.Number, is.Needed,
		encodeJSON(answers))
	if err != nil || is.Ended == nil {
		return err
	}
	return endProposal(t, is)
}

// endProposal writes how a proposal ended.
func endProposal(t tx, p ledger.Proposal) error {
	_, err := t.exec(`UPDATE proposals SET needed = $2, ended = $3, state = $4, change = $5 WHERE number = $1`, p.Number,
		p.Needed, encodeJSON(p.Ended), string(p.State), p.Change)
	if err != nil {
		return err
	}
	return forgetContents(t, p)
}

func forgetContents(t tx, p ledger.Proposal) error {
	statement := `DELETE FROM proposal_contents WHERE proposal = $1 AND key_id <> ''`
	if p.State == ledger.Done {
		statement = `DELETE FROM proposal_contents WHERE proposal = $1`
	}
	_, err := t.exec(statement, p.Number)
	return err
}

// repeatedProposal finds the proposal that a request made before.
func repeatedProposal(t tx, d preparedDraft, request string) (p ledger.Proposal, ok bool, err error) {
	if request == "" {
		return p, false, nil
	}
	var wants string
	err = t.queryRows(func(rows *sql.Rows) error {
		ok = true
		p, wants, err = scanProposal(rows)
		return err
	}, "SELECT "+proposalColumns+" FROM proposals p WHERE p.by_whom = $1 AND p.request = $2", d.draft.Author, request)
	if err == nil && ok && wants != d.proposalHash() {
		return p, true, &ledger.Error{Code: ledger.Conflict, Field: "request",
			Message: fmt.Sprintf("the key %q was used before, for another proposal (%d)", request, p.Number),
			Fix:     "use a new key for each proposal"}
	}
	return p, ok, err
}

// proposalHash is a hash of what a proposed draft wants. A commit of it states a head, which is no part of that.
func (p preparedDraft) proposalHash() string {
	p.draft.Head = 0
	return p.requestHash()
}

// withoutContents is a draft without contents.
func withoutContents(d ledger.Draft) ledger.Draft {
	edits := make([]ledger.Edit, len(d.Edits))
	for i, e := range d.Edits {
		e.Content = nil
		edits[i] = e
	}
	d.Edits = edits
	return d
}

func plainEdits(list []ledger.HashedEdit) []ledger.Edit {
	edits := make([]ledger.Edit, len(list))
	for i, e := range list {
		edits[i] = e.Edit
	}
	return edits
}

// resealProposals seals with the first key what was sealed with another one.
func (s *Store) resealProposals(ctx context.Context, first string) error {
	type row struct {
		proposal, edit int64
		hash, id       string
		body           []byte
	}
	for more := true; more; {
		err := s.runWrite(ctx, func(t tx) error {
			var list []row
			err := t.queryRows(func(rows *sql.Rows) error {
				var r row
				err := rows.Scan(&r.proposal, &r.edit, &r.hash, &r.id, &r.body)
				list = append(list, r)
				return err
			}, `SELECT proposal, edit, hash, key_id, body FROM proposal_contents WHERE key_id <> '' AND key_id <> $1
				LIMIT 100`, first)
			if more = len(list) == 100; err != nil {
				return err
			}
			for _, r := range list {
				if r.id, r.body, err = s.keys.resealText(r.id, r.body, r.hash); err != nil {
					return err
				}
				_, err := t.exec(`UPDATE proposal_contents SET key_id = $3, body = $4 WHERE proposal = $1 AND edit = $2`,
					r.proposal, r.edit, r.id, r.body)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("seal the Secrets of proposals anew: %w", err)
		}
	}
	return nil
}
