-- +goose Up
CREATE TABLE proposals (
  number bigint PRIMARY KEY, at bigint NOT NULL, by_whom text NOT NULL, request text NOT NULL, wants text NOT NULL,
  draft text NOT NULL, preview text NOT NULL, digest text NOT NULL, base bigint NOT NULL, round bigint NOT NULL,
  needed bigint NOT NULL, answers text NOT NULL, ended text, state text NOT NULL, change bigint NOT NULL);
CREATE INDEX proposals_state ON proposals (state, number);
CREATE UNIQUE INDEX proposals_request ON proposals (by_whom, request) WHERE request <> '';
CREATE INDEX proposals_change ON proposals (change) WHERE change > 0;

CREATE TABLE proposal_contents (
  proposal bigint NOT NULL, edit bigint NOT NULL, hash text NOT NULL, key_id text NOT NULL, body blob NOT NULL,
  PRIMARY KEY (proposal, edit));
