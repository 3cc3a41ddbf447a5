-- +goose Up
CREATE TABLE readers (
  target text NOT NULL, name text NOT NULL, instance text NOT NULL, seen bigint NOT NULL,
  PRIMARY KEY (target, name)) WITHOUT ROWID;

CREATE TABLE waits (
  object text NOT NULL, cluster text NOT NULL, generation bigint NOT NULL, words text NOT NULL, at bigint NOT NULL,
  PRIMARY KEY (object, cluster)) WITHOUT ROWID;

ALTER TABLE generations ADD COLUMN live_since bigint NOT NULL DEFAULT 0;
