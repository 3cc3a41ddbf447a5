-- +goose Up
CREATE TABLE proposals (
  number bigint PRIMARY KEY, at bigint NOT NULL, by_whom text COLLATE "C" NOT NULL, request text COLLATE "C" NOT NULL,
  wants text COLLATE "C" NOT NULL, draft text NOT NULL, preview text NOT NULL, digest text COLLATE "C" NOT NULL,
  base bigint NOT NULL, round bigint NOT NULL, needed bigint NOT NULL, answers text NOT NULL, ended text,
  state text COLLATE "C" NOT NULL, change bigint NOT NULL);
CREATE INDEX proposals_state ON proposals (state, number);
CREATE UNIQUE INDEX proposals_request ON proposals (by_whom, request) WHERE request <> '';
CREATE INDEX proposals_change ON proposals (change) WHERE change > 0;

CREATE TABLE proposal_contents (
  proposal bigint NOT NULL, edit bigint NOT NULL, hash text COLLATE "C" NOT NULL, key_id text COLLATE "C" NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (proposal, edit));
